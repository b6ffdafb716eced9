// SPDX-License-Identifier: BSD-2-Clause
#include "tools/doctor/engines.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace urxe::doctor {
namespace {

constexpr const char* kEngineCheck = "engine";

Finding judge(const std::string& engine, const std::string& lack, bool is_chosen,
              const std::string& advice) {
  if (lack.empty())
    return ok(kEngineCheck, engine + " can be had" + (is_chosen ? ", and is chosen" : ""));
  if (is_chosen)
    return problem(kEngineCheck, engine + " is chosen and cannot be had: " + lack, advice);
  return ok(kEngineCheck, engine + " cannot be had, and is not chosen: " + lack);
}

}  // namespace

EngineFacts read_engines(EngineChoice chosen, const std::string& libraries) {
  EngineFacts facts;
  facts.chosen = chosen;
  if (const auto raw = check_engine(EngineKind::kRaw); !raw) facts.raw_lack = raw.error().what;
  const std::string plugin = libraries + "/liburxe-dpdk.so";
  if (access(plugin.c_str(), R_OK) != 0) facts.dpdk_lack = plugin + ": " + std::strerror(errno);
  return facts;
}

Findings judge_engines(const EngineFacts& facts) {
  const bool raw = facts.chosen == EngineChoice::kRaw;
  const bool dpdk = facts.chosen == EngineChoice::kDpdk;
  return {ok(kEngineCheck, std::string("udp can be had") + (raw || dpdk ? "" : ", and is chosen")),
          judge("raw", facts.raw_lack, raw, "use udp, or give the program what raw needs"),
          judge("dpdk", facts.dpdk_lack, dpdk,
                "install the package urxe-dpdk, or build urxe with libdpdk-dev")};
}

}  // namespace urxe::doctor

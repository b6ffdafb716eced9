// SPDX-License-Identifier: BSD-2-Clause
#include "tools/doctor_command.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "packet/engine/engine_choice.h"
#include "packet/engine/fault_plans.h"
#include "tools/doctor/buffers.h"
#include "tools/doctor/child.h"
#include "tools/doctor/directories.h"
#include "tools/doctor/engines.h"
#include "tools/doctor/firewall.h"
#include "tools/doctor/interfaces.h"
#include "tools/doctor/libibverbs.h"
#include "tools/doctor/limits.h"
#include "tools/doctor/offload.h"
#include "tools/doctor/peer/arrival_probe.h"
#include "tools/doctor/peer/cm_probe.h"
#include "tools/doctor/peer/path_probe.h"
#include "tools/doctor/ping/ping_report.h"
#include "tools/doctor/ping/self_ping.h"
#include "tools/doctor/port.h"
#include "tools/doctor/program.h"
#include "tools/doctor/report.h"
#include "tools/doctor/soft_roce.h"
#include "tools/exit_status.h"
#include "tools/presentation.h"
#include "tools/switches.h"

namespace urxe {
namespace {

using doctor::Findings;

constexpr Duration kPingPatience = seconds(30);

std::string get(const char* variable) {
  const char* const value = std::getenv(variable);
  return value != nullptr ? value : "";
}

void append(Findings& findings, Findings more) {
  std::ranges::move(more, std::back_inserter(findings));
}

std::vector<Gid> addresses_of(const std::vector<DeviceDescription>& devices) {
  std::vector<Gid> addresses;
  for (const DeviceDescription& device : devices) {
    addresses.insert(addresses.end(), device.gids.begin(), device.gids.end());
  }
  return addresses;
}

Expected<Presentation, std::string> present(const RunOptions& options, EngineChoice choice) {
  if (choice != EngineChoice::kDpdk) return make_presentation(options.devices);
  return make_dpdk_presentation(options.devices,
                                options.dpdk_arguments.value_or(get("URXE_DPDK_ARGS")));
}

doctor::Finding judge_faults(const std::string& faults) {
  const auto plans = parse_fault_plans(faults);
  if (!plans) {
    return doctor::problem("environment", "URXE_FAULTS is wrong: " + plans.error(),
                           "correct it, or unset it: with it `urxe run` starts no program");
  }
  return doctor::note("environment", "URXE_FAULTS makes programs lose or change packets: " + faults,
                      "unset URXE_FAULTS");
}

/// Most checks read files there, and would blame something else.
std::optional<doctor::Finding> find_lack_of_proc() {
  if (access("/proc/self/exe", F_OK) == 0) return std::nullopt;
  return doctor::problem("proc",
                         std::string("/proc/self/exe: ") + std::strerror(errno) +
                             ": urxe and the other checks need /proc",
                         "mount -t proc proc /proc");
}

/// What needs no device.
Findings check_libraries(const DoctorOptions& options) {
  Findings findings;
  if (const std::string faults = get("URXE_FAULTS"); !faults.empty()) {
    findings.push_back(judge_faults(faults));
  }
  for (const std::string& said : drop_unknown_switches()) {
    findings.push_back(doctor::note("environment", said, "correct it, or unset it"));
  }
  const auto libraries = library_directory();
  findings.push_back(doctor::judge_libibverbs(doctor::read_libibverbs(libraries.value_or(""))));
  if (!options.program.empty()) {
    findings.push_back(doctor::judge_program(doctor::read_program(options.program)));
  }
  return findings;
}

Findings check_port(const Presentation& presentation) {
  const doctor::PortFacts port = doctor::read_port();
  bool is_kernels = false;
  for (const auto& socket : port.sockets) is_kernels = is_kernels || port.is_kernels(socket);
  Findings findings = doctor::judge_port(port, addresses_of(presentation.devices));
  const auto soft_roce = doctor::find_soft_roce(presentation.real.root, presentation.real.devices);
  append(findings, doctor::judge_soft_roce(soft_roce, presentation.devices, is_kernels));
  return findings;
}

/// What packets meet on their way.
Findings check_network(const DoctorOptions& options, const Presentation& presentation) {
  Findings findings;
  if (const auto interfaces = list_interfaces()) {
    append(findings, doctor::judge_interfaces(*interfaces, presentation.devices,
                                              !options.run.devices.empty()));
  } else {
    findings.push_back(doctor::problem("interface", "cannot be listed: " + interfaces.error(), ""));
  }
  append(findings, check_port(presentation));
  findings.push_back(doctor::judge_firewall(doctor::read_firewall()));
  for (const DeviceDescription& device : presentation.devices) {
    if (device.is_fixed()) continue;
    findings.push_back(doctor::judge_offload(doctor::read_offload(device.ifname)));
  }
  return findings;
}

/// What programs of this user could have for these devices.
doctor::EngineFacts read_engines(EngineChoice choice,
                                 const std::vector<DeviceDescription>& devices) {
  doctor::EngineFacts facts = doctor::read_engines(choice, library_directory().value_or(""));
  if (choice == EngineChoice::kRaw && facts.raw_lack.empty()) {
    const auto usable = check_engines(choice, devices);
    if (!usable) facts.raw_lack = usable.error().reason;
  }
  return facts;
}

/// What programs of this user share.
Findings check_host(EngineChoice choice, const std::vector<DeviceDescription>& devices) {
  Findings findings;
  findings.push_back(doctor::judge_buffers(doctor::read_buffers()));
  findings.push_back(doctor::judge_limits(doctor::read_limits()));
  const auto places = doctor::read_places();
  append(findings, doctor::judge_places(places));
  findings.push_back(doctor::judge_slots(doctor::read_slots(places)));
  append(findings, doctor::judge_engines(read_engines(choice, devices)));
  return findings;
}

/// A trial of the whole. From now on this process has the environment of `urxe run`.
Findings check_stack(const DoctorOptions& options, const Presentation& presentation) {
  const std::string others = get("LD_PRELOAD");
  const auto prepared = prepare_environment(options.run);
  if (!prepared) {
    return {doctor::problem("self-ping", "`urxe run` fails: " + prepared.error().reason,
                            "see the other checks")};
  }
  const doctor::ChildResult child =
      doctor::run_child({"/proc/self/exe", doctor::kSelfPingCommand}, kPingPatience);
  const doctor::PingReport report = doctor::parse_ping_report(child.out);
  std::vector<std::string> names;
  for (const DeviceDescription& device : presentation.devices) names.push_back(device.name);
  Findings findings = doctor::judge_preload(report, child, others);
  append(findings,
         doctor::judge_pings(report, child, names, addresses_of(presentation.devices).size(),
                             get("URXE_FAULTS")));
  return findings;
}

/// After check_stack(), whose environment it needs.
Findings check_peer(const std::string& host) {
  const auto peer = doctor::resolve_peer(host);
  if (!peer) return {doctor::problem("peer", peer.error(), "give its address")};
  doctor::PathFacts path = doctor::probe_path(*peer);
  if (path.error == 0) path.arriving = doctor::probe_arrival(*peer, path.ip_mtu);
  Findings findings = doctor::judge_path(*peer, path);
  if (path.error != 0) return findings;
  const doctor::ChildResult child =
      doctor::run_child({"/proc/self/exe", doctor::kPeerProbeCommand, peer->text}, kPingPatience);
  findings.push_back(
      doctor::judge_peer(peer->text, child, {path.arriving.has_value(), get("URXE_FAULTS")}));
  return findings;
}

int refuse_doctor(const std::string& reason) {
  fmt::print(stderr, "urxe doctor: {}\n", reason);
  return kBadInput;
}

Findings check_all(const DoctorOptions& options, EngineChoice choice,
                   const Presentation& presentation) {
  Findings findings = check_libraries(options);
  append(findings, check_network(options, presentation));
  append(findings, check_host(choice, presentation.devices));
  if (!presentation.devices.empty()) {
    append(findings, check_stack(options, presentation));
    if (options.host) append(findings, check_peer(*options.host));
  }
  doctor::blame_limits(findings);
  return findings;
}

}  // namespace

int doctor_command(DoctorOptions options) {
  if (options.host && options.host->empty()) {
    return refuse_doctor("HOST is empty: give the name or address of a peer, or leave it out");
  }
  // If this process was started with SIGCHLD ignored, its children would leave no status.
  signal(SIGCHLD, SIG_DFL);
  const auto choice = choose_engine(options.run.engine);
  if (!choice) return refuse_doctor(choice.error());
  Findings findings;
  if (const auto lack = find_lack_of_proc()) {
    findings.push_back(*lack);
  } else {
    const auto presentation = present(options.run, *choice);
    if (!presentation) return refuse_doctor(presentation.error());
    findings = check_all(options, *choice, *presentation);
  }
  fmt::print("{}", options.json ? doctor::format_json(findings) : doctor::format_text(findings));
  return doctor::exit_status(findings);
}

}  // namespace urxe

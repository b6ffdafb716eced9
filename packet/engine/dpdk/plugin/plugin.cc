// SPDX-License-Identifier: BSD-2-Clause
// What the provider calls: see plugin_abi.h.
#include <rte_eal.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <new>

#include "packet/base/engine_error.h"
#include "packet/engine/dpdk/plugin/dpdk.h"
#include "packet/engine/dpdk/plugin/eal_log.h"
#include "packet/engine/dpdk/plugin/interrupt_thread.h"
#include "packet/engine/dpdk/plugin_version.h"

namespace urxe {
namespace {

void write(DpdkPluginError* out, const EngineError& error) {
  out->errno_value = error.errno_value;
  std::strncpy(out->text, error.what.c_str(), sizeof out->text - 1);
}

struct Started {
  Eal* eal = nullptr;
  DpdkArguments arguments;
};

Expected<Started, EngineError> start(const DpdkPluginConfig& config) {
  auto arguments = parse_dpdk_arguments(config.arguments);
  if (!arguments) return engine_failure(EINVAL, "--dpdk-args: " + arguments.error());
  auto eal = Eal::start(*arguments);
  if (!eal) return Unexpected<EngineError>(std::move(eal.error()));
  EalLog::instance().set_print(config.log);
  if (config.watch_unmapping != nullptr && prepare_memory_use()) {
    config.watch_unmapping(wait_before_unmap);
  }
  if (config.watch_failed_sends != nullptr) config.watch_failed_sends(after_failed_send);
  return Started{*eal, *std::move(arguments)};
}

Expected<std::unique_ptr<DpdkEngine>, EngineError> create(const DpdkPluginConfig& config) {
  auto started = start(config);
  if (!started) return Unexpected<EngineError>(std::move(started.error()));
  const auto words = started->arguments.words_of(config.port, 1);
  if (!words) {
    return engine_failure(EINVAL,
                          std::string("--dpdk-args has words, but not for port ") + config.port);
  }
  DpdkEngine::LinkChanged link_changed;
  if (config.link_changed != nullptr) {
    link_changed = [tell = config.link_changed, context = config.context](bool is_up) {
      tell(context, is_up ? 1 : 0);
    };
  }
  return DpdkEngine::open(*started->eal, config.port, *words, std::move(link_changed));
}

Expected<int, EngineError> list(const DpdkPluginConfig& config, DpdkPluginPort* ports) {
  auto started = start(config);
  if (!started) return Unexpected<EngineError>(std::move(started.error()));
  const auto names = port_names();
  int count = 0;
  std::optional<EngineError> wrong;
  for (const std::string& name : names) {
    const auto words = started->arguments.words_of(name, names.size());
    auto id = started->eal->open_port(name);
    if (!id) continue;
    auto port = describe_port(*id, name, words.value_or(PortWords{}));
    if (port) {
      ports[count++] = *port;
    } else if (!wrong) {
      wrong = std::move(port.error());
    }
  }
  for (const std::string& name : names) started->eal->close_port(name);
  started->eal->release_devices();
  if (wrong) return Unexpected<EngineError>(*std::move(wrong));
  return count;
}

}  // namespace
}  // namespace urxe

#define URXE_EXPORT extern "C" __attribute__((visibility("default")))

URXE_EXPORT const char* urxe_dpdk_version() {
  return urxe::kPluginVersion;
}

URXE_EXPORT void* urxe_dpdk_create(const urxe::DpdkPluginConfig* config,
                                   urxe::DpdkPluginError* error) try {
  auto engine = urxe::create(*config);
  if (engine) return static_cast<urxe::PacketEngine*>(engine->release());
  urxe::write(error, engine.error());
  return nullptr;
} catch (const std::exception& exception) {
  urxe::write(error, {ENOMEM, exception.what()});
  return nullptr;
}

URXE_EXPORT int urxe_dpdk_list(const urxe::DpdkPluginConfig* config, urxe::DpdkPluginPort* ports,
                               urxe::DpdkPluginError* error) try {
  auto count = urxe::list(*config, ports);
  if (count) return *count;
  urxe::write(error, count.error());
  return -1;
} catch (const std::exception& exception) {
  urxe::write(error, {ENOMEM, exception.what()});
  return -1;
}

// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "packet/base/expected.h"
#include "packet/engine/engine_choice.h"
#include "provider/devices/sysfs_tree.h"
#include "tools/exit_status.h"

namespace urxe {

/// The options of `urxe run` and `urxe env`.
struct RunOptions {
  std::vector<std::string> devices;   ///< [NAME=]IFACE each
  std::string capture;                ///< pcapng file; empty: none
  std::optional<std::string> faults;  ///< as parse_fault_plans() reads it
  std::optional<std::string> engine;  ///< as parse_engine_choice() reads it
  std::optional<std::string> dpdk_arguments;
  std::optional<std::string> lanes;  ///< as parse_lane_choice() reads it
  std::optional<bool> shm;           ///< whether memory carries packets on this host
  bool explain = false;              ///< says on stderr why queue pairs fail
  std::vector<std::string> command;  ///< program and arguments; `env` has none
};

/// Why the environment cannot be made.
struct Refusal {
  int status = kOurFailure;  ///< the exit status; 2: an option that cannot be had
  std::string reason;
};

/// The engine that the option names, else URXE_ENGINE. The error says which of the two is wrong.
Expected<EngineChoice, std::string> choose_engine(const std::optional<std::string>& option);

/// Refuses --dpdk-args for another engine.
Expected<void, Refusal> check_dpdk_option(const std::optional<std::string>& dpdk_arguments,
                                          EngineChoice choice);

/// Whether this process may use the devices' engines, and one of them is the one that was chosen.
Expected<void, Refusal> check_engines(EngineChoice choice,
                                      const std::vector<DeviceDescription>& devices);

/// Publishes the devices, and sets URXE_ENGINE and URXE_DPDK_ARGS of this process. Returns what
/// URXE_TREE would be.
Expected<std::string, Refusal> publish_devices(const RunOptions& options);

/// Publishes the devices, and sets the variables of this process by which a program sees them.
Expected<void, Refusal> prepare_environment(const RunOptions& options);

/// After prepare_environment(): these variables, as far as they are set.
std::vector<std::pair<std::string, std::string>> read_environment();

/// If this process itself runs under `urxe run`, starts it again in the environment outside, so
/// that it sees only the machine's real devices.
void leave_outer_run(char** argv);

}  // namespace urxe

// SPDX-License-Identifier: BSD-2-Clause
#include "tools/environment.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "packet/base/expected.h"
#include "packet/engine/capture_writer.h"
#include "packet/engine/engine_choice.h"
#include "packet/engine/fault_plans.h"
#include "packet/engine/lane_choice.h"
#include "packet/host/guarded_open.h"
#include "packet/host/user_directory.h"
#include "provider/devices/network_namespace.h"
#include "provider/devices/sysfs_tree.h"
#include "provider/devices/tree_store.h"
#include "provider/devices/tree_update.h"
#include "tools/elf_file.h"
#include "tools/exit_status.h"
#include "tools/presentation.h"
#include "tools/sanitizer_runtime.h"
#include "tools/switches.h"

namespace urxe {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPresenceFile = "liburxe-presence.so";
/// Passes on to it what a sanitizer's library calls.
constexpr const char* kUnversionedFile = "liburxe-unversioned.so";
/// libibverbs adds "-rdmavNN.so", where NN is its private ABI number.
constexpr const char* kProviderStem = "liburxe";

Unexpected<Refusal> refuse(std::string reason, int status = kOurFailure) {
  return Unexpected<Refusal>({status, std::move(reason)});
}

std::string get(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr ? value : "";
}

void set(const char* variable, const std::string& value) {
  setenv(variable, value.c_str(), /*overwrite=*/1);
}

/// "a:b"; only one of the two if the other is empty.
std::string join(const std::string& first, const std::string& second) {
  return first.empty() || second.empty() ? first + second : first + ":" + second;
}

/// The members of a list, which one of `separators` separates, without those that end in `file`.
std::string without(const std::string& list, const std::string& file, const char* separators) {
  std::string rest;
  for (size_t start = 0; start <= list.size();) {
    size_t end = std::min(list.find_first_of(separators, start), list.size());
    std::string member = list.substr(start, end - start);
    if (!member.ends_with("/" + file)) rest = join(rest, member);
    start = end + 1;
  }
  return rest;
}

std::string preloaded_by_others() {
  constexpr const char* kSeparators = ": ";  // ld.so(8)
  return without(without(get("LD_PRELOAD"), kPresenceFile, kSeparators), kUnversionedFile,
                 kSeparators);
}

/// The drivers of this list that are not urxe's.
std::string other_drivers(const std::string& list) {
  return without(list, kProviderStem, ":;");
}

void set_or_unset(const char* variable, const std::string& value) {
  if (value.empty()) {
    unsetenv(variable);
  } else {
    set(variable, value);
  }
}

/// The directory of the preloaded object and the provider.
Expected<fs::path, std::string> find_libraries() {
  auto directory = library_directory();
  if (!directory) return Unexpected<std::string>(directory.error());
  const fs::path libraries = *directory;
  const std::string presence = libraries / kPresenceFile;
  if (const std::string damage = damage_of_shared_object(presence); !damage.empty()) {
    return Unexpected<std::string>(fmt::format(
        "cannot preload {}: {}; install urxe, or build it, as a whole", presence, damage));
  }
  // Neither LD_PRELOAD nor RDMAV_DRIVERS can hold such a name.
  if (libraries.string().find_first_of(" :;$") != std::string::npos) {
    return Unexpected<std::string>(
        fmt::format("cannot be run from {}: its path holds a space, ':', ';' or '$'",
                    libraries.parent_path().string()));
  }
  return libraries;
}

/// Adds the provider to the drivers that the user has named. libibverbs reads RDMAV_DRIVERS, and
/// IBV_DRIVERS only if there is no RDMAV_DRIVERS.
void set_drivers(const fs::path& libraries) {
  std::string others = get("RDMAV_DRIVERS");
  if (others.empty()) others = get("IBV_DRIVERS");
  set("RDMAV_DRIVERS", join(libraries / kProviderStem, other_drivers(others)));
}

/// An object that must come before all others is the run-time library of a sanitizer: that of the
/// program, or, if the provider was built with one and the program was not, URXE_PRELOAD_FIRST.
void set_preload(const fs::path& libraries, const std::string& program) {
  const std::string others = preloaded_by_others();
  std::string first = get("URXE_PRELOAD_FIRST");
  if (first.empty()) first = find_sanitizer_runtime(program);
  if (!first.empty()) first = join(first, libraries / kUnversionedFile);
  set("LD_PRELOAD", join(first, join(libraries / kPresenceFile, others)));
}

/// Returns an empty string, or what is wrong with the option, or with the variable.
std::string set_lanes(const std::optional<std::string>& option) {
  const auto choice = parse_lane_choice(option ? *option : get("URXE_LANES"));
  if (!choice) return (option ? "--lanes: " : "URXE_LANES: ") + choice.error();
  if (option) set("URXE_LANES", *option);
  return "";
}

/// Returns an empty string, or why the capture file cannot be written.
std::string set_capture(const std::string& file) {
  if (file.empty()) return "";
  std::error_code failed;
  fs::path path = fs::absolute(file, failed);
  if (failed) return "--capture: " + failed.message();
  if (!fs::is_directory(path.parent_path(), failed)) {
    return fmt::format("--capture: there is no directory {}", path.parent_path().string());
  }
  if (fs::is_directory(path, failed)) {
    return fmt::format("--capture: {} is a directory", path.string());
  }
  const auto found = guarded_open(path, O_PATH);
  if (!found && found.error().errno_value != ENOENT) {
    return fmt::format("--capture: {}: {}", path.string(), found.error().what);
  }
  const bool exists = fs::exists(path, failed);
  if (access(exists ? path.c_str() : path.parent_path().c_str(), exists ? R_OK | W_OK : W_OK) !=
      0) {
    return fmt::format("--capture: cannot write {}: {}", path.string(), std::strerror(errno));
  }
  if (const auto usable = check_capture_file(path); !usable) {
    return "--capture: " + usable.error().what;
  }
  set("URXE_CAPTURE", path);
  return "";
}

/// Returns an empty string, or the error in the description of the faults: the option's, or else
/// that of the environment.
std::string set_faults(const std::optional<std::string>& faults) {
  const std::string inherited = get("URXE_FAULTS");
  if (!faults && inherited.empty()) return "";
  const auto plans = parse_fault_plans(faults ? *faults : inherited);
  if (!plans) return (faults ? "--fault: " : "URXE_FAULTS: ") + plans.error();
  if (faults) set("URXE_FAULTS", *faults);
  return "";
}

/// An interface that no device has is a mistake: the program would run without its faults.
std::string check_fault_interfaces(const std::optional<std::string>& faults,
                                   const std::vector<DeviceDescription>& devices) {
  const auto plans = parse_fault_plans(faults.value_or(""));
  if (!faults || !plans) return "";
  for (const FaultPlans::OfInterface& interface : plans->interfaces) {
    if (std::ranges::find(devices, interface.name, &DeviceDescription::ifname) == devices.end()) {
      return fmt::format("--fault: no device has the interface '{}'", interface.name);
    }
  }
  return "";
}

/// The devices, and the environment in which the program will make the same of them.
Expected<Presentation, Refusal> present(const RunOptions& options) {
  const auto choice = choose_engine(options.engine);
  if (!choice) return refuse(choice.error(), kBadInput);
  const bool dpdk = *choice == EngineChoice::kDpdk;
  if (auto right = check_dpdk_option(options.dpdk_arguments, *choice); !right) {
    return Unexpected<Refusal>(right.error());
  }
  auto presentation =
      dpdk ? make_dpdk_presentation(options.devices,
                                    options.dpdk_arguments.value_or(get("URXE_DPDK_ARGS")))
           : make_presentation(options.devices);
  if (!presentation) return refuse(presentation.error(), kBadInput);
  auto usable = check_engines(*choice, presentation->devices);
  if (!usable) return Unexpected<Refusal>(usable.error());
  if (options.engine) set("URXE_ENGINE", *options.engine);
  if (options.dpdk_arguments) set("URXE_DPDK_ARGS", *options.dpdk_arguments);
  return *std::move(presentation);
}

/// Fails if the umask would deny this user access to new directories. Root has access anyway.
Expected<void, Refusal> check_umask() {
  const mode_t mask = umask(0);
  umask(mask);
  if (geteuid() == 0 || (mask & S_IRWXU) == 0) return {};
  return refuse(fmt::format(
      "the umask {:04o} denies the owner access to new directories. What to do: umask 022", mask));
}

}  // namespace

Expected<EngineChoice, std::string> choose_engine(const std::optional<std::string>& option) {
  auto choice = parse_engine_choice(option ? *option : get("URXE_ENGINE"));
  if (choice) return choice;
  return Unexpected<std::string>((option ? "--engine: " : "URXE_ENGINE: ") + choice.error());
}

Expected<void, Refusal> check_dpdk_option(const std::optional<std::string>& dpdk_arguments,
                                          EngineChoice choice) {
  if (!dpdk_arguments || choice == EngineChoice::kDpdk) return {};
  return refuse("--dpdk-args is for --engine dpdk", kBadInput);
}

Expected<void, Refusal> check_engines(EngineChoice choice,
                                      const std::vector<DeviceDescription>& devices) {
  bool is_had = choice != EngineChoice::kRaw || devices.empty();
  for (const DeviceDescription& device : devices) {
    const EngineKind engine = engine_for(choice, device.ifindex);
    const auto usable = check_engine(engine);
    if (!usable) return refuse(usable.error().what, kBadInput);
    is_had = is_had || engine == EngineKind::kRaw;
  }
  if (!is_had) {
    return refuse("the engine raw needs an Ethernet interface, and no device has one; use udp",
                  kBadInput);
  }
  return {};
}

Expected<std::string, Refusal> publish_devices(const RunOptions& options) {
  if (auto usable = check_umask(); !usable) return Unexpected<Refusal>(usable.error());
  auto presentation = present(options);
  if (!presentation) return Unexpected<Refusal>(presentation.error());
  if (presentation->devices.empty()) {
    fmt::print(stderr, "urxe: no interface is up and has an IP address: no devices\n");
  }
  if (access("/dev/null", F_OK) != 0) {
    fmt::print(stderr,
               "urxe: there is no /dev/null, which stands in for the device nodes, so programs "
               "see no devices. What to do: give the sandbox a /dev (bwrap --dev /dev)\n");
  }
  if (std::string error = check_fault_interfaces(options.faults, presentation->devices);
      !error.empty()) {
    return refuse(error, kBadInput);
  }
  auto netns = current_network_namespace();
  if (!netns) return refuse(netns.error());
  auto tree = publish_tree_in(runtime_directory_places(), *netns,
                              describe_tree(presentation->devices, presentation->real));
  if (!tree) {
    const bool lacks_descriptors = tree.error().find(std::strerror(EMFILE)) != std::string::npos;
    return refuse(tree.error() + (lacks_descriptors ? " (raise the limit with ulimit -n)"
                                                    : std::string(". ") + kHowToHaveADirectory));
  }
  (void)update_tree(*tree);  // an earlier run's may be out of date
  return *tree;
}

Expected<void, Refusal> prepare_environment(const RunOptions& options) {
  if (std::string error = set_faults(options.faults); !error.empty()) {
    return refuse(error, kBadInput);
  }
  auto libraries = find_libraries();
  if (!libraries) return refuse(libraries.error());
  auto tree = publish_devices(options);
  if (!tree) return Unexpected<Refusal>(tree.error());
  if (std::string error = set_capture(options.capture); !error.empty()) {
    return refuse(error, kBadInput);
  }
  if (std::string error = set_lanes(options.lanes); !error.empty()) {
    return refuse(error, kBadInput);
  }
  for (const std::string& said : drop_unknown_switches()) fmt::print(stderr, "urxe: {}\n", said);
  if (options.shm) set("URXE_SHM", *options.shm ? "1" : "0");
  if (options.explain) set("URXE_EXPLAIN", "1");
  set("URXE_TREE", *tree);
  set_drivers(*libraries);
  set_preload(*libraries, options.command.empty() ? "" : options.command.front());
  return {};
}

std::vector<std::pair<std::string, std::string>> read_environment() {
  std::vector<std::pair<std::string, std::string>> variables;
  for (const char* const name :
       {"LD_PRELOAD", "RDMAV_DRIVERS", "URXE_TREE", "URXE_ENGINE", "URXE_DPDK_ARGS", "URXE_LANES",
        "URXE_SHM", "URXE_CAPTURE", "URXE_FAULTS", "URXE_EXPLAIN", "URXE_STAT"}) {
    if (const char* const value = std::getenv(name)) variables.emplace_back(name, value);
  }
  return variables;
}

void leave_outer_run(char** argv) {
  if (get("URXE_TREE").empty()) return;
  unsetenv("URXE_TREE");
  set_or_unset("LD_PRELOAD", preloaded_by_others());
  set_or_unset("RDMAV_DRIVERS", other_drivers(get("RDMAV_DRIVERS")));
  execv("/proc/self/exe", argv);
}

}  // namespace urxe

// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/dpdk/plugin_loader.h"

#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "packet/engine/dpdk/plugin_version.h"
#include "packet/engine/forwarding_engine.h"

namespace urxe {
namespace {

constexpr const char* kPlugin = "/liburxe-dpdk.so";

struct Plugin {
  DpdkCreateFunction* create = nullptr;
  DpdkListFunction* list = nullptr;
};

Unexpected<EngineError> failed(std::string what, int errno_value = ENODEV) {
  return Unexpected<EngineError>({errno_value, std::move(what)});
}

Unexpected<EngineError> failed(const DpdkPluginError& error) {
  return failed(error.text, error.errno_value);
}

template <class Function>
Function* find(void* handle, const char* symbol) {
  return reinterpret_cast<Function*>(dlsym(handle, symbol));
}

/// The plug-in stays loaded: DPDK's threads outlive every engine.
Expected<Plugin, EngineError> load(const std::string& directory) {
  const std::string path = directory + kPlugin;
  if (access(path.c_str(), R_OK) != 0) {
    return failed("there is no DPDK engine: cannot read " + path + ": " + std::strerror(errno) +
                  "; `cmake --build --preset release` builds it if libdpdk-dev is installed");
  }
  void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return failed(std::string("cannot load the DPDK engine: ") + dlerror());
  auto* const version = find<DpdkVersionFunction>(handle, kDpdkVersionSymbol);
  if (version == nullptr || std::strcmp(version(), kPluginVersion) != 0) {
    return failed(path + " is of another urxe: install the two together");
  }
  Plugin plugin{find<DpdkCreateFunction>(handle, kDpdkCreateSymbol),
                find<DpdkListFunction>(handle, kDpdkListSymbol)};
  if (plugin.create == nullptr || plugin.list == nullptr) return failed(path + " is incomplete");
  return plugin;
}

/// Keeps what the engine of the plug-in calls.
class LoadedEngine final : public ForwardingEngine {
 public:
  LoadedEngine(std::unique_ptr<PacketEngine> engine, std::unique_ptr<DpdkConfig> config)
      : ForwardingEngine(nullptr), config_(std::move(config)) {
    set_inner(std::move(engine));
  }
  ~LoadedEngine() override { set_inner(nullptr); }
  LoadedEngine(const LoadedEngine&) = delete;
  LoadedEngine& operator=(const LoadedEngine&) = delete;

 private:
  std::unique_ptr<DpdkConfig> config_;
};

void tell_link(void* context, int is_up) {
  const auto& config = *static_cast<const DpdkConfig*>(context);
  if (config.link_changed) config.link_changed(is_up != 0);
}

}  // namespace

Expected<std::unique_ptr<PacketEngine>, EngineError> open_dpdk_engine(const std::string& directory,
                                                                      DpdkConfig config) {
  auto plugin = load(directory);
  if (!plugin) return Unexpected<EngineError>(std::move(plugin.error()));
  auto kept = std::make_unique<DpdkConfig>(std::move(config));
  const DpdkPluginConfig passed{
      kept->arguments.c_str(), kept->port.c_str(),      kept->log, tell_link, kept.get(),
      kept->watch_unmapping,   kept->watch_failed_sends};
  DpdkPluginError error{};
  auto* const engine = static_cast<PacketEngine*>(plugin->create(&passed, &error));
  if (engine == nullptr) return failed(error);
  return std::make_unique<LoadedEngine>(std::unique_ptr<PacketEngine>(engine), std::move(kept));
}

Expected<std::vector<DpdkPluginPort>, EngineError> list_dpdk_ports(const std::string& directory,
                                                                   const std::string& arguments) {
  auto plugin = load(directory);
  if (!plugin) return Unexpected<EngineError>(std::move(plugin.error()));
  const DpdkPluginConfig passed{arguments.c_str(), "", nullptr, nullptr, nullptr, nullptr, nullptr};
  std::array<DpdkPluginPort, kMostDpdkPorts> ports{};
  DpdkPluginError error{};
  const int count = plugin->list(&passed, ports.data(), &error);
  if (count < 0) return failed(error);
  return std::vector<DpdkPluginPort>(ports.begin(), ports.begin() + count);
}

std::string own_directory() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&own_directory), &info) == 0 || info.dli_fname == nullptr) {
    return ".";
  }
  const std::string path = info.dli_fname;
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

}  // namespace urxe

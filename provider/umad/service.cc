// SPDX-License-Identifier: BSD-2-Clause
#include "provider/umad/service.h"

#include <pthread.h>
#include <sys/epoll.h>

#include <cerrno>
#include <vector>

#include "packet/host/clock.h"
#include "provider/runtime/device/device_registry.h"
#include "provider/umad/management.h"
#include "provider/umad/open_files.h"

namespace urxe::umad {
namespace {

using cm::Watch;

void mark(RuntimeDevice& device) {
  Service::instance().watch.mark(&device);
}

bool is_gone(RuntimeDevice& device) {
  RuntimeDevice::Guard guard(device);
  return device.described().gone;
}

constexpr MadAgentKey kPerformanceKey{kPerformance, 1, 0};
constexpr MadMethods kGetAndSet{1 << kMethodGet | 1 << kMethodSet, 0};

void* serve_files(void* argument) {
  auto& service = *static_cast<Service*>(argument);
  for (;;) {
    const auto ready = service.watch.wait(std::nullopt, clock_now());
    const auto done = Service::run([&](Service& self) -> Expected<void, Errno> {
      for (const Watch::Ready& one : ready) {
        if (one.what == Watch::What::kFile) self.handle_file(static_cast<int>(one.number));
      }
      self.handle_marks();
      return {};
    });
    if (!done) service.watch.try_again();
  }
  return nullptr;
}

}  // namespace

// Handlers of fork() run last to first. The others' are registered first, so this lock is taken
// before theirs, as everywhere else.
Service::Service() {
  prepare_runtime_devices();
  static constexpr ManagementSink kSink{.events = mark, .interface_changed = mark};
  register_management_sink(kSink);
  pthread_atfork([] { instance().mutex_.lock(); }, [] { instance().mutex_.unlock(); },
                 [] {
                   Service& self = instance();
                   self.reset_in_child();
                   self.mutex_.unlock();
                 });
}

Service& Service::instance() {
  static auto* const service = new Service;
  return *service;
}

// The child has no thread, and the parent goes on with its agents. The child leaks the ports,
// because destroying a device would disturb the parent's.
void Service::reset_in_child() {
  watch.after_fork_in_child();
  new std::unordered_map<std::string, std::unique_ptr<Port>>(std::move(ports_));
  ports_.clear();
  files_.clear();
}

void Service::add_file(const std::shared_ptr<UmadFile>& file) {
  std::vector<std::shared_ptr<UmadFile>> closed;
  for (const auto& [fd, other] : files_) {
    if (other->is_closed()) closed.push_back(other);
  }
  for (const auto& other : closed) close_file(*other);
  files_[file->own_fd()] = file;
  OpenFiles::instance().add(file);
}

bool Service::has(const UmadFile& file) const {
  const auto found = files_.find(file.own_fd());
  return found != files_.end() && found->second.get() == &file;
}

void Service::close_file(UmadFile& file) {
  for (uint32_t number = 0; number < UmadFile::kMostAgents; ++number) {
    if (file.agent(number) != nullptr) detach(file, number);
  }
  watch.remove(file.own_fd());
  OpenFiles::instance().remove(file);
  files_.erase(file.own_fd());
}

Port& Service::port(const UmadFile& file) {
  std::unique_ptr<Port>& port = ports_[file.device()];
  if (port == nullptr) port = std::make_unique<Port>(file.device());
  return *port;
}

Expected<void, Errno> Service::start(Port& port) {
  if (auto started = watch.start(serve_files, this); !started) return started;
  if (port.runtime == nullptr) {
    auto opened = open_runtime_device(port.name);
    if (!opened) return Unexpected<Errno>(opened.error());
    port.runtime = *std::move(opened);
  }
  RuntimeDevice::Guard guard(*port.runtime);
  if (port.runtime->described().gone) return error(ENODEV);
  if (auto started = port.runtime->start(); !started) return started;
  port.runtime->refresh_gids();
  return port.runtime->open_addresses();
}

/// Makes the device's agent. ENOMEM and others, and there is none.
Expected<MadAgentId, Errno> Service::add_agent(Port& port, const FileAgent& agent,
                                               Port::Owner owner) {
  RuntimeDevice::Guard guard(*port.runtime);
  MadAgents& agents = port.runtime->device().mads();
  try {
    auto added = agents.add({agent.key, agent.methods});
    if (!added) return added;
    try {
      port.owners[*added] = owner;
    } catch (const std::bad_alloc&) {
      agents.remove(*added);
      throw;
    }
    return added;
  } catch (const std::bad_alloc&) {
    return error(ENOMEM);
  }
}

Expected<void, Errno> Service::attach(UmadFile& file, uint32_t number) {
  FileAgent& agent = *file.agent(number);
  if (agent.id) return {};
  Port& its_port = port(file);
  if (auto started = start(its_port); !started) return started;
  if (agent.serves()) {
    if (auto served = serve(its_port, agent.key); !served) return served;
  }
  const auto added = add_agent(its_port, agent, {&file, number});
  if (!added) {
    if (agent.serves()) stop_serving(its_port, agent.key);
    return Unexpected<Errno>(added.error());
  }
  agent.id = *added;
  (void)watch.add(file.own_fd(), 0, Watch::What::kFile, static_cast<uint32_t>(file.own_fd()));
  return {};
}

void Service::detach(UmadFile& file, uint32_t number) {
  FileAgent& agent = *file.agent(number);
  if (!agent.id) return;
  Port& its_port = port(file);
  its_port.owners.erase(*agent.id);
  {
    RuntimeDevice::Guard guard(*its_port.runtime);
    its_port.runtime->device().mads().remove(*agent.id);
  }
  agent.id.reset();
  if (agent.serves()) stop_serving(its_port, agent.key);
}

Expected<void, Errno> Service::serve(Port& port, const MadAgentKey& key) {
  size_t& agents = port.served[key];
  if (agents == 0) {
    if (port.performance && key == kPerformanceKey) stop_performance(port);
    auto taken = port.runtime->take_agent_requests(key);
    if (!taken) {
      port.served.erase(key);
      if (!port.served.empty()) serve_performance(port);
      return error(taken.error().value == EADDRINUSE ? EINVAL : taken.error().value);
    }
  }
  ++agents;
  if (key != kPerformanceKey) serve_performance(port);
  return {};
}

void Service::stop_serving(Port& port, const MadAgentKey& key) {
  const auto served = port.served.find(key);
  if (--served->second != 0) return;
  port.served.erase(served);
  {
    RuntimeDevice::Guard guard(*port.runtime);
    port.runtime->leave_agent_requests(key);
  }
  if (port.served.empty()) return stop_performance(port);
  serve_performance(port);
}

/// A device has a performance management agent as long as some program is there for requests at
/// all. Another process may be there, and has it.
void Service::serve_performance(Port& port) {
  if (port.performance || port.served.contains(kPerformanceKey)) return;
  if (!port.runtime->take_agent_requests(kPerformanceKey)) return;
  RuntimeDevice::Guard guard(*port.runtime);
  auto added = port.runtime->device().mads().add({kPerformanceKey, kGetAndSet});
  if (!added) return port.runtime->leave_agent_requests(kPerformanceKey);
  port.performance = *added;
  port.owners[*added] = {};
}

void Service::stop_performance(Port& port) {
  if (!port.performance) return;
  port.owners.erase(*port.performance);
  RuntimeDevice::Guard guard(*port.runtime);
  port.runtime->device().mads().remove(*port.performance);
  port.runtime->leave_agent_requests(kPerformanceKey);
  port.performance.reset();
}

void Service::wait_for_room(const UmadFile& file) {
  watch.remove(file.own_fd());
  (void)watch.add(file.own_fd(), EPOLLOUT, Watch::What::kFile,
                  static_cast<uint32_t>(file.own_fd()));
}

void Service::handle_file(int own_fd) {
  const auto found = files_.find(own_fd);
  if (found == files_.end()) return;
  const std::shared_ptr<UmadFile> file = found->second;
  if (file->is_closed()) return close_file(*file);
  watch.remove(own_fd);
  (void)watch.add(own_fd, 0, Watch::What::kFile, static_cast<uint32_t>(own_fd));
  deliver(port(*file));
}

void Service::handle_marks() {
  for (const RuntimeDevice* const device : watch.take_marked()) {
    for (auto& [name, port] : ports_) {
      if (port->runtime.get() != device) continue;
      deliver(*port);
      if (is_gone(*port->runtime)) end_files(*port);
    }
  }
}

/// As Linux ends the files of a device that goes.
void Service::end_files(const Port& port) {
  for (const auto& [fd, file] : files_) {
    if (file->device() != port.name || file->has_ended()) continue;
    for (uint32_t number = 0; number < UmadFile::kMostAgents; ++number) {
      if (file->agent(number) == nullptr) continue;
      detach(*file, number);
      file->remove(number);
    }
    file->end();
  }
}

}  // namespace urxe::umad

// SPDX-License-Identifier: BSD-2-Clause
#include "tools/dpdk_ports.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "packet/engine/dpdk/arguments.h"
#include "packet/engine/dpdk/plugin_loader.h"
#include "packet/host/file_descriptor.h"

namespace urxe {
namespace {

/// More than the child can have to say.
constexpr size_t kMostBytes = size_t{64} * 1024;
constexpr char kPortsFollow = 'P';
constexpr char kErrorFollows = 'E';

struct Pipe {
  FileDescriptor read;
  FileDescriptor write;
};

std::optional<Pipe> open_pipe() {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return std::nullopt;
  return Pipe{FileDescriptor(fds[0]), FileDescriptor(fds[1])};
}

void write_all(int fd, const void* bytes, size_t size) {
  const char* at = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t written = write(fd, at, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    at += written;
    size -= static_cast<size_t>(written);
  }
}

std::string read_all(int fd) {
  std::string text;
  char part[4096];
  for (;;) {
    const ssize_t size = read(fd, part, sizeof part);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return text;
    if (text.size() < kMostBytes) text.append(part, static_cast<size_t>(size));
  }
}

/// Its own output goes nowhere: what DPDK writes to stdout and stderr about wrong arguments would
/// not say more than its log does.
[[noreturn]] void be_child(int answer, const std::string& libraries, const std::string& arguments) {
  const FileDescriptor null(open("/dev/null", O_RDWR | O_CLOEXEC));
  dup2(null.get(), STDIN_FILENO);
  dup2(null.get(), STDOUT_FILENO);
  dup2(null.get(), STDERR_FILENO);
  const auto ports = list_dpdk_ports(libraries, arguments);
  if (ports) {
    write_all(answer, &kPortsFollow, 1);
    write_all(answer, ports->data(), ports->size() * sizeof(DpdkPluginPort));
  } else {
    write_all(answer, &kErrorFollows, 1);
    write_all(answer, ports.error().what.data(), ports.error().what.size());
  }
  _exit(0);
}

/// What the child says; empty: nothing.
Expected<std::string, std::string> ask_child(const std::string& libraries,
                                             const std::string& arguments) {
  auto pipe = open_pipe();
  const pid_t child = pipe ? fork() : -1;
  if (child < 0) {
    return Unexpected<std::string>(std::string("cannot try DPDK out: ") + std::strerror(errno));
  }
  if (child == 0) be_child(pipe->write.get(), libraries, arguments);
  pipe->write.reset();
  std::string answer = read_all(pipe->read.get());
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) {
    return Unexpected<std::string>("DPDK was ended by signal " + std::to_string(WTERMSIG(status)) +
                                   " with these --dpdk-args");
  }
  return answer;
}

DpdkPort to_port(const DpdkPluginPort& found, const PortWords& words) {
  return {.name = found.name,
          .interface_index = found.interface_index,
          .mtu = found.mtu,
          .speed_mbps = found.speed_mbps,
          .addresses = words.addresses,
          .gateways = words.gateways};
}

Unexpected<std::string> refuse_ports(std::string why) {
  return Unexpected<std::string>(std::move(why));
}

}  // namespace

Expected<std::vector<DpdkPort>, std::string> find_dpdk_ports(const std::string& libraries,
                                                             const std::string& text) {
  const auto arguments = parse_dpdk_arguments(text);
  if (!arguments) return refuse_ports("--dpdk-args: " + arguments.error());
  auto answer = ask_child(libraries, text);
  if (!answer) return refuse_ports(answer.error());
  if (answer->empty()) return refuse_ports("DPDK ends the process with these --dpdk-args");
  if (answer->front() != kPortsFollow) return refuse_ports(answer->substr(1));
  std::vector<DpdkPluginPort> found((answer->size() - 1) / sizeof(DpdkPluginPort));
  std::memcpy(static_cast<void*>(found.data()), answer->data() + 1,
              found.size() * sizeof(DpdkPluginPort));
  if (found.empty()) {
    return refuse_ports(
        "DPDK finds no port with these --dpdk-args; --vdev or -a names one, for instance "
        "--vdev=net_memif0,role=server");
  }
  for (const PortWords& words : arguments->ports) {
    const bool there = words.port.empty() || std::ranges::any_of(found, [&](const auto& port) {
                         return words.port == port.name;
                       });
    if (!there) return refuse_ports("--dpdk-args: DPDK has no port '" + words.port + "'");
  }
  std::vector<DpdkPort> ports;
  for (const DpdkPluginPort& port : found) {
    const auto words = arguments->words_of(port.name, found.size());
    if (words) ports.push_back(to_port(port, *words));
  }
  if (ports.empty()) {
    return refuse_ports(
        "--dpdk-args: DPDK has several ports: port=NAME begins the words about one");
  }
  return ports;
}

}  // namespace urxe

// SPDX-License-Identifier: BSD-2-Clause
#include "tools/lab/node.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>

#include "packet/host/file_descriptor.h"
#include "tools/lab/mounts.h"
#include "tools/lab/user_namespace.h"

namespace urxe::lab {
namespace {

constexpr int kOwnedByNode = CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS;
constexpr pid_t kFirstNode = 2;
constexpr const char* kReady = "ready";
constexpr size_t kMostBytes = 1024;  // of a holder's message

Done make_node(const Node& node) {
  const std::string& name = node.name;
  if (unshare(kOwnedByNode) != 0) return system_failure("cannot make a node's namespaces");
  if (sethostname(name.data(), name.size()) != 0) return system_failure("sethostname()");
  if (auto done = mount_for_node(faults_of(node)); !done) return done;
  // Other processes of the lab may enter only if they have all that this one may do.
  return keep_rights();
}

[[noreturn]] void hold(const Node& node, int tell) {
  const Done done = make_node(node);
  const std::string message = done ? kReady : done.error();
  (void)send(tell, message.data(), message.size(), MSG_NOSIGNAL);
  close(tell);
  // A terminal's signals are for COMMAND; the kernel kills this process with init.
  for (const int signal : {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGTSTP}) ::signal(signal, SIG_IGN);
  while (done) pause();
  _exit(1);
}

}  // namespace

Expected<pid_t, std::string> hold_node(const Node& node) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return system_failure("socketpair()");
  }
  const FileDescriptor ours(ends[0]);
  FileDescriptor theirs(ends[1]);
  const pid_t pid = fork();
  if (pid < 0) return system_failure("cannot start a process for a node");
  if (pid == 0) hold(node, theirs.get());
  theirs.reset();
  std::array<char, kMostBytes> buffer;
  const ssize_t size = recv(ours.get(), buffer.data(), buffer.size(), 0);
  const std::string message(buffer.data(), size > 0 ? static_cast<size_t>(size) : 0);
  if (message == kReady) return pid;
  return failure(message.empty() ? "the process of a node has ended" : message);
}

Done enter_node(size_t number) {
  const pid_t pid = kFirstNode + static_cast<pid_t>(number);
  std::error_code failed;
  const auto directory = std::filesystem::current_path(failed);
  // The mount namespace comes last: the paths of the others are in this one.
  std::array<FileDescriptor, 4> namespaces;
  constexpr std::array kNames{"net", "ipc", "uts", "mnt"};
  for (size_t i = 0; i < kNames.size(); ++i) {
    const std::string path = fmt::format("/proc/{}/ns/{}", pid, kNames[i]);
    namespaces[i] = FileDescriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!namespaces[i]) return system_failure("cannot enter the node: " + path);
  }
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (setns(namespaces[i].get(), 0) != 0) {
      return system_failure(fmt::format("cannot enter the node's {} namespace", kNames[i]));
    }
  }
  if (chdir(directory.c_str()) != 0 && chdir("/") != 0) return system_failure("chdir()");
  if (const std::string faults = read_faults(); !faults.empty()) {
    setenv("URXE_FAULTS", faults.c_str(), 1);
  }
  return {};
}

std::vector<std::string> read_node_names() {
  const char* const value = std::getenv(kNodesVariable);
  const std::string text = value != nullptr ? value : "";
  std::vector<std::string> names;
  for (size_t start = 0; start < text.size();) {
    const size_t end = std::min(text.find(',', start), text.size());
    names.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return names;
}

}  // namespace urxe::lab

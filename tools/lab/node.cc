// SPDX-License-Identifier: BSD-2-Clause
#include "tools/lab/node.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <filesystem>

#include "packet/host/file_descriptor.h"
#include "tools/lab/mounts.h"
#include "tools/lab/user_namespace.h"

namespace urxe::lab {
namespace {

constexpr int kOwnedByNode = CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS;
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

std::string read_variable(const char* variable) {
  const char* const value = std::getenv(variable);
  return value != nullptr ? value : "";
}

/// The words that commas separate.
std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> words;
  for (size_t start = 0; start < text.size();) {
    const size_t end = std::min(text.find(',', start), text.size());
    words.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return words;
}

/// 0: it is none.
pid_t parse_pid(const std::string& word) {
  pid_t pid = 0;
  const char* const end = word.data() + word.size();
  const auto [stopped, error] = std::from_chars(word.data(), end, pid);
  return error == std::errc() && stopped == end && pid > 0 ? pid : 0;
}

[[noreturn]] void hold(const Node& node, int tell) {
  // A terminal's signals are for init and COMMAND; the kernel kills this process with init.
  for (const int signal : {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGTSTP}) ::signal(signal, SIG_IGN);
  const Done done = make_node(node);
  const std::string message = done ? kReady : done.error();
  (void)send(tell, message.data(), message.size(), MSG_NOSIGNAL);
  close(tell);
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

Done enter_node(pid_t holder) {
  std::error_code failed;
  const auto directory = std::filesystem::current_path(failed);
  // The mount namespace comes last: the paths of the others are in this one.
  std::array<FileDescriptor, 4> namespaces;
  constexpr std::array kNames{"net", "ipc", "uts", "mnt"};
  for (size_t i = 0; i < kNames.size(); ++i) {
    const std::string path = fmt::format("/proc/{}/ns/{}", holder, kNames[i]);
    namespaces[i] = FileDescriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!namespaces[i]) return system_failure("cannot enter the node: " + path);
  }
  // The kernel lets nobody into a mount namespace who shares the working directory with another
  // thread. A sanitizer's run-time library has one in every process that was forked.
  if (unshare(CLONE_FS) != 0) return system_failure("unshare(CLONE_FS)");
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

void publish_nodes(const std::vector<HeldNode>& nodes) {
  std::string names;
  std::string holders;
  for (const HeldNode& node : nodes) {
    const char* const comma = names.empty() ? "" : ",";
    names += comma + node.name;
    holders += comma + std::to_string(node.holder);
  }
  setenv(kNodesVariable, names.c_str(), 1);
  setenv(kHoldersVariable, holders.c_str(), 1);
}

std::vector<std::string> shm_of_nodes() {
  std::vector<std::string> places;
  for (const HeldNode& node : read_nodes()) {
    places.push_back(fmt::format("/proc/{}/root/dev/shm", node.holder));
  }
  return places;
}

std::vector<HeldNode> read_nodes() {
  return parse_nodes(read_variable(kNodesVariable), read_variable(kHoldersVariable));
}

std::vector<HeldNode> parse_nodes(const std::string& names_text, const std::string& holders_text) {
  const std::vector<std::string> names = split_list(names_text);
  const std::vector<std::string> holders = split_list(holders_text);
  if (names.size() != holders.size()) return {};
  std::vector<HeldNode> nodes;
  for (size_t i = 0; i < names.size(); ++i) {
    nodes.push_back({names[i], parse_pid(holders[i])});
    if (nodes.back().holder == 0) return {};
  }
  return nodes;
}

}  // namespace urxe::lab

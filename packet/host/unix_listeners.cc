// SPDX-License-Identifier: BSD-2-Clause
#include "packet/host/unix_listeners.h"

#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <span>
#include <string_view>

#include "packet/host/file_descriptor.h"
#include "packet/host/netlink_request.h"

// Since Linux 5.3; Debian 12's headers have them.
static_assert(UDIAG_SHOW_UID != 0 && UNIX_DIAG_UID != 0);

namespace urxe {
namespace {

constexpr size_t kAnswerBytes = size_t{1} << 16;

bool ask_for_listeners(int fd) {
  struct {
    nlmsghdr head;
    unix_diag_req request;
  } message{};
  message.head.nlmsg_len = sizeof message;
  message.head.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  message.head.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  message.request.sdiag_family = AF_UNIX;
  message.request.udiag_states = 1U << TCP_LISTEN;
  message.request.udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_UID;
  return send(fd, &message, sizeof message, MSG_DONTWAIT) == static_cast<ssize_t>(sizeof message);
}

/// Collects the listeners of one user.
class Collector {
 public:
  Collector(std::string_view prefix, uid_t user) : prefix_(prefix), user_(user) {}

  /// Returns false when there are no more messages, or the kernel refuses.
  bool take(std::span<const uint8_t> received) {
    nlmsghdr head{};
    while (received.size() >= sizeof head) {
      std::memcpy(&head, received.data(), sizeof head);
      if (head.nlmsg_len < sizeof head || head.nlmsg_len > received.size()) return false;
      if (head.nlmsg_type == NLMSG_DONE) is_complete_ = true;
      if (head.nlmsg_type == NLMSG_DONE || head.nlmsg_type == NLMSG_ERROR) return false;
      add(received.subspan(sizeof head, head.nlmsg_len - sizeof head));
      received = received.subspan(std::min<size_t>(NLMSG_ALIGN(head.nlmsg_len), received.size()));
    }
    return true;
  }
  [[nodiscard]] bool is_complete() const { return is_complete_; }
  std::vector<UnixListener> listeners;

 private:
  void add(std::span<const uint8_t> body) {
    constexpr size_t kSkip = NLMSG_ALIGN(sizeof(unix_diag_msg));
    if (body.size() < kSkip) return;
    const auto name = find_attribute(body.subspan(kSkip), UNIX_DIAG_NAME);
    const std::string_view text(reinterpret_cast<const char*>(name.data()), name.size());
    if (text.empty() || text[0] != '\0' || !text.substr(1).starts_with(prefix_)) return;
    const auto owner = find_attribute(body.subspan(kSkip), UNIX_DIAG_UID);
    std::optional<uid_t> user;
    if (owner.size() == sizeof(uid_t)) std::memcpy(&user.emplace(), owner.data(), sizeof(uid_t));
    if (user && *user != user_) return;
    listeners.push_back({std::string(text.substr(1)), user});
  }

  std::string_view prefix_;
  uid_t user_;
  bool is_complete_ = false;
};

/// nullopt: the kernel cannot be asked.
std::optional<std::vector<UnixListener>> ask_kernel(const std::string& prefix, uid_t user) {
  const FileDescriptor fd(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  if (!fd || !ask_for_listeners(fd.get())) return std::nullopt;
  Collector found(prefix, user);
  std::vector<uint8_t> buffer(kAnswerBytes);
  for (bool more = true; more;) {
    const ssize_t size = recv(fd.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (size <= 0) break;
    more = found.take({buffer.data(), static_cast<size_t>(size)});
  }
  if (!found.is_complete()) return std::nullopt;
  return std::move(found.listeners);
}

std::vector<UnixListener> read_proc(const std::string& prefix) {
  std::vector<UnixListener> listeners;
  std::ifstream sockets("/proc/thread-self/net/unix");
  for (std::string line; std::getline(sockets, line);) {
    const size_t at = line.rfind(" @" + prefix);
    if (at != std::string::npos) listeners.push_back({line.substr(at + 2), std::nullopt});
  }
  return listeners;
}

}  // namespace

std::vector<UnixListener> list_unix_listeners(const std::string& prefix, uid_t user) {
  auto found = ask_kernel(prefix, user);
  return found ? *std::move(found) : read_proc(prefix);
}

}  // namespace urxe

// SPDX-License-Identifier: BSD-2-Clause
#include "packet/sharing/directory/beacon.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cinttypes>
#include <cstddef>
#include <cstdio>
#include <span>
#include <string_view>
#include <utility>

#include "packet/host/clock.h"
#include "packet/host/descriptor_message.h"
#include "packet/host/random.h"
#include "packet/host/unix_listeners.h"

namespace urxe {
namespace {

constexpr std::string_view kPrefix = "urxe/";
constexpr int kBacklog = 64;
/// As many as the queue holds: epoll would not report those left in it again.
constexpr int kAnswersAtOnce = kBacklog + 1;
constexpr Duration kDirectoryTime = seconds(1);  ///< the longest that an answer may take
constexpr std::array<uint8_t, 1> kOneByte{};  ///< a message without bytes would look like the end

struct AbstractName {
  explicit AbstractName(std::string_view text) {
    address.sun_family = AF_UNIX;
    const size_t used = std::min(text.size(), sizeof address.sun_path - 1);
    std::copy_n(text.data(), used, address.sun_path + 1);
    size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + used);
  }
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
  sockaddr_un address{};
  socklen_t size = 0;
};

FileDescriptor open_socket() {
  return FileDescriptor(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

/// Whether an answer comes in time, whatever signals come meanwhile.
bool becomes_readable(int fd) {
  const Instant end = clock_now() + kDirectoryTime;
  for (Duration left = kDirectoryTime; left > Duration{}; left = end - clock_now()) {
    pollfd wait{fd, POLLIN, 0};
    const timespec time{left.ns / 1'000'000'000, left.ns % 1'000'000'000};
    const int ready = ppoll(&wait, 1, &time, nullptr);
    if (ready >= 0 || errno != EINTR) return ready == 1;
  }
  return false;
}

}  // namespace

Beacon::Beacon(int directory, const std::string& directory_name, uid_t user)
    : directory_(directory), user_(user), fd_(open_socket()) {
  char number[20];
  std::snprintf(number, sizeof number, "/%016" PRIx64, random_number());
  const AbstractName name(std::string(kPrefix) + directory_name + number);
  if (!fd_ || bind(fd_.get(), name.get(), name.size) != 0 || listen(fd_.get(), kBacklog) != 0) {
    fd_.reset();
  }
}

void Beacon::answer() const {
  for (int i = 0; i < kAnswersAtOnce; ++i) {
    const FileDescriptor peer(accept4(fd_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!peer) return;
    if (!is_peer_of_user(peer.get(), user_)) continue;
    (void)send_message(peer.get(), kOneByte, std::span(&directory_, 1));
  }
}

std::vector<BeaconLink> find_beacons(const std::string& prefix, uid_t user, size_t most,
                                     const std::string& except) {
  std::vector<BeaconLink> links;
  for (const UnixListener& listener : list_unix_listeners(std::string(kPrefix) + prefix, user)) {
    std::string directory = listener.name.substr(kPrefix.size());
    directory.resize(std::min(directory.find('/'), directory.size()));
    const auto found = std::ranges::count(links, directory, &BeaconLink::directory_name);
    if (directory == except || static_cast<size_t>(found) >= most) continue;
    FileDescriptor fd = open_socket();
    const AbstractName name(listener.name);
    const bool connected = fd && connect(fd.get(), name.get(), name.size) == 0;
    // A stranger may keep its backlog full. The kernel has said whose it is.
    const bool is_full = fd && !connected && errno == EAGAIN && listener.user == user;
    if (is_full) fd.reset();
    if (is_full || (connected && is_peer_of_user(fd.get(), user))) {
      links.push_back({std::move(directory), std::move(fd)});
    }
  }
  return links;
}

Expected<FileDescriptor, Errno> receive_directory(const BeaconLink& link) {
  if (!link.socket || !becomes_readable(link.socket.get())) return error(ETIMEDOUT);
  uint8_t byte = 0;
  auto message = receive_message(link.socket.get(), {&byte, 1});
  if (!message) return Unexpected<Errno>(message.error());
  if (!message->descriptors[0]) return error(ETIMEDOUT);
  return std::move(message->descriptors[0]);
}

}  // namespace urxe

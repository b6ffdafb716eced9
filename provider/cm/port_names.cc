// SPDX-License-Identifier: BSD-2-Clause
#include "provider/cm/port_names.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdio>
#include <cstring>

namespace urxe::cm {
namespace {

constexpr int kLockAttempts = 2500;
constexpr timespec kLockPause{0, 200000};
constexpr char kAllIpv4[] = "0.0.0.0";
constexpr char kAll[] = "::";
constexpr char kAllIpv6[] = "::+only";

// Families that an address is of.
constexpr unsigned kIpv4 = 1;
constexpr unsigned kIpv6 = 2;

std::string prefix(PortSpace space) {
  char text[48];
  std::snprintf(text, sizeof text, "urxe/%u/port/%x/", geteuid(), static_cast<unsigned>(space));
  return text;
}

/// What stands after `start` in a line of /proc/net/unix.
std::optional<PortHolder> parse_after(std::string_view start, std::string_view line) {
  const size_t at = line.find(start);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view name = line.substr(at + start.size());
  PortHolder holder;
  const char* const end = name.data() + name.size();
  const auto [after_port, wrong] = std::from_chars(name.data(), end, holder.port);
  if (wrong != std::errc() || after_port == end || *after_port != '/') return std::nullopt;
  name.remove_prefix(static_cast<size_t>(after_port - name.data()) + 1);
  const size_t slash = name.find('/');
  holder.address = name.substr(0, slash);
  holder.may_share = slash != std::string_view::npos;
  if (holder.port == 0 || holder.address.empty() || holder.address == "lock") return std::nullopt;
  return holder;
}

std::string holder_name(PortSpace space, const PortHolder& holder) {
  std::string name = prefix(space) + std::to_string(holder.port) + "/" + holder.address;
  if (!holder.may_share) return name;
  uint64_t number = 0;
  if (getrandom(&number, sizeof number, GRND_NONBLOCK) != sizeof number) {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    number = static_cast<uint64_t>(now.tv_nsec) << 32 | static_cast<uint32_t>(getpid());
  }
  return name + "/" + std::to_string(number);
}

struct Abstract {
  sockaddr_un address{};
  socklen_t size = 0;

  explicit Abstract(const std::string& name) {
    address.sun_family = AF_UNIX;
    // The null byte before it makes it abstract; it has no end but its length.
    const size_t length = std::min(name.size(), sizeof address.sun_path - 1);
    std::memcpy(address.sun_path + 1, name.data(), length);
    size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  }
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

Expected<FileDescriptor, Errno> bind_abstract(const std::string& name) {
  FileDescriptor fd(socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return error(errno);
  const Abstract abstract(name);
  if (bind(fd.get(), abstract.get(), abstract.size) != 0) return error(errno);
  return fd;
}

bool is_all(const std::string& address) {
  return address == kAllIpv4 || address == kAll || address == kAllIpv6;
}

unsigned families_of(const std::string& address) {
  if (address == kAll) return kIpv4 | kIpv6;
  return address.find(':') == std::string::npos ? kIpv4 : kIpv6;
}

std::string read_unix_sockets() {
  // The thread's, not the process's: network namespaces are threads'.
  FileDescriptor file(open("/proc/thread-self/net/unix", O_RDONLY | O_CLOEXEC));
  std::string text;
  char buffer[16384];
  for (;;) {
    const ssize_t size = file ? read(file.get(), buffer, sizeof buffer) : 0;
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return text;
    text.append(buffer, static_cast<size_t>(size));
  }
}

}  // namespace

std::string address_in_name(const Address& address, bool af_only) {
  if (address.is_any()) {
    if (address.family() == AF_INET) return kAllIpv4;
    return af_only ? kAllIpv6 : kAll;
  }
  std::string text = address.gid().to_string();
  if (address.is_link_local()) text += "%" + std::to_string(address.scope_id());
  return text;
}

bool conflict(const PortHolder& a, const PortHolder& b) {
  if (a.may_share && b.may_share) return false;
  if ((families_of(a.address) & families_of(b.address)) == 0) return false;
  return is_all(a.address) || is_all(b.address) || a.address == b.address;
}

Expected<FileDescriptor, Errno> bind_name(PortSpace space, const PortHolder& holder) {
  return bind_abstract(holder_name(space, holder));
}

Expected<FileDescriptor, Errno> lock_port(PortSpace space, uint16_t port) {
  const std::string name = prefix(space) + std::to_string(port) + "/lock";
  for (int attempt = 0;; ++attempt) {
    auto lock = bind_abstract(name);
    if (lock || lock.error().value != EADDRINUSE || attempt == kLockAttempts) return lock;
    nanosleep(&kLockPause, nullptr);
  }
}

bool is_held_on_all_addresses(PortSpace space, uint16_t port) {
  FileDescriptor fd(socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return false;
  for (const char* address : {kAllIpv4, kAll, kAllIpv6}) {
    const Abstract abstract(prefix(space) + std::to_string(port) + "/" + address);
    if (connect(fd.get(), abstract.get(), abstract.size) == 0) return true;
  }
  return false;
}

std::vector<PortHolder> list_holders(PortSpace space) {
  const std::string text = read_unix_sockets();
  const std::string start = " @" + prefix(space);  // one system call for all lines
  std::string_view rest = text;
  std::vector<PortHolder> holders;
  while (!rest.empty()) {
    const size_t end = rest.find('\n');
    if (auto holder = parse_after(start, rest.substr(0, end))) {
      holders.push_back(*std::move(holder));
    }
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  return holders;
}

std::optional<PortHolder> parse_holder(PortSpace space, std::string_view line) {
  return parse_after(" @" + prefix(space), line);
}

}  // namespace urxe::cm

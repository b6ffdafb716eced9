// SPDX-License-Identifier: BSD-2-Clause
#include "provider/umad/umad_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "provider/cm/files/cm_file.h"

namespace urxe::umad {
namespace {

/// Room for some thirty datagrams. What is not read waits with the device, where each sender has a
/// share.
constexpr int kSendBuffer = 32768;

static_assert(sizeof(ib_user_mad_hdr) == 64 && sizeof(ib_user_mad_hdr_old) == 56);
static_assert(offsetof(ib_user_mad_hdr, pkey_index) == sizeof(ib_user_mad_hdr_old));

bool set_flags(int fd, int open_flags) {
  if ((open_flags & O_CLOEXEC) == 0 && fcntl(fd, F_SETFD, 0) != 0) return false;
  return (open_flags & O_NONBLOCK) == 0 || fcntl(fd, F_SETFL, O_NONBLOCK) == 0;
}

short events_of(int fd, short wanted) {
  pollfd one{fd, wanted, 0};
  return poll(&one, 1, 0) == 1 ? one.revents : short{0};
}

}  // namespace

Expected<std::shared_ptr<UmadFile>, Errno> UmadFile::create(std::string device, int open_flags,
                                                            int* application_fd) {
  int fds[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0) return error(errno);
  FileDescriptor application(fds[0]);
  FileDescriptor own(fds[1]);
  setsockopt(own.get(), SOL_SOCKET, SO_SNDBUF, &kSendBuffer, sizeof kSendBuffer);
  const ino_t inode = CmFile::socket_inode(application.get());
  if (inode == 0 || !set_flags(application.get(), open_flags)) return error(ENOMEM);
  std::shared_ptr<UmadFile> made(new (std::nothrow)
                                     UmadFile(std::move(device), std::move(own), inode));
  if (!made) return error(ENOMEM);
  *application_fd = application.release();
  return made;
}

UmadFile::UmadFile(std::string device, FileDescriptor own_fd, ino_t inode)
    : device_(std::move(device)),
      own_fd_(std::move(own_fd)),
      inode_(inode),
      header_bytes_(sizeof(ib_user_mad_hdr_old)) {}

Expected<void, Errno> UmadFile::enable_pkey_index() {
  if (is_used_) return error(EINVAL);
  header_bytes_.store(sizeof(ib_user_mad_hdr));
  return {};
}

Expected<uint32_t, Errno> UmadFile::add(const FileAgent& agent) {
  const auto free = std::ranges::find_if(agents_, [](const auto& one) { return !one; });
  if (free == agents_.end()) return error(ENOMEM);
  *free = agent;
  is_used_ = true;
  return static_cast<uint32_t>(free - agents_.begin());
}

FileAgent* UmadFile::agent(uint32_t number) {
  return number < kMostAgents && agents_[number] ? &*agents_[number] : nullptr;
}

bool UmadFile::has_room() const {
  return (events_of(own_fd_.get(), POLLOUT) & POLLOUT) != 0;
}

bool UmadFile::is_closed() const {
  return (events_of(own_fd_.get(), 0) & (POLLHUP | POLLERR)) != 0;
}

void UmadFile::send(const ib_user_mad_hdr& header, std::span<const uint8_t> mad) {
  std::array<uint8_t, sizeof(ib_user_mad_hdr) + kMadBytes> bytes;
  const size_t before = header_bytes();
  ib_user_mad_hdr whole = header;
  // Linux does not say it of a request that got no response.
  if (header.status == 0) whole.length = static_cast<uint32_t>(before + mad.size());
  std::memcpy(bytes.data(), &whole, before);
  std::ranges::copy(mad, bytes.data() + before);
  (void)::send(own_fd_.get(), bytes.data(), before + mad.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

void UmadFile::end() {
  has_ended_ = true;
  shutdown(own_fd_.get(), SHUT_WR);  // own_fd() still tells when the application closes the file
}

}  // namespace urxe::umad

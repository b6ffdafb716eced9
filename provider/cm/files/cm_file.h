// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <list>
#include <memory>
#include <mutex>
#include <optional>

#include "packet/base/expected.h"
#include "packet/host/file_descriptor.h"
#include "provider/cm/files/user_cm.h"

namespace urxe {

/// An event on its way to an event channel.
struct CmFileEvent {
  rdma_ucm_event_resp response{};
  /// The id that the event is counted for; of a connection request: the listener.
  uint32_t owner = 0;
  uint32_t new_id = 0;  ///< of a connection request: the new id; else 0
};

/// An open file of /dev/infiniband/rdma_cm: an event channel of librdmacm. The application holds
/// one end of a stream socket pair, which like the kernel's file is readable while events wait and
/// never writable. The other end belongs to this object.
///
/// Each event sends a byte, so that edge-triggered polling reports each. If the socket is full of
/// unread bytes no more are sent, and it is readable anyway. The bytes cannot be taken back from
/// this end; settle() does that by the application's descriptor.
///
/// Thread-safe. Its lock is the innermost: nothing is called under it.
class CmFile {
 public:
  /// Events that may wait: as many as the ids of a process can have at once.
  static constexpr size_t kMaxWaiting = 65536;

  /// `open_flags`: flags of open(2), of which O_CLOEXEC and O_NONBLOCK count. The caller owns
  /// `application_fd`. EMFILE, ENFILE, ENOMEM.
  static Expected<std::shared_ptr<CmFile>, Errno> create(int open_flags, int* application_fd);
  ~CmFile();
  CmFile(const CmFile&) = delete;
  CmFile& operator=(const CmFile&) = delete;

  /// Never blocks. ENOMEM: no memory, or kMaxWaiting events wait already.
  Expected<void, Errno> post(const CmFileEvent& event);
  /// The oldest event; nullopt: none.
  std::optional<CmFileEvent> take();
  /// Takes back the unread events that are counted for `owner`, oldest first.
  std::list<CmFileEvent> take_back(uint32_t owner);
  /// Takes back the unread events for which `wanted(event)` is true, oldest first. It is called
  /// under the lock, and only looks at the event.
  template <class Wanted>
  std::list<CmFileEvent> take_back_if(Wanted wanted);
  /// Posts events that were taken back from another file, or from this one. Needs no memory.
  /// kMaxWaiting does not count here.
  void give(std::list<CmFileEvent> events);
  [[nodiscard]] size_t waiting() const;

  /// Makes the application's end unreadable if no event waits any more. Called after each command
  /// with the descriptor that the command was written to; a descriptor of another file is left
  /// alone. Until then the end may be readable without an event.
  void settle(int application_fd);

  /// Blocks until an event waits, unless the application's descriptor `application_fd` is
  /// non-blocking. EAGAIN; EINTR as from recv(2), so not for a handler with SA_RESTART; ENODEV: the
  /// file has been closed. Another thread may take the event first, so call settle() before the
  /// next wait. A cancellation point: the callers must let a forced unwinding pass.
  static Expected<void, Errno> wait(int application_fd);

  /// The inode of a socket; 0: not a socket, or not open. Bypasses a preloaded fstat(). Keeps
  /// errno.
  static ino_t socket_inode(int fd);

  /// Identifies the file under any of its descriptors.
  [[nodiscard]] ino_t application_inode() const { return inode_; }
  /// Hangs up (EPOLLHUP) when the application has closed its last descriptor. Watch it for that
  /// alone: it may be readable.
  [[nodiscard]] int own_fd() const { return own_fd_.get(); }

 private:
  CmFile(FileDescriptor own_fd, ino_t inode);
  bool send_token_locked();

  const FileDescriptor own_fd_;
  const ino_t inode_;
  // Nothing is freed while it is held: a thread that frees memory may wait for the holder of a
  // device's lock, which may wait for this mutex.
  mutable std::mutex mutex_;
  std::list<CmFileEvent> events_;
  bool is_readable_ = false;  ///< tokens have been sent and not been taken back
};

template <class Wanted>
std::list<CmFileEvent> CmFile::take_back_if(Wanted wanted) {
  std::list<CmFileEvent> taken;
  std::lock_guard lock(mutex_);
  for (auto one = events_.begin(); one != events_.end();) {
    const auto next = std::next(one);
    if (wanted(*one)) taken.splice(taken.end(), events_, one);
    one = next;
  }
  return taken;
}

}  // namespace urxe

// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <rdma/rdma_user_cm.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "packet/base/expected.h"
#include "packet/host/file_descriptor.h"

namespace urxe {

/// An event on its way to an event channel.
struct CmFileEvent {
  rdma_ucm_event_resp response{};
  uint32_t owner =
      0;  ///< the id that the event is counted for; of a connection request: the listener
  uint32_t new_id = 0;  ///< of a connection request: the id that comes with it; else 0
};

/// One open file of /dev/infiniband/rdma_cm: an event channel of librdmacm. The application holds
/// one end of a stream socket pair, which is readable while events wait and never writable, as the
/// kernel's file; this end belongs to the object.
///
/// Each event sends a byte, so that an edge-triggered poller is told of each; a socket that is full
/// of unread ones takes no more, and is readable anyhow. The bytes cannot be taken back from this
/// end: settle() does it where the application's descriptor is at hand.
///
/// Thread-safe. Its lock is the innermost: nothing is called under it.
class CmFile {
 public:
  /// Events that may wait: enough for what ids of one process can have coming at once.
  static constexpr size_t kMaxWaiting = 65536;

  /// `open_flags`: what of open(2)'s flags matters (O_CLOEXEC, O_NONBLOCK). The caller takes over
  /// `application_fd`. EMFILE, ENFILE, ENOMEM.
  static Expected<std::shared_ptr<CmFile>, Errno> create(int open_flags, int* application_fd);
  ~CmFile();
  CmFile(const CmFile&) = delete;
  CmFile& operator=(const CmFile&) = delete;

  /// Never blocks. ENOMEM where it cannot be kept: no memory, or kMaxWaiting wait.
  Expected<void, Errno> post(const CmFileEvent& event);
  /// The oldest event; nullopt: none.
  std::optional<CmFileEvent> take();
  /// Takes back what is counted for `owner` and was not read, oldest first.
  std::vector<CmFileEvent> take_back(uint32_t owner);
  [[nodiscard]] size_t waiting() const;

  /// Makes the application's end unreadable where no event waits any more. To be called with the
  /// descriptor that a command came by once the command has been carried out; a descriptor of
  /// another file is left alone. Until then the end may be readable without an event.
  void settle(int application_fd);

  /// Blocks until an event waits, unless the application has made its descriptor `application_fd`
  /// non-blocking. EAGAIN; EINTR (as recv(2) would: a handler with SA_RESTART does not interrupt);
  /// ENODEV where the file is no more. Another thread may take the event before the caller does,
  /// and it may have been taken already: settle() before the next call. A cancellation point: the
  /// callers must let a forced unwinding pass.
  static Expected<void, Errno> wait(int application_fd);

  /// The inode of a descriptor's socket; 0: it is none, or not open. Bypasses what may stand in
  /// front of fstat(). errno is left alone.
  static ino_t socket_inode(int fd);

  /// Tells the file from others, whatever number its descriptor has.
  [[nodiscard]] ino_t application_inode() const { return inode_; }
  /// Hung up (EPOLLHUP) once no descriptor of the application's end is open any more. To be watched
  /// for that alone: it may be readable.
  [[nodiscard]] int own_fd() const { return own_fd_.get(); }

 private:
  CmFile(FileDescriptor own_fd, ino_t inode);
  bool send_token_locked();

  const FileDescriptor own_fd_;
  const ino_t inode_;
  mutable std::mutex mutex_;
  std::deque<CmFileEvent> events_;
  bool is_readable_ = false;  ///< tokens have been sent and not been taken back
};

}  // namespace urxe

// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <rdma/rdma_user_cm.h>
#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "packet/base/expected.h"
#include "packet/engine/file_descriptor.h"

namespace urxe {

/// An event on its way to an event channel.
struct CmFileEvent {
  rdma_ucm_event_resp response{};
  uint32_t owner =
      0;  ///< the id that the event is counted for; of a connection request: the listener
  uint32_t new_id = 0;  ///< of a connection request: the id that comes with it; else 0
};

/// One open file of /dev/infiniband/rdma_cm: an event channel of librdmacm. The application holds
/// one end of a socket pair, readable while events wait; this end belongs to the object.
///
/// Not thread-safe, but for wait() and application_inode().
class CmFile {
 public:
  /// `open_flags`: what of open(2)'s flags matters (O_CLOEXEC, O_NONBLOCK). The caller takes over
  /// `application_fd`. EMFILE, ENFILE, ENOMEM.
  static Expected<std::shared_ptr<CmFile>, Errno> create(int open_flags, int* application_fd);
  ~CmFile();
  CmFile(const CmFile&) = delete;
  CmFile& operator=(const CmFile&) = delete;

  /// ENOMEM where it cannot be kept.
  Expected<void, Errno> post(CmFileEvent event);
  /// The oldest event; nullopt: none.
  std::optional<CmFileEvent> take();
  /// Takes back what is counted for `owner` and was not read, oldest first.
  std::vector<CmFileEvent> take_back(uint32_t owner);
  [[nodiscard]] size_t waiting() const { return events_.size(); }

  /// Blocks until an event waits, unless the application has made its descriptor `application_fd`
  /// non-blocking. EAGAIN, EINTR (as recv(2) would: a handler with SA_RESTART does not interrupt).
  /// Another thread may take the event before the caller does.
  static Expected<void, Errno> wait(int application_fd);

  /// Tells the file from others, whatever number its descriptor has.
  [[nodiscard]] ino_t application_inode() const { return inode_; }
  /// Hung up (EPOLLHUP) once no descriptor of the application's end is open any more.
  [[nodiscard]] int own_fd() const { return own_fd_.get(); }

 private:
  CmFile(FileDescriptor own_fd, ino_t inode);

  FileDescriptor own_fd_;
  ino_t inode_;
  std::deque<CmFileEvent> events_;
};

}  // namespace urxe

// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/capture_writer.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <utility>

#include "packet/base/bytes.h"
#include "packet/engine/capture_record.h"
#include "packet/host/file_size.h"
#include "packet/host/guarded_open.h"
#include "packet/host/stderr_line.h"
#include "packet/host/uncancelled.h"

namespace urxe {
namespace {

/// Every block of pcapng begins with its type and its length, and ends with its length.
constexpr uint64_t kBlockBegin = 8;
constexpr uint64_t kLengthBytes = 4;
constexpr uint64_t kLeastBlock = kBlockBegin + kLengthBytes;
constexpr const char* kOfAnotherUser = "belongs to another user";
/// Far more than any packet needs.
constexpr uint64_t kMostBlock = uint64_t{1} << 20;

bool read_at(int fd, uint64_t offset, std::span<uint8_t> bytes) {
  const ssize_t got = pread(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
  return got == static_cast<ssize_t>(bytes.size());
}

/// The length that is stored at `offset`; nullopt: no block has it, or it cannot be read.
std::optional<uint64_t> length_at(int fd, uint64_t offset) {
  std::array<uint8_t, kLengthBytes> bytes{};
  if (!read_at(fd, offset, bytes)) return std::nullopt;
  const uint64_t length = load_le32(bytes.data());
  if (length < kLeastBlock || length > kMostBlock || length % 4 != 0) return std::nullopt;
  return length;
}

/// Whether the last bytes are a record that append_capture_record() has made. Payload that looks
/// like one would have to end where the file ends.
bool ends_with_record(int fd, uint64_t size) {
  const auto length = length_at(fd, size - kLengthBytes);
  if (!length || *length < kCaptureRecordOverhead) return false;
  if (*length > size - kCaptureHeaderBytes) return false;
  std::array<uint8_t, kCaptureRecordBegin> begin{};
  std::array<uint8_t, kCaptureRecordEnd> end{};
  return read_at(fd, size - *length, begin) && read_at(fd, size - kCaptureRecordEnd, end) &&
         is_capture_record(begin, end);
}

/// Goes from block to block.
std::optional<uint64_t> walk_to_end(int fd, uint64_t size) {
  uint64_t at = kCaptureHeaderBytes;
  while (size - at >= kBlockBegin) {
    const auto length = length_at(fd, at + kLengthBytes);
    if (!length) return std::nullopt;
    if (*length > size - at) return at;
    if (length_at(fd, at + *length - kLengthBytes) != length) return std::nullopt;
    at += *length;
  }
  return at;
}

/// The end of the last whole record of a capture of `size` bytes that begins with capture_header().
/// It is less than `size` if the last record was not written whole, because the disk was full or
/// because the process was killed. nullopt: the file is damaged before its end, or cannot be read.
std::optional<uint64_t> find_capture_end(int fd, uint64_t size) {
  if (size == kCaptureHeaderBytes || ends_with_record(fd, size)) return size;
  return walk_to_end(fd, size);
}

EngineError failed(int errno_value, const std::string& path, const std::string& what) {
  return {errno_value, "capture file " + path + ": " + what};
}

EngineError failed_call(const std::string& path, const char* call) {
  const int errno_value = errno;
  return failed(errno_value, path, std::string(call) + ": " + std::strerror(errno_value));
}

// Anyone who may read the file can lock it. So nobody waits for a lock without a limit: 3 s are
// enough for a program that looks for the end of a large file.
constexpr int kLockAttempts = 300;
constexpr useconds_t kLockPauseUs = 10000;

/// EBUSY instead of EWOULDBLOCK, which is EAGAIN and would be taken for a lack of threads.
EngineError lock_failure(int errno_value, const std::string& path) {
  if (errno_value != EWOULDBLOCK) {
    return failed(errno_value, path, std::string("flock: ") + std::strerror(errno_value));
  }
  return failed(EBUSY, path,
                "another program has locked it (flock): name another file, or find that program "
                "with lslocks");
}

/// Takes the lock on the file, LOCK_EX or LOCK_SH. Returns an errno; 0: it is taken.
int lock(int fd, int operation, int attempts) {
  while (flock(fd, operation | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK || --attempts == 0) return errno;
    usleep(kLockPauseUs);
  }
  return 0;
}

/// While it lives, a write of this thread that would exceed the limit on the size of files only
/// fails: SIGXFSZ, which ends a process, is held back and taken away. The size cannot be checked
/// before, because others append to the file, too.
class HeldSizeSignal {
 public:
  HeldSizeSignal() {
    if (may_grow_file_to(UINT64_MAX)) return;
    sigemptyset(&signal_);
    sigaddset(&signal_, SIGXFSZ);
    is_held_ =
        pthread_sigmask(SIG_BLOCK, &signal_, &before_) == 0 && sigismember(&before_, SIGXFSZ) == 0;
  }
  ~HeldSizeSignal() {
    if (!is_held_) return;
    const Uncancelled uncancelled;
    const timespec now{};
    while (sigtimedwait(&signal_, nullptr, &now) < 0 && errno == EINTR) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  HeldSizeSignal(const HeldSizeSignal&) = delete;
  HeldSizeSignal& operator=(const HeldSizeSignal&) = delete;

 private:
  sigset_t signal_{};
  sigset_t before_{};
  bool is_held_ = false;
};

/// The file from now on is the user's alone.
Expected<void, EngineError> write_header(int fd, const std::string& path) {
  const auto header = capture_header();
  if (fchmod(fd, 0600) != 0) return Unexpected<EngineError>(failed_call(path, "fchmod"));
  const ssize_t written = write(fd, header.data(), header.size());
  if (written == static_cast<ssize_t>(header.size())) return {};
  if (written >= 0) errno = ENOSPC;
  auto error = failed_call(path, "write");
  // Half a header would be refused for ever.
  [[maybe_unused]] const int result = ftruncate(fd, 0);
  return Unexpected<EngineError>(std::move(error));
}

/// Nobody else writes to the file: cuts off a record at its end that was not written whole. What is
/// appended behind one could not be read.
Expected<void, EngineError> cut_partial_record(int fd, const std::string& path, uint64_t size) {
  const auto end = find_capture_end(fd, size);
  if (!end) {
    return Unexpected<EngineError>(failed(EEXIST, path,
                                          "is damaged; it is left as it is: remove it or name "
                                          "another file"));
  }
  if (*end == size || ftruncate(fd, static_cast<off_t>(*end)) == 0) return {};
  return Unexpected<EngineError>(failed_call(path, "ftruncate"));
}

Expected<struct stat, EngineError> check_kind(int fd, const std::string& path) {
  struct stat status {};
  if (fstat(fd, &status) != 0) return Unexpected<EngineError>(failed_call(path, "fstat"));
  if (S_ISREG(status.st_mode)) return status;
  return Unexpected<EngineError>(failed(EINVAL, path, "not a regular file"));
}

/// Refuses a file that is neither empty nor a capture.
Expected<struct stat, EngineError> check_content(int fd, const std::string& path) {
  auto status = check_kind(fd, path);
  if (!status || status->st_size == 0) return status;
  std::array<uint8_t, kCaptureHeaderBytes> found{};
  const ssize_t got = pread(fd, found.data(), found.size(), 0);
  if (got < 0) return Unexpected<EngineError>(failed_call(path, "read"));
  if (got == static_cast<ssize_t>(found.size()) && found == capture_header()) return status;
  return Unexpected<EngineError>(
      failed(EEXIST, path,
             "exists and is not a capture made by urxe; it is left as it is: remove it or name "
             "another file"));
}

/// Writes the header to an empty file; checks that any other file begins with that header. `alone`:
/// nobody else writes to it.
Expected<void, EngineError> begin_or_join(int fd, const std::string& path, bool alone) {
  auto status = check_content(fd, path);
  if (!status) return Unexpected<EngineError>(std::move(status.error()));
  if (status->st_uid != geteuid()) {
    return Unexpected<EngineError>(failed(EACCES, path, kOfAnotherUser));
  }
  if (status->st_size == 0) return write_header(fd, path);
  if (!alone) return {};
  return cut_partial_record(fd, path, static_cast<uint64_t>(status->st_size));
}

/// Whoever writes holds a shared lock, so the holder of an exclusive one is alone.
Expected<void, EngineError> begin_or_join_locked(int fd, const std::string& path) {
  int error = lock(fd, LOCK_EX, 1);
  const bool alone = error == 0;
  // The holder of an exclusive lock is about to begin the capture.
  if (error == EWOULDBLOCK) error = lock(fd, LOCK_SH, kLockAttempts);
  if (error != 0) return Unexpected<EngineError>(lock_failure(error, path));
  if (auto begun = begin_or_join(fd, path, alone); !begun || !alone) return begun;
  error = lock(fd, LOCK_SH, kLockAttempts);
  if (error != 0) return Unexpected<EngineError>(lock_failure(error, path));
  return {};
}

/// Returns how much was written, or -errno.
ssize_t write_within_limit(int fd, std::span<const uint8_t> bytes) {
  const HeldSizeSignal held;
  const ssize_t written = uncancelled::write(fd, bytes.data(), bytes.size());
  return written < 0 ? -errno : written;
}

}  // namespace

Expected<void, EngineError> check_capture_file(const std::string& path) {
  // To open a device could do something to it.
  auto opened = guarded_open(path, O_PATH);
  if (!opened) return {};
  auto status = check_kind(opened->get(), path);
  if (status && geteuid() != 0 && status->st_uid != geteuid()) {
    return Unexpected<EngineError>(failed(EACCES, path, kOfAnotherUser));
  }
  if (status) {
    opened = guarded_open(path, O_RDONLY | O_NONBLOCK);
    if (!opened) return {};
    status = check_content(opened->get(), path);
  }
  if (!status) return Unexpected<EngineError>(std::move(status.error()));
  return {};
}

Expected<CaptureWriter, EngineError> CaptureWriter::open(const std::string& path) {
  // O_NONBLOCK has no effect on a regular file; opening a FIFO must not wait for its other end.
  auto opened = guarded_open(path, O_RDWR | O_APPEND | O_CREAT | O_NOCTTY | O_NONBLOCK, 0600);
  if (!opened) {
    return Unexpected<EngineError>(failed(opened.error().errno_value, path, opened.error().what));
  }
  const int fd = opened->get();
  auto begun = begin_or_join_locked(fd, path);
  if (!begun) return Unexpected<EngineError>(std::move(begun.error()));
  return CaptureWriter(path, *std::move(opened));
}

void CaptureWriter::append(std::span<const uint8_t> records) {
  if (!is_on()) return;
  const ssize_t written = write_within_limit(fd_.get(), records);
  if (written == static_cast<ssize_t>(records.size())) return;
  stop(written < 0 ? std::strerror(static_cast<int>(-written)) : "no space for a whole record");
}

void CaptureWriter::stop(const char* why) {
  if (!on_.exchange(false)) return;
  flock(fd_.get(), LOCK_UN);
  write_stderr_line(
      {"urxe: capture file ", path_, ": ", why, "; capturing stops, traffic goes on\n"});
}

}  // namespace urxe

// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/capture_writer.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "packet/engine/capture_record.h"
#include "packet/host/guarded_open.h"
#include "packet/host/uncancelled.h"

namespace urxe {
namespace {

EngineError failed(int errno_value, const std::string& path, const std::string& what) {
  return {errno_value, "capture file " + path + ": " + what};
}

EngineError failed_call(const std::string& path, const char* call) {
  const int errno_value = errno;
  return failed(errno_value, path, std::string(call) + ": " + std::strerror(errno_value));
}

/// Writes the header to an empty file, which from then on is the user's alone; checks that any
/// other file begins with that header.
Expected<void, EngineError> begin_or_join(int fd, const std::string& path) {
  struct stat status {};
  if (fstat(fd, &status) != 0) return Unexpected<EngineError>(failed_call(path, "fstat"));
  if (!S_ISREG(status.st_mode)) {
    return Unexpected<EngineError>(failed(EINVAL, path, "not a regular file"));
  }
  if (status.st_uid != geteuid()) {
    return Unexpected<EngineError>(failed(EACCES, path, "belongs to another user"));
  }
  const auto header = capture_header();
  if (status.st_size == 0) {
    if (fchmod(fd, 0600) != 0) return Unexpected<EngineError>(failed_call(path, "fchmod"));
    const ssize_t written = write(fd, header.data(), header.size());
    if (written == static_cast<ssize_t>(header.size())) return {};
    if (written >= 0) errno = ENOSPC;
    return Unexpected<EngineError>(failed_call(path, "write"));
  }
  std::array<uint8_t, kCaptureHeaderBytes> found{};
  const ssize_t got = pread(fd, found.data(), found.size(), 0);
  if (got < 0) return Unexpected<EngineError>(failed_call(path, "read"));
  if (got != static_cast<ssize_t>(found.size()) || found != header) {
    return Unexpected<EngineError>(
        failed(EEXIST, path,
               "exists and is not a capture made by urxe; it is left as it is: remove it or name "
               "another file"));
  }
  return {};
}

}  // namespace

Expected<CaptureWriter, EngineError> CaptureWriter::open(const std::string& path) {
  // O_NONBLOCK has no effect on a regular file; opening a FIFO must not wait for its other end.
  auto opened = guarded_open(path, O_RDWR | O_APPEND | O_CREAT | O_NOCTTY | O_NONBLOCK, 0600);
  if (!opened) {
    return Unexpected<EngineError>(failed(opened.error().errno_value, path, opened.error().what));
  }
  const int fd = opened->get();
  while (flock(fd, LOCK_EX) != 0) {
    if (errno != EINTR) return Unexpected<EngineError>(failed_call(path, "flock"));
  }
  auto begun = begin_or_join(fd, path);
  flock(fd, LOCK_UN);
  if (!begun) return Unexpected<EngineError>(std::move(begun.error()));
  return CaptureWriter(path, *std::move(opened));
}

void CaptureWriter::append(std::span<const uint8_t> records) {
  if (!is_on()) return;
  const ssize_t written = uncancelled::write(fd_.get(), records.data(), records.size());
  if (written == static_cast<ssize_t>(records.size())) return;
  stop(written < 0 ? std::strerror(errno) : "no space for a whole record");
}

void CaptureWriter::stop(const char* why) {
  if (!on_.exchange(false)) return;
  const Uncancelled uncancelled;
  std::fprintf(stderr, "urxe: capture file %s: %s; capturing stops, traffic goes on\n",
               path_.c_str(), why);
}

}  // namespace urxe

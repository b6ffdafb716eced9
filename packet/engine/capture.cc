// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/capture.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <optional>
#include <utility>

#include "packet/engine/capture_record.h"
#include "packet/host/clock.h"
#include "packet/host/guarded_open.h"
#include "packet/wire/icrc.h"

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

Expected<std::unique_ptr<CaptureEngine>, EngineError> CaptureEngine::open(
    std::unique_ptr<PacketEngine> inner, const std::string& path) {
  // O_NONBLOCK has no effect on a regular file; opening a FIFO must not wait for its other end.
  auto opened = guarded_open(path, O_RDWR | O_APPEND | O_CREAT | O_NOCTTY | O_NONBLOCK, 0600);
  if (!opened) {
    return Unexpected<EngineError>(failed(opened.error().errno_value, path, opened.error().what));
  }
  const int fd = opened->release();
  std::unique_ptr<CaptureEngine> engine(new CaptureEngine(std::move(inner), path, fd));
  while (flock(fd, LOCK_EX) != 0) {
    if (errno != EINTR) return Unexpected<EngineError>(failed_call(path, "flock"));
  }
  auto begun = begin_or_join(fd, path);
  flock(fd, LOCK_UN);
  if (!begun) return Unexpected<EngineError>(std::move(begun.error()));
  return engine;
}

CaptureEngine::CaptureEngine(std::unique_ptr<PacketEngine> inner, std::string path, int fd)
    : ForwardingEngine(std::move(inner)), path_(std::move(path)), fd_(fd) {}

CaptureEngine::~CaptureEngine() {
  if (fd_ >= 0) close(fd_);
}

std::span<const RxPacket> CaptureEngine::receive() {
  const std::span<const RxPacket> packets = inner().receive();
  if (packets.empty() || fd_ < 0) return packets;
  record([&](uint64_t time_ns) {
    for (const RxPacket& packet : packets) add_received(packet, time_ns);
  });
  return packets;
}

void CaptureEngine::transmit(TxBatch& batch) {
  if (fd_ >= 0 && !batch.empty()) {
    record([&](uint64_t time_ns) {
      for (const TxBatch::Message& message : batch.messages()) add_sent(batch, message, time_ns);
    });
  }
  inner().transmit(batch);
}

TxBatch::Limits CaptureEngine::batch_limits() const {
  TxBatch::Limits limits = inner().batch_limits();
  limits.seals = true;
  return limits;
}

template <class AddRecords>
void CaptureEngine::record(AddRecords add_records) {
  try {
    add_records(static_cast<uint64_t>(wall_clock_ns()));
    write_records();
  } catch (const std::bad_alloc&) {
    stop("out of memory");
  }
  records_.clear();
}

void CaptureEngine::add_received(const RxPacket& packet, uint64_t time_ns) {
  if (!packet.has_icrc) {
    const uint16_t assumed = packet.ipv4_identification.value_or(0);
    sealed_.assign(packet.bytes.begin(), packet.bytes.end());
    write_icrc(packet.flow, assumed, sealed_);
    append_capture_record(records_, Direction::kInbound, time_ns, packet.flow, assumed, sealed_);
    return;
  }
  std::optional<uint16_t> identification = packet.ipv4_identification;
  if (!identification) {
    identification = icrc_recover_identification(packet.flow, packet.bytes);
  }
  append_capture_record(records_, Direction::kInbound, time_ns, packet.flow,
                        identification.value_or(0), packet.bytes);
}

void CaptureEngine::add_sent(const TxBatch& batch, const TxBatch::Message& message,
                             uint64_t time_ns) {
  const std::span<const uint8_t> bytes = batch.bytes(message);
  for (size_t i = 0; i < message.segments; ++i) {
    const size_t offset = i * message.segment_size;
    const size_t size = std::min(message.segment_size, bytes.size() - offset);
    append_capture_record(records_, Direction::kOutbound, time_ns, message.flow,
                          batch.identification(i), bytes.subspan(offset, size));
  }
}

void CaptureEngine::write_records() {
  const ssize_t written = write(fd_, records_.data(), records_.size());
  if (written == static_cast<ssize_t>(records_.size())) return;
  stop(written < 0 ? std::strerror(errno) : "no space for a whole record");
}

void CaptureEngine::stop(const char* why) {
  std::fprintf(stderr, "urxe: capture file %s: %s; capturing stops, traffic goes on\n",
               path_.c_str(), why);
  close(fd_);
  fd_ = -1;
}

}  // namespace urxe

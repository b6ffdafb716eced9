// SPDX-License-Identifier: BSD-2-Clause
#include "tests/support/capture_file.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <span>

namespace urxe::test {
namespace {

using Bytes = std::span<const uint8_t>;

/// Reads integers of the byte order that the file turns out to have; past the end it reads zeros
/// and remembers that.
struct Reader {
  Bytes bytes;
  bool big_endian = false;
  bool overrun = false;

  uint64_t integer(size_t offset, size_t size) {
    if (offset > bytes.size() || size > bytes.size() - offset) {
      overrun = true;
      return 0;
    }
    uint64_t value = 0;
    for (size_t i = 0; i < size; ++i) {
      const size_t from = big_endian ? i : size - 1 - i;
      value = (value << 8) | bytes[offset + from];
    }
    return value;
  }
  uint32_t u32(size_t offset) { return static_cast<uint32_t>(integer(offset, 4)); }
  uint16_t u16(size_t offset) { return static_cast<uint16_t>(integer(offset, 2)); }
  std::vector<uint8_t> copy(size_t offset, size_t size) {
    if (offset > bytes.size() || size > bytes.size() - offset) {
      overrun = true;
      return {};
    }
    return {bytes.begin() + static_cast<std::ptrdiff_t>(offset),
            bytes.begin() + static_cast<std::ptrdiff_t>(offset + size)};
  }
};

constexpr uint32_t kPcapMicroseconds = 0xa1b2c3d4;
constexpr uint32_t kPcapNanoseconds = 0xa1b23c4d;
constexpr uint32_t kSectionHeader = 0x0a0d0d0a;
constexpr uint32_t kByteOrderMagic = 0x1a2b3c4d;

CaptureFile parse_pcap(Reader file, uint64_t ns_per_unit) {
  CaptureFile result;
  const auto link = static_cast<LinkType>(file.u32(20) & 0x0fffffff);
  size_t at = 24;
  while (at < file.bytes.size()) {
    CapturedFrame frame;
    frame.link_type = link;
    frame.time_ns = file.u32(at) * uint64_t{1000000000} + file.u32(at + 4) * ns_per_unit;
    const size_t size = file.u32(at + 8);
    frame.original_size = file.u32(at + 12);
    frame.bytes = file.copy(at + 16, size);
    if (file.overrun) {
      result.error = "a record runs past the end of the file";
      return result;
    }
    result.frames.push_back(std::move(frame));
    at += 16 + size;
  }
  return result;
}

struct Interface {
  LinkType link_type;
  uint32_t snap_length;
  double ns_per_unit;
};

/// Calls `visit(code, offset, length)` for the options between two offsets.
template <class Visit>
void for_each_option(Reader& block, size_t at, size_t end, Visit visit) {
  while (at + 4 <= end) {
    const uint16_t code = block.u16(at);
    const uint16_t length = block.u16(at + 2);
    if (code == 0 || at + 4 + length > end) return;
    visit(code, at + 4, length);
    at += 4 + ((length + 3U) & ~3U);
  }
}

Interface read_interface(Reader& block, size_t end) {
  Interface interface { static_cast<LinkType>(block.u16(8)), block.u32(12), 1000 };
  for_each_option(block, 16, end, [&](uint16_t code, size_t at, uint16_t length) {
    if (code != 9 || length < 1) return;
    const auto resolution = block.integer(at, 1);
    const double base = (resolution & 0x80) != 0 ? 2 : 10;
    interface.ns_per_unit = 1e9 / std::pow(base, static_cast<double>(resolution & 0x7f));
  });
  return interface;
}

CapturedFrame read_enhanced(Reader& block, size_t end, const Interface& interface) {
  CapturedFrame frame;
  frame.link_type = interface.link_type;
  const uint64_t units = (uint64_t{block.u32(12)} << 32) | block.u32(16);
  frame.time_ns = interface.ns_per_unit == 1
                      ? units
                      : static_cast<uint64_t>(static_cast<double>(units) * interface.ns_per_unit);
  const size_t size = block.u32(20);
  frame.original_size = block.u32(24);
  frame.bytes = block.copy(28, size);
  for_each_option(block, 28 + ((size + 3) & ~size_t{3}), end,
                  [&](uint16_t code, size_t at, uint16_t length) {
                    if (code == 2 && length == 4) frame.flags = block.u32(at);
                  });
  return frame;
}

CapturedFrame read_simple(Reader& block, size_t end, const Interface& interface) {
  CapturedFrame frame;
  frame.link_type = interface.link_type;
  frame.original_size = block.u32(8);
  size_t size = std::min<size_t>(frame.original_size, end - 12);
  if (interface.snap_length != 0) size = std::min<size_t>(size, interface.snap_length);
  frame.bytes = block.copy(12, size);
  return frame;
}

class PcapngParser {
 public:
  explicit PcapngParser(Reader file) : file_(file) {}

  CaptureFile run() {
    size_t at = 0;
    while (at < file_.bytes.size() && result_.error.empty()) at += block(at);
    return std::move(result_);
  }

 private:
  size_t fail(const char* why) {
    result_.error = why;
    return 0;
  }

  size_t block(size_t at) {
    if (file_.u32(at) == kSectionHeader) {
      file_.big_endian = true;
      if (file_.u32(at + 8) != kByteOrderMagic) file_.big_endian = false;
      if (file_.u32(at + 8) != kByteOrderMagic) return fail("a section has no byte order");
      interfaces_.clear();
    }
    const uint32_t type = file_.u32(at);
    const size_t size = file_.u32(at + 4);
    if (size < 12 || size % 4 != 0 || size > file_.bytes.size() - at) {
      return fail("a block runs past the end of the file");
    }
    if (file_.u32(at + size - 4) != size) return fail("the two lengths of a block differ");
    Reader body{file_.bytes.subspan(at, size), file_.big_endian};
    frame(type, body, size - 4);
    if (body.overrun) return fail("a block is too short for what it says it holds");
    return size;
  }

  void frame(uint32_t type, Reader& body, size_t end) {
    if (type == 1) {
      interfaces_.push_back(read_interface(body, end));
    } else if (type == 6) {
      const uint32_t index = body.u32(8);
      if (index >= interfaces_.size()) {
        fail("a packet is of an interface that was not described");
        return;
      }
      result_.frames.push_back(read_enhanced(body, end, interfaces_[index]));
    } else if (type == 3 && !interfaces_.empty() && end >= 12) {
      result_.frames.push_back(read_simple(body, end, interfaces_[0]));
    }
  }

  Reader file_;
  std::vector<Interface> interfaces_;
  CaptureFile result_;
};

}  // namespace

CaptureFile parse_capture(const std::vector<uint8_t>& bytes) {
  Reader file{bytes};
  if (file.u32(0) == kSectionHeader) return PcapngParser(file).run();
  for (const bool big_endian : {false, true}) {
    file.big_endian = big_endian;
    if (file.u32(0) == kPcapMicroseconds) return parse_pcap(file, 1000);
    if (file.u32(0) == kPcapNanoseconds) return parse_pcap(file, 1);
  }
  return {{}, "neither pcap nor pcapng"};
}

CaptureFile read_capture(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return {{}, "cannot be opened"};
  const std::vector<uint8_t> bytes{std::istreambuf_iterator<char>(file), {}};
  return parse_capture(bytes);
}

}  // namespace urxe::test

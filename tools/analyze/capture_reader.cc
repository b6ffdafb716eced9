// SPDX-License-Identifier: BSD-2-Clause
#include "tools/analyze/capture_reader.h"

#include <fmt/format.h>
#include <pcap/pcap.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

namespace urxe::analyze {
namespace {

using Pcap = std::unique_ptr<pcap_t, decltype(&pcap_close)>;

/// libpcap's numbers differ from those in files for raw IP.
std::optional<LinkType> link_type_of(int datalink) {
  switch (datalink) {
    case DLT_NULL:
      return LinkType::kNull;
    case DLT_EN10MB:
      return LinkType::kEthernet;
    case DLT_RAW:
      return LinkType::kRaw;
    case DLT_LOOP:
      return LinkType::kLoop;
    case DLT_LINUX_SLL:
      return LinkType::kLinuxSll;
    case DLT_LINUX_SLL2:
      return LinkType::kLinuxSll2;
    case DLT_IPV4:
      return LinkType::kIpv4;
    case DLT_IPV6:
      return LinkType::kIpv6;
    default:
      return std::nullopt;
  }
}

std::string datalink_text(int datalink) {
  const char* const name = pcap_datalink_val_to_name(datalink);
  return name != nullptr ? name : std::to_string(datalink);
}

/// The program that uncompresses the file; empty: it is not compressed, or no regular file.
std::string_view uncompressor_of(const std::string& path) {
  using namespace std::string_view_literals;
  constexpr std::pair<std::string_view, std::string_view> kMagics[] = {
      {"\x1f\x8b"sv, "gzip"},
      {"\x28\xb5\x2f\xfd"sv, "zstd"},
      {"\xfd"
       "7zXZ\0"sv,
       "xz"},
      {"BZh"sv, "bzip2"},
      {"\x04\x22\x4d\x18"sv, "lz4"}};
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return {};
  std::ifstream file(path, std::ios::binary);
  char bytes[8] = {};
  file.read(bytes, sizeof bytes);
  const std::string_view begin(bytes, static_cast<size_t>(file.gcount()));
  for (const auto& [magic, program] : kMagics) {
    if (begin.substr(0, magic.size()) == magic) return program;
  }
  return {};
}

std::string reason_not_opened(const std::string& path, const char* why) {
  // libpcap has room for 256 bytes, of which the path may take all.
  if (path != "-" && access(path.c_str(), R_OK) != 0) return std::strerror(errno);
  const std::string_view program = uncompressor_of(path);
  if (program.empty()) {
    // libpcap names the file before some of its reasons; the caller names it before all.
    const std::string prefix = path + ": ";
    const std::string_view reason = why;
    return std::string(reason.starts_with(prefix) ? reason.substr(prefix.size()) : reason);
  }
  return fmt::format("the file is compressed: uncompress it, with {0} -dc {1} | urxe analyze -",
                     program, path);
}

/// 0 for a pipe.
uint64_t size_of(pcap_t* file) {
  struct stat status {};
  if (fstat(fileno(pcap_file(file)), &status) != 0 || !S_ISREG(status.st_mode)) return 0;
  return static_cast<uint64_t>(status.st_size);
}

uint64_t position_in(pcap_t* file) {
  const off_t position = ftello(pcap_file(file));
  return position < 0 ? 0 : static_cast<uint64_t>(position);
}

/// A pcapng file may have any times; sums and differences of these do not overflow.
int64_t time_of(const pcap_pkthdr& header) {
  constexpr int64_t kMostSeconds = int64_t{1} << 32;
  // With this precision tv_usec counts nanoseconds.
  return std::clamp<int64_t>(header.ts.tv_sec, 0, kMostSeconds) * 1'000'000'000 +
         std::clamp<int64_t>(header.ts.tv_usec, 0, 999'999'999);
}

}  // namespace

Expected<uint64_t, ReadFailure> read_capture(const std::string& path, const FrameVisitor& visit,
                                             const ProgressVisitor& on_progress) {
  constexpr uint64_t kFramesPerProgress = 1024;
  char why[PCAP_ERRBUF_SIZE] = "";
  const Pcap file(
      pcap_open_offline_with_tstamp_precision(path.c_str(), PCAP_TSTAMP_PRECISION_NANO, why),
      &pcap_close);
  if (file == nullptr) return Unexpected<ReadFailure>({reason_not_opened(path, why), 0});
  const int datalink = pcap_datalink(file.get());
  const auto link_type = link_type_of(datalink);
  if (!link_type) {
    return Unexpected<ReadFailure>({"link type " + datalink_text(datalink) + " is not known", 0});
  }
  const uint64_t size = size_of(file.get());
  CapturedFrame frame;
  frame.link_type = *link_type;
  pcap_pkthdr* header = nullptr;
  const u_char* bytes = nullptr;
  int result = 0;
  while ((result = pcap_next_ex(file.get(), &header, &bytes)) == 1) {
    ++frame.number;
    frame.time_ns = time_of(*header);
    frame.bytes = {bytes, header->caplen};
    frame.wire_size = header->len;
    visit(frame);
    if (on_progress && frame.number % kFramesPerProgress == 0) {
      on_progress({frame.number, position_in(file.get()), size});
    }
  }
  if (result == PCAP_ERROR) {
    return Unexpected<ReadFailure>({pcap_geterr(file.get()), frame.number});
  }
  return frame.number;
}

}  // namespace urxe::analyze

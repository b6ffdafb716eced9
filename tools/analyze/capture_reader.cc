// SPDX-License-Identifier: BSD-2-Clause
#include "tools/analyze/capture_reader.h"

#include <pcap/pcap.h>

#include <memory>
#include <optional>

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

}  // namespace

Expected<uint64_t, ReadFailure> read_capture(const std::string& path, const FrameVisitor& visit) {
  char why[PCAP_ERRBUF_SIZE] = "";
  const Pcap file(
      pcap_open_offline_with_tstamp_precision(path.c_str(), PCAP_TSTAMP_PRECISION_NANO, why),
      &pcap_close);
  if (file == nullptr) return Unexpected<ReadFailure>({why, 0});
  const int datalink = pcap_datalink(file.get());
  const auto link_type = link_type_of(datalink);
  if (!link_type) {
    return Unexpected<ReadFailure>({"link type " + datalink_text(datalink) + " is not known", 0});
  }
  CapturedFrame frame;
  frame.link_type = *link_type;
  pcap_pkthdr* header = nullptr;
  const u_char* bytes = nullptr;
  int result = 0;
  while ((result = pcap_next_ex(file.get(), &header, &bytes)) == 1) {
    ++frame.number;
    // With this precision tv_usec counts nanoseconds.
    frame.time_ns = int64_t{header->ts.tv_sec} * 1'000'000'000 + header->ts.tv_usec;
    frame.bytes = {bytes, header->caplen};
    frame.wire_size = header->len;
    visit(frame);
  }
  if (result == PCAP_ERROR) {
    return Unexpected<ReadFailure>({pcap_geterr(file.get()), frame.number});
  }
  return frame.number;
}

}  // namespace urxe::analyze

// SPDX-License-Identifier: BSD-2-Clause
// urxe analyze on hostile frames. An input is records: two bytes of options, two bytes of length,
// and a frame.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <vector>

#include "packet/base/bytes.h"
#include "packet/wire/icrc.h"
#include "tools/analyze/report.h"

namespace {

using urxe::analyze::Analysis;
using urxe::analyze::CapturedFrame;
using urxe::analyze::LinkType;

constexpr size_t kHead = 4;
constexpr uint8_t kReseal = 0x80;  ///< make the ICRC right, else little gets past it

/// Some bytes of options as a link type; raw IP is the most frequent one.
LinkType link_type(uint8_t options) {
  constexpr LinkType kTypes[] = {LinkType::kRaw,      LinkType::kRaw,       LinkType::kEthernet,
                                 LinkType::kLinuxSll, LinkType::kLinuxSll2, LinkType::kNull};
  return kTypes[(options & 0x7fU) % std::size(kTypes)];
}

void reseal(LinkType type, std::vector<uint8_t>& frame) {
  const auto datagram = urxe::analyze::find_datagram(type, frame);
  if (datagram.kind != urxe::analyze::FrameKind::kRoce) return;
  const auto at = static_cast<size_t>(datagram.bytes.data() - frame.data());
  urxe::write_icrc(datagram.flow, datagram.identification,
                   std::span(frame).subspan(at, datagram.bytes.size()));
}

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "property broken: %s\n", what);
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Analysis analysis;
  std::span<const uint8_t> rest(data, size);
  uint64_t number = 0;
  int64_t time_ns = 0;
  while (rest.size() > kHead) {
    const uint8_t options = rest[0];
    time_ns += rest[1] * int64_t{10'000};
    const size_t length = std::min<size_t>(urxe::load_be16(rest.data() + 2), rest.size() - kHead);
    std::vector<uint8_t> frame(rest.begin() + kHead,
                               rest.begin() + static_cast<std::ptrdiff_t>(kHead + length));
    const LinkType type = link_type(options);
    if ((options & kReseal) != 0) reseal(type, frame);
    analysis.on_frame({++number, time_ns, type, frame, frame.size()});
    rest = rest.subspan(kHead + length);
  }
  analysis.finish();
  require(analysis.counts().frames == number, "every frame counts");
  require(analysis.counts().roce <= number, "no frame counts twice");
  require(!urxe::analyze::text_report(analysis).empty(), "there is always a report");
  require(!urxe::analyze::json_report(analysis).empty(), "there is always JSON");
  constexpr size_t kFewPoints = 100;
  require(!urxe::analyze::html_report(analysis, "x", kFewPoints).empty(), "there is always a page");
  return 0;
}

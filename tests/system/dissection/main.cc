// SPDX-License-Identifier: BSD-2-Clause
// usage: urxe_cm_examples FILE: writes a capture (pcapng) of one datagram to QP1 for each example,
// over IPv4, then over IPv6.

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "packet/base/bytes.h"
#include "packet/engine/capture_record.h"
#include "packet/wire/icrc.h"
#include "packet/wire/roce_packet.h"
#include "tests/system/dissection/examples.h"

namespace urxe::test {
namespace {

constexpr uint16_t kIpv4Identification = 0x5a5a;

/// BTH to ICRC.
std::vector<uint8_t> datagram(const Flow& flow, uint32_t psn, const MadBytes& mad) {
  Headers headers;
  headers.bth.opcode = Opcode{0x64};  // UD SEND Only
  headers.bth.dest_qp = kGsiQpn;
  headers.bth.psn = Psn(psn);
  headers.deth = {kGsiQKey, kGsiQpn};
  std::vector<uint8_t> bytes(packet_size(headers.bth.opcode, mad.size()));
  const size_t start = write_headers(bytes.data(), headers, mad.size());
  std::copy(mad.begin(), mad.end(), bytes.begin() + static_cast<std::ptrdiff_t>(start));
  const size_t covered = bytes.size() - 4;
  store_le32(&bytes[covered], icrc(flow, kIpv4Identification, {bytes.data(), covered}));
  return bytes;
}

void append_examples(std::vector<uint8_t>& capture, const Gid& local, const Gid& remote) {
  Flow flow;
  flow.source = local;
  flow.destination = remote;
  uint32_t psn = 0;
  for (const CmMessage& message : cm_examples(local, remote)) {
    append_capture_record(capture, Direction::kOutbound, psn, flow, kIpv4Identification,
                          datagram(flow, psn, emit_cm_message(message)));
    ++psn;
  }
}

int write_capture(const char* path) {
  const auto header = capture_header();
  std::vector<uint8_t> capture(header.begin(), header.end());
  const uint8_t ipv4[2][4] = {{192, 0, 2, 1}, {192, 0, 2, 2}};
  append_examples(capture, Gid::from_ipv4(ipv4[0]), Gid::from_ipv4(ipv4[1]));
  const uint8_t ipv6[2][16] = {{0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
                               {0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2}};
  append_examples(capture, Gid::from_ipv6(ipv6[0]), Gid::from_ipv6(ipv6[1]));
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(capture.data()),
             static_cast<std::streamsize>(capture.size()));
  file.close();
  return file ? 0 : 1;
}

}  // namespace
}  // namespace urxe::test

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: urxe_cm_examples FILE\n");
    return 2;
  }
  return urxe::test::write_capture(argv[1]);
}

// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "packet/base/bytes.h"
#include "packet/wire/aeth_syndrome.h"
#include "packet/wire/cm/cm_message.h"
#include "packet/wire/cm/mad.h"
#include "packet/wire/icrc.h"
#include "packet/wire/ip/ip_header.h"
#include "tools/analyze/analysis.h"

namespace urxe::test {

inline constexpr Qpn kRequesterQpn{0x11};
inline constexpr Qpn kResponderQpn{0x22};

/// Feeds packets of one connection to an analysis, a millisecond apart.
class WireScript {
 public:
  /// Of the next request; 0: IPv4 identifications say nothing, as urxe's.
  uint16_t identification = 0;
  bool ask_for_ack = false;
  /// What is behind so many bytes of a frame is cut off.
  size_t cut_at = std::numeric_limits<size_t>::max();

  void request(Operation operation, uint32_t psn, size_t payload = 100, uint32_t dma_length = 0) {
    Headers headers;
    headers.bth.opcode = Opcode(service_, operation);
    headers.bth.psn = Psn(psn);
    headers.bth.dest_qp = kResponderQpn;
    headers.bth.ack_req = ask_for_ack;
    headers.reth.dma_length = dma_length;
    send(true, headers, payload);
  }
  void ack(uint32_t psn, uint32_t msn = 0, uint8_t syndrome = kAckNoCredits) {
    respond(Operation::kAcknowledge, psn, 0, msn, syndrome);
  }
  void nak(NakCode code, uint32_t psn) { ack(psn, 0, nak_syndrome(code)); }
  void respond(Operation operation, uint32_t psn, size_t payload = 0, uint32_t msn = 0,
               uint8_t syndrome = kAckNoCredits) {
    Headers headers;
    headers.bth.opcode = Opcode(service_, operation);
    headers.bth.psn = Psn(psn);
    headers.bth.dest_qp = kRequesterQpn;
    headers.aeth = {syndrome, Msn(msn)};
    send(false, headers, payload);
  }
  /// urxe's own packets about losses.
  void gap_query(uint32_t number) {
    Headers headers;
    headers.bth.opcode = kGapQueryOpcode;
    headers.bth.psn = Psn(number);
    headers.bth.dest_qp = kResponderQpn;
    send(true, headers, 0);
  }
  void gap_report(uint32_t psn, uint32_t packets, uint32_t query) {
    Headers headers;
    headers.bth.opcode = kGapReportOpcode;
    headers.bth.psn = Psn(psn);
    headers.bth.dest_qp = kRequesterQpn;
    std::array<uint8_t, kGapReportBytes> payload{};
    store_be32(payload.data(), packets);
    store_be32(&payload[4], query);
    feed(build(false, headers, payload.size(), payload));
  }
  /// An exchange of CM messages. Its REP lets the requester begin with PSN 5.
  void connect(uint8_t ack_timeout, CmTransport transport = CmTransport::kRc) {
    CmReq req;
    req.transport = transport;
    req.extended_transport = transport == CmTransport::kExtended ? 1 : 0;
    req.local_comm_id = CommId{3};
    req.local_qpn = kRequesterQpn;
    req.primary.ack_timeout = ack_timeout;
    req.path_mtu = 3;
    cm_message(true, req);
    CmRep rep;
    rep.local_comm_id = CommId{4};
    rep.remote_comm_id = CommId{3};
    rep.local_qpn = kResponderQpn;
    rep.starting_psn = Psn(5);
    cm_message(false, rep);
  }
  /// A DREQ of that connection.
  void disconnect(bool forth, Qpn remote_qpn) {
    CmDreq dreq;
    dreq.local_comm_id = CommId{forth ? 3U : 4U};
    dreq.remote_comm_id = CommId{forth ? 4U : 3U};
    dreq.remote_qpn = remote_qpn;
    cm_message(forth, dreq);
  }
  void send(bool forth, const Headers& headers, size_t payload) {
    feed(build(forth, headers, payload));
  }

  /// An IPv4 packet from the requester's address, or back, with a right ICRC. Its payload begins
  /// with `contents`, and the rest is zeros.
  std::vector<uint8_t> build(bool forth, const Headers& headers, size_t payload,
                             std::span<const uint8_t> contents = {}) const {
    const uint8_t a[4] = {192, 0, 2, 1};
    const uint8_t b[4] = {192, 0, 2, 2};
    const Flow flow{Gid::from_ipv4(forth ? a : b), Gid::from_ipv4(forth ? b : a), 0xc123, 0, 64};
    const uint16_t id = forth ? identification : uint16_t{0};
    std::vector<uint8_t> packet(packet_size(headers.bth.opcode, payload));
    write_headers(packet.data(), headers, payload);
    const size_t payload_at = packet.size() - kIcrcBytes - payload;
    std::copy(contents.begin(), contents.end(),
              packet.begin() + static_cast<ptrdiff_t>(payload_at));
    write_icrc(flow, id, packet);
    std::vector<uint8_t> frame(kIpv4HeaderBytes + kUdpHeaderBytes);
    const size_t udp_bytes = kUdpHeaderBytes + packet.size();
    write_ipv4_header(frame.data(), flow, {0, 64, 0}, id, udp_bytes, 0);
    write_udp_header(frame.data() + kIpv4HeaderBytes, flow, udp_bytes, 0);
    frame.insert(frame.end(), packet.begin(), packet.end());
    return frame;
  }
  void feed(const std::vector<uint8_t>& frame) {
    ++frames_;
    wait_ms(1);
    const std::span<const uint8_t> kept(frame.data(), std::min(frame.size(), cut_at));
    analysis_.on_frame({frames_, now_ns_, analyze::LinkType::kRaw, kept, frame.size()});
  }
  void wait_ms(int64_t ms) { wait_us(ms * 1000); }
  void wait_us(int64_t us) { now_ns_ += us * 1000; }

  void use(Service service) { service_ = service; }
  const analyze::Analysis& finish() {
    analysis_.finish();
    return analysis_;
  }
  /// The requester's side. Only after finish().
  [[nodiscard]] const analyze::RequestFlow& flow() const {
    return analysis_.connections().streams().front().requests;
  }
  [[nodiscard]] uint64_t repeats(analyze::RepeatReason reason) const {
    return flow().counts().repeats.at(static_cast<size_t>(reason));
  }

 private:
  void cm_message(bool forth, const CmBody& body) {
    Headers headers;
    headers.bth.opcode = Opcode(Service::kUd, Operation::kSendOnly);
    headers.bth.dest_qp = kGsiQpn;
    headers.deth = {kGsiQKey, kGsiQpn};
    const MadBytes mad = emit_cm_message({7, body});
    feed(build(forth, headers, mad.size(), mad));
  }

  analyze::Analysis analysis_;
  Service service_ = Service::kRc;
  uint64_t frames_ = 0;
  int64_t now_ns_ = 0;
};

}  // namespace urxe::test

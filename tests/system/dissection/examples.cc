// SPDX-License-Identifier: BSD-2-Clause
#include "tests/system/dissection/examples.h"

#include <array>
#include <string_view>

namespace urxe::test {
namespace {

constexpr CommId kLocal{0x11223344U};
constexpr CommId kRemote{0xfedcba98U};
constexpr uint64_t kGuid = 0x0253fffefe445566;
constexpr uint64_t kTcpPortSpace = 0x01060000;
constexpr uint64_t kUdpPortSpace = 0x01110000;
constexpr uint16_t kPort = 0xabcd;

/// Private data that shows where it starts and ends.
template <size_t N>
void fill(CmBytes<N>& data) {
  std::array<uint8_t, N> bytes;
  bytes.fill(0xdd);
  bytes.front() = 0xaa;
  bytes.back() = 0xee;
  data.assign(bytes);
}

/// The IP CM header, then private data.
template <size_t N>
void fill(CmBytes<N>& data, const Gid& local, const Gid& remote) {
  fill(data);
  IpCmHeader header;
  header.ip_version = local.is_ipv4() ? 4 : 6;
  header.source_port = 0x9876;
  header.source = local;
  header.destination = remote;
  const auto bytes = emit_ip_cm_header(header);
  std::copy(bytes.begin(), bytes.end(), data.bytes.begin());
}

CmPath path(const Gid& local, const Gid& remote) {
  CmPath path;
  path.local = local;
  path.remote = remote;
  path.flow_label = 0xabcde;
  path.packet_rate = 0x2a;
  path.traffic_class = 0xb8;
  path.hop_limit = 63;
  path.sl = 5;
  path.ack_timeout = 0x15;
  return path;
}

CmReq req(const Gid& local, const Gid& remote) {
  CmReq req;
  req.local_comm_id = kLocal;
  req.service_id = ServiceId(kTcpPortSpace | kPort);
  req.local_ca_guid = kGuid;
  req.local_qkey = QKey(0x89abcdef);
  req.local_qpn = Qpn(0xc0ffee);
  req.responder_resources = 0x81;
  req.initiator_depth = 0x42;
  req.remote_cm_response_timeout = 0x15;
  req.flow_control = true;
  req.starting_psn = Psn(0xfffffe);
  req.local_cm_response_timeout = 0x0a;
  req.retry_count = 5;
  req.pkey = PKey(0x8001);
  req.path_mtu = 5;
  req.rnr_retry_count = 6;
  req.max_cm_retries = 0xb;
  req.srq = true;
  req.primary = path(local, remote);
  req.ece = {0x0015b3, 0xe0000001};
  fill(req.private_data, local, remote);
  return req;
}

CmReq xrc_req(const Gid& local, const Gid& remote) {
  CmReq xrc = req(local, remote);
  xrc.transport = CmTransport::kExtended;
  xrc.extended_transport = 1;
  xrc.has_alternate = true;
  xrc.alternate = path(remote, local);
  return xrc;
}

CmRep rep() {
  CmRep rep;
  rep.local_qkey = QKey(0x89abcdef);
  rep.local_qpn = Qpn(0xc0ffee);
  rep.local_eecn = Qpn(0xdecade);
  rep.starting_psn = Psn(0xfffffe);
  rep.responder_resources = 0x81;
  rep.initiator_depth = 0x42;
  rep.target_ack_delay = 0x15;
  rep.failover_accepted = 1;
  rep.flow_control = true;
  rep.rnr_retry_count = 5;
  rep.srq = true;
  rep.local_ca_guid = kGuid;
  rep.ece = {0x123456, 0xe0000001};
  return rep;
}

CmRej rej() {
  CmRej rej;
  rej.rejected = CmAnswered::kRep;
  rej.reason = CmRejectReason::kInvalidGid;
  fill(rej.additional_info);
  rej.additional_info.size = 16;
  return rej;
}

CmMra mra() {
  CmMra mra;
  mra.answered = CmAnswered::kOther;
  mra.service_timeout = 0x15;
  return mra;
}

CmDreq dreq() {
  CmDreq dreq;
  dreq.remote_qpn = Qpn(0xc0ffee);
  return dreq;
}

CmLap lap(const Gid& local, const Gid& remote) {
  CmLap lap;
  lap.remote_qpn = Qpn(0xc0ffee);
  lap.remote_cm_response_timeout = 0x15;
  lap.alternate = path(local, remote);
  return lap;
}

CmApr apr() {
  CmApr apr;
  apr.status = CmAprStatus::kInvalidFlowLabel;
  fill(apr.additional_info);
  return apr;
}

CmSidrReq sidr_req(const Gid& local, const Gid& remote) {
  CmSidrReq req;
  req.request_id = kLocal;
  req.pkey = PKey(0x8001);
  req.service_id = ServiceId(kUdpPortSpace | kPort);
  fill(req.private_data, local, remote);
  return req;
}

CmSidrRep sidr_rep() {
  CmSidrRep rep;
  rep.request_id = kLocal;
  rep.status = CmSidrStatus::kReject;
  rep.qpn = Qpn(0xc0ffee);
  rep.service_id = ServiceId(kUdpPortSpace | kPort);
  rep.qkey = QKey(0x01234567);
  rep.ece = {0x123456, 0xe0000001};
  fill(rep.additional_info);
  fill(rep.private_data);
  return rep;
}

/// The ids and the private data that most messages have.
template <class M>
M between(M message) {
  message.local_comm_id = kLocal;
  message.remote_comm_id = kRemote;
  fill(message.private_data);
  return message;
}

}  // namespace

std::vector<CmMessage> cm_examples(const Gid& local, const Gid& remote) {
  const CmBody bodies[] = {req(local, remote), between(mra()),
                           between(rej()),     between(rep()),
                           between(CmRtu{}),   between(dreq()),
                           between(CmDrep{}),  sidr_req(local, remote),
                           sidr_rep(),         between(lap(local, remote)),
                           between(apr()),     xrc_req(local, remote)};
  std::vector<CmMessage> messages;
  for (const CmBody& body : bodies) messages.push_back({0xa1b2c3d4e5f60718, body});
  return messages;
}

}  // namespace urxe::test

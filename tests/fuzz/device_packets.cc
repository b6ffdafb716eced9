// SPDX-License-Identifier: BSD-2-Clause
// Packets for the harness: nearly right ones, and raw bytes.
#include <algorithm>
#include <array>

#include "packet/base/bytes.h"
#include "packet/wire/icrc.h"
#include "packet/wire/tx_batch.h"
#include "tests/fuzz/device_harness.h"
#include "transport/requester/requester.h"
#include "transport/responder/responder.h"

namespace urxe::fuzz {

Psn DeviceHarness::psn(Input& input, const Connection& connection) const {
  const QueuePair& qp = *connection.qp;
  const uint8_t anchor = input.byte();
  const auto delta = static_cast<uint32_t>(static_cast<int8_t>(input.byte()));
  switch (anchor % 4) {
    case 0:
      return expected_psn(qp) + delta;
    case 1:
      return oldest_unacknowledged_psn(qp) + delta;
    case 2:
      return next_request_psn(qp) + delta;
    default:
      return Psn{(static_cast<uint32_t>(anchor) << 16) + delta};
  }
}

Headers DeviceHarness::headers(Input& input, const Connection& connection) {
  const QueuePair& qp = *connection.qp;
  Headers headers;
  headers.bth.opcode = Opcode(qp.service, static_cast<Operation>(input.byte() & 0x1f));
  headers.bth.dest_qp = qp.qpn;
  headers.bth.psn = psn(input, connection);
  const uint8_t flags = input.byte();
  headers.bth.ack_req = (flags & 1) != 0;
  headers.bth.solicited = (flags & 2) != 0;
  headers.bth.mig_req = (flags & 0x20) == 0;
  const RKey keys[] = {target_region_->rkey, read_only_region_->rkey, local_region_->rkey,
                       flags < 0xe0 ? RKey{input.byte()} : window_->rkey};
  const RKey rkey = keys[flags >> 6];
  const uint64_t va = kTargetVa + static_cast<uint64_t>(static_cast<int16_t>(input.word()));
  uint32_t length = input.word();
  if ((flags & 4) != 0) length <<= 16;
  headers.feth = {static_cast<uint8_t>((flags & 0x18) == 0 ? 1 : length & 0xf),
                  static_cast<uint8_t>(flags >> 1 & 3)};
  headers.reth = {va, rkey, length};
  headers.atomic = {va, rkey, length, flags};
  headers.aeth = {input.byte(), Msn{flags}};
  headers.invalidate = rkey;
  headers.deth = {QKey(qp.attr.qkey + (flags >> 3 & 1)), Qpn{0x200}};
  headers.xrc_srq = shared_[flags >> 3 & 1 ? 2 : 1].srq->number;
  if ((flags & 0x18) == 0x18) headers.xrc_srq = shared_[0].srq->number;
  return headers;
}

void DeviceHarness::deliver(const Flow& flow, const Headers& headers, size_t payload,
                            uint8_t fill) {
  const OpcodeInfo& info = opcode_info(headers.bth.opcode);
  if (info.name.empty()) return;
  if (!info.has_payload) payload = 0;
  TxBatch batch(TxBatch::Limits{8192, 1, 1, 8000, Identification::kZero});
  uint8_t* out = batch.append(flow, headers, payload);
  if (out == nullptr) return;
  std::fill_n(out, payload, fill);
  batch.commit();
  device_.receive({batch.bytes(batch.messages()[0]), flow, batch.identification(0)}, now_);
}

void DeviceHarness::packet(Input& input) {
  const Connection& connection = pick(input);
  const Headers all = headers(input, connection);
  const uint8_t size = input.byte();
  // Mostly lengths that mean something: the path MTU, what the RETH says, a few bytes.
  const std::array<uint32_t, 4> sizes = {mtu(), std::min(all.reth.dma_length, mtu()), size & 0x1fU,
                                         mtu() + (size & 0x1fU)};
  deliver(from_peer_, all, std::min(sizes[size >> 6], 4096U), size);
}

/// Of any service, to any queue pair, also from the device's own address.
void DeviceHarness::any_packet(Input& input) {
  const Opcode opcode{input.byte()};
  const uint8_t options = input.byte();
  Headers all = headers(input, pick(input));
  all.bth.opcode = opcode;
  if ((options & 1) != 0) all.bth.dest_qp = Qpn{options};
  Flow flow = from_peer_;
  flow.traffic_class = options;
  if ((options & 2) != 0) flow.source = flow.destination;
  if ((options & 4) != 0) flow.destination = harness_group(options >> 3 & 1);
  if ((options & 0x14) == 0x14) all.bth.dest_qp = Qpn{kMulticastQpn};
  deliver(flow, all, input.byte(), options);
}

/// To QP1: a message of the connection manager whose ids and service may be right and whose other
/// bytes are whatever comes.
void DeviceHarness::mad(Input& input) {
  const uint8_t options = input.byte();
  MadBytes bytes{};
  MadHeader header;
  header.attribute_id = static_cast<uint16_t>(static_cast<unsigned>(CmAttribute::kReq) +
                                              input.byte() % (kCmAttributes + 1));
  header.transaction_id = options >> 6;
  write_mad_header(header, bytes);
  constexpr size_t kBodyAt = 24;
  const std::vector<uint8_t> body = input.bytes(input.byte());
  std::ranges::copy_n(body.begin(),
                      static_cast<std::ptrdiff_t>(std::min(body.size(), kMadBytes - kBodyAt)),
                      bytes.begin() + kBodyAt);
  const bool is_for_agent =
      header.attribute_id == static_cast<uint16_t>(CmAttribute::kReq) + kCmAttributes;
  if (is_for_agent) address_agent(options, bytes);
  if ((options & 1) != 0) store_be32(bytes.data() + kBodyAt + 4, communication_.value());
  if ((options & 2) != 0) store_be64(bytes.data() + kBodyAt + 8, kHarnessService.value());
  Headers headers;
  headers.bth.opcode = Opcode(Service::kUd, Operation::kSendOnly);
  headers.bth.dest_qp = kGsiQpn;
  headers.deth = {kGsiQKey, kGsiQpn};
  TxBatch batch(TxBatch::Limits{8192, 1, 1, 8000, Identification::kZero});
  const size_t size = (options & 0x3c) == 0x3c ? input.byte() : kMadBytes;
  std::ranges::copy(std::span(bytes).first(size), batch.append(from_peer_, headers, size));
  batch.commit();
  device_.receive({batch.bytes(batch.messages()[0]), from_peer_, batch.identification(0)}, now_);
  take_communication();
  take_agent_events();
}

/// A request, or a response to what the agent has asked last; of another class at times.
void DeviceHarness::address_agent(uint8_t options, MadBytes& mad) const {
  MadHeader header = read_mad_header(mad);
  const bool responds = (options & 0x40) != 0;
  header.management_class = (options & 0x80) != 0 ? uint8_t{0x32} : kHarnessAgent.management_class;
  header.class_version = kHarnessAgent.class_version;
  header.method = responds ? 0x81 : 0x01;
  header.transaction_id = responds ? transaction_ : options;
  write_mad_header(header, mad);
}

/// Answers requests, and sends another for each event.
void DeviceHarness::take_agent_events() {
  while (const auto event = device_.mads().take_event(agent_)) {
    OutgoingMad answer{.flow = {.source = harness_gid(1), .destination = event->flow.source},
                       .mad = event->mad,
                       .qpn = event->remote_qpn};
    MadHeader header = read_mad_header(answer.mad);
    if (!event->timed_out && !is_response(header)) {
      header.method |= kMadMethodResponse;
      write_mad_header(header, answer.mad);
      (void)device_.mads().send(agent_, answer, {}, now_);
    }
    header = {.management_class = kHarnessAgent.management_class,
              .class_version = kHarnessAgent.class_version,
              .method = 0x01,
              .transaction_id = ++transaction_};
    write_mad_header(header, answer.mad);
    transaction_ = uint64_t{agent_.value()} << 32 | (transaction_ & 0xffffffff);
    (void)device_.mads().send(agent_, answer, {milliseconds(1), 1}, now_);
  }
}

/// Accepts what is asked for, so that there is something to be told more about.
void DeviceHarness::take_communication() {
  while (const auto event = device_.cm().take_event()) {
    communication_ = event->id;
    CmRep rep;
    rep.local_qpn = connections_[0].qp->qpn;
    if (event->kind == CmEvent::Kind::kRequest) (void)device_.cm().accept(event->id, rep, now_);
    if (event->kind == CmEvent::Kind::kServiceRequest) {
      (void)device_.cm().answer_service(event->id, CmSidrRep{}, now_);
    }
  }
}

void DeviceHarness::raw(Input& input) {
  const uint8_t options = input.byte();
  std::vector<uint8_t> bytes = input.bytes(input.byte());
  if ((options & 1) != 0 && bytes.size() >= 8) {
    const size_t covered = bytes.size() - 4;
    store_le32(bytes.data() + covered, icrc(from_peer_, 0, {bytes.data(), covered}));
  }
  device_.receive({bytes, from_peer_, uint16_t{0}}, now_);
}

}  // namespace urxe::fuzz

// SPDX-License-Identifier: BSD-2-Clause
#include "tests/transport/bench.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <numeric>

#include "packet/wire/text/format.h"
#include "packet/wire/tx_batch.h"
#include "transport/queue_pair/qp_state.h"

namespace urxe::test {
namespace {

const uint8_t kAddress[4] = {192, 0, 2, 1};
const uint8_t kPeerAddress[4] = {192, 0, 2, 2};

DeviceConfig config(const BenchOptions& options) {
  DeviceConfig config;
  config.guarded_access = options.guarded_access;
  config.gids = {Gid::from_ipv4(kAddress)};
  config.keeps_requests = options.keeps_requests;
  config.socket_window = options.socket_window;
  return config;
}

ibv_qp_attr with_qkey(ibv_qp_attr attr) {
  attr.qkey = kQKey;
  return attr;
}

/// Exactly what the transition needs.
int required(ibv_qp_type type, ibv_qp_state from, ibv_qp_state to) {
  return transition_masks(type, from, to).required | IBV_QP_STATE;
}

std::string_view service_name(Service service) {
  switch (service) {
    case Service::kUc:
      return "UC ";
    case Service::kUd:
      return "UD ";
    case Service::kXrc:
      return "XRC ";
    default:
      return "RC ";
  }
}

void remove_text(std::string& line, std::string_view text) {
  if (const auto at = line.find(text); at != std::string::npos) line.erase(at, text.size());
}

Statuses statuses(const std::vector<ibv_wc>& wcs) {
  Statuses result;
  for (const ibv_wc& wc : wcs) result.emplace_back(wc.wr_id, wc.status);
  return result;
}

/// With the queues that the type has.
QpInit qp_init(const Bench& bench, const BenchOptions& options) {
  QpInit init;
  init.qpn = Qpn{Bench::kQpn};
  init.type = options.type;
  init.domain = bench.domain;
  init.sq_sig_all = options.sq_sig_all;
  if (options.type == IBV_QPT_XRC_RECV) return init;
  init.pd = bench.pd;
  init.cap = options.cap;
  init.send_cq = bench.send_cq;
  if (options.type == IBV_QPT_XRC_SEND) return init;
  init.recv_cq = bench.recv_cq;
  init.srq = bench.srq;
  return init;
}

}  // namespace

std::vector<uint8_t> counting(size_t length) {
  std::vector<uint8_t> bytes(length);
  std::iota(bytes.begin(), bytes.end(), uint8_t{0});
  return bytes;
}

std::string line(const char* format, ...) {
  char text[256];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return text;
}

Bench::Bench(const BenchOptions& options) : device(config(options)), memory(counting(kBytes)) {
  pd = device.alloc_pd().value();
  send_cq = device.create_cq(options.cq_entries, nullptr, options.cq_options).value();
  recv_cq = device.create_cq(options.cq_entries, nullptr).value();
  if (options.type == IBV_QPT_XRC_RECV) domain = device.alloc_domain().value();
  if (options.shared_receives || domain != nullptr) {
    CompletionQueue* cq = domain != nullptr ? recv_cq : nullptr;
    srq = device.create_srq({pd, options.srq_wrs, 4, domain, cq, nullptr}).value();
  }
  qp = device.create_qp(qp_init(*this, options)).value();
  sim::ConnectOptions connect = options.connect;
  connect.destination = Gid::from_ipv4(kPeerAddress);
  connect.dest_qpn = Qpn{kPeerQpn};
  EXPECT_TRUE(device.modify_qp(*qp, with_qkey(sim::init_attributes(connect)),
                               required(options.type, IBV_QPS_RESET, IBV_QPS_INIT), now));
  EXPECT_TRUE(device.modify_qp(*qp, sim::rtr_attributes(connect),
                               required(options.type, IBV_QPS_INIT, IBV_QPS_RTR), now));
  if (options.state == IBV_QPS_RTS) {
    EXPECT_TRUE(device.modify_qp(*qp, sim::rts_attributes(connect),
                                 required(options.type, IBV_QPS_RTR, IBV_QPS_RTS), now));
  }
  local_region =
      device
          .register_memory(pd, memory.data(), memory.size(),
                           reinterpret_cast<uint64_t>(memory.data()), IBV_ACCESS_LOCAL_WRITE)
          .value();
  target_region = device
                      .register_memory(pd, target, sizeof target, kTargetVa,
                                       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
                                           IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)
                      .value();
}

Lines Bench::sent(AckPolicy policy, size_t segments) {
  Lines lines;
  payloads_.clear();
  headers_.clear();
  device.advance(now);
  TxBatch::Limits limits;
  limits.elsewhere_from = kMtu / 2;
  limits.segments_per_message = segments;
  TxBatch batch(limits);
  datagrams_ = 0;
  for (bool more = true; more;) {
    batch.clear();
    more = device.transmit(batch, now, policy);
    batch.gather();
    datagrams_ += batch.messages().size();
    batch.for_each_packet(
        [&](const TxBatch::Message& message, size_t segment, std::span<const uint8_t> bytes) {
          const RxPacket packet{bytes, message.flow, batch.identification(segment)};
          const auto view = parse(packet);
          if (!view) {
            ADD_FAILURE() << "sent an invalid packet: " << drop_reason_name(view.error());
            return;
          }
          std::string text = format(*view);
          remove_text(text, service_name(qp->service));
          remove_text(text, line(" qp 0x%x", kPeerQpn));
          lines.push_back(text);
          payloads_.emplace_back(view->payload.begin(), view->payload.end());
          headers_.push_back(view->headers);
        });
  }
  return lines;
}

Lines Bench::places_of_payloads(TxBatch::Limits limits) {
  limits.elsewhere_from = kMtu;
  TxBatch batch(limits);
  device.advance(now);
  device.transmit(batch, now, AckPolicy::kAll);
  Lines places;
  for (const TxBatch::Message& message : batch.messages()) {
    places.emplace_back(message.elsewhere > 0 ? "elsewhere" : "in the batch");
  }
  return places;
}

Flow Bench::flow_from_peer() const {
  Flow flow;
  flow.source = Gid::from_ipv4(kPeerAddress);
  flow.destination = Gid::from_ipv4(kAddress);
  return flow;
}

void Bench::receive_raw(const Headers& headers, const Flow& flow,
                        const std::vector<uint8_t>& payload) {
  TxBatch batch(TxBatch::Limits{});
  uint8_t* out = batch.append(flow, headers, payload.size());
  ASSERT_NE(out, nullptr);
  std::copy(payload.begin(), payload.end(), out);
  batch.commit();
  RxPacket packet{batch.bytes(batch.messages()[0]), flow, batch.identification(0)};
  packet.through_memory = through_memory;
  device.receive(packet, now);
}

void Bench::receive(Operation operation, uint32_t psn, const Headers& rest,
                    const std::vector<uint8_t>& payload) {
  Headers headers = rest;
  headers.bth.opcode = Opcode(qp->service, operation);
  headers.bth.dest_qp = Qpn{kQpn};
  headers.bth.psn = Psn{psn};
  // Data responses say nothing of credits here; receive_ack() can.
  if (operation != Operation::kAcknowledge) headers.aeth.syndrome = kAck;
  receive_raw(headers, flow_from_peer(), payload);
}

void Bench::receive_ack(uint32_t psn, uint8_t syndrome, uint32_t msn) {
  Headers headers;
  headers.aeth = {syndrome, Msn{msn}};
  receive(Operation::kAcknowledge, psn, headers);
}

Sge Bench::local(uint32_t length, uint32_t offset) const {
  return {reinterpret_cast<uint64_t>(memory.data()) + offset, length, local_region->lkey};
}

Headers Bench::reth(uint64_t va, RKey rkey, uint32_t length) const {
  Headers headers;
  headers.bth.ack_req = true;
  headers.reth = {va, rkey, length};
  return headers;
}

void Bench::post(sim::SendRequest request) {
  request.wr_id = next_wr_id_++;
  ASSERT_TRUE(sim::post_send(device, *qp, request));
}

void Bench::post(ibv_wr_opcode opcode, uint32_t length, unsigned flags) {
  sim::SendRequest request;
  request.opcode = opcode;
  request.flags = flags;
  request.sges = {local(length)};
  request.remote_addr = kRemoteVa;
  request.rkey = RKey{0x77};
  request.immediate_be = 0x04030201;
  request.compare_add = 5;
  request.swap = 6;
  post(request);
}

void Bench::post_datagram(uint32_t length, uint32_t qkey, unsigned flags) {
  sim::SendRequest request;
  request.flags = flags;
  request.sges = {local(length)};
  request.datagram.flow = {flow_from_peer().destination, flow_from_peer().source};
  request.datagram.qpn = Qpn{kPeerQpn};
  request.datagram.qkey = QKey{qkey};
  post(request);
}

Headers Bench::deth(uint32_t qkey) {
  Headers headers;
  headers.deth = {QKey{qkey}, Qpn{kPeerQpn}};
  return headers;
}

void Bench::post_receive(uint32_t length) {
  const Sge sge = local(length, kReceiveOffset);
  ASSERT_TRUE(sim::post_receive(device, *qp, next_receive_id_++, {&sge, 1}));
}

void Bench::post_shared(SharedReceiveQueue& queue, uint32_t length) {
  const Sge sge = local(length, kReceiveOffset);
  ASSERT_TRUE(sim::post_receive(queue, next_receive_id_++, {&sge, 1}));
}

std::vector<ibv_wc> Bench::poll(CompletionQueue& cq) {
  std::vector<ibv_wc> wcs(64);
  wcs.resize(static_cast<size_t>(cq.poll(64, wcs.data())));
  return wcs;
}

Statuses Bench::send_statuses() {
  return statuses(poll(*send_cq));
}
Statuses Bench::receive_statuses() {
  return statuses(poll(*recv_cq));
}

std::vector<ibv_event_type> Bench::events() {
  std::vector<ibv_event_type> types;
  while (const auto event = device.take_event()) types.push_back(event->type);
  return types;
}

}  // namespace urxe::test

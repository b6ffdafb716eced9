// SPDX-License-Identifier: BSD-2-Clause
#include "tests/apps/rdma_cm_verify/support.h"

#include <infiniband/ib.h>
#include <rdma/rdma_verbs.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace verify {

namespace {
constexpr int kTimeoutMs = 10000;
}

void fail(const std::string& what) {
  std::fprintf(stderr, "urxe_rdma_cm_verify: %s\n", what.c_str());
  std::exit(1);
}

void need(int result, const char* what) {
  if (result != 0) fail(std::string(what) + ": " + std::strerror(errno));
}

void need_errno(int result, int expected, const char* what) {
  if (result == 0) fail(std::string(what) + " succeeds");
  if (errno == expected) return;
  fail(std::string(what) + ": " + std::strerror(errno) + ", not " + std::strerror(expected));
}

void expect(bool condition, const char* what) {
  if (!condition) fail(std::string("expected: ") + what);
}

void say(const std::string& words) {
  std::puts(words.c_str());
  std::fflush(stdout);
}

AddressInfo::AddressInfo(const Place& place, bool passive, rdma_port_space space) {
  rdma_addrinfo hints{};
  hints.ai_flags = passive ? RAI_PASSIVE : 0;
  hints.ai_port_space = space;
  if (space == RDMA_PS_UDP) hints.ai_qp_type = IBV_QPT_UD;
  if (place.ib) {
    hints.ai_flags |= RAI_NUMERICHOST | RAI_FAMILY;
    hints.ai_family = AF_IB;
    if (hints.ai_qp_type == 0) hints.ai_qp_type = IBV_QPT_RC;
  }
  need(rdma_getaddrinfo(place.node.c_str(), place.service.c_str(), &hints, &info_),
       "rdma_getaddrinfo");
  expect(address() != nullptr, "an address of the server");
  expect(!place.ib || address()->sa_family == AF_IB, "an AF_IB address");
}

sockaddr* AddressInfo::address() const {
  return info_->ai_dst_addr != nullptr ? info_->ai_dst_addr : info_->ai_src_addr;
}

Channel::Channel()
    : channel_(need_object(rdma_create_event_channel(), "rdma_create_event_channel")) {}

Event Channel::next() {
  rdma_cm_event* event = nullptr;
  need(rdma_get_cm_event(channel_, &event), "rdma_get_cm_event");
  Event copy;
  copy.type = event->event;
  copy.status = event->status;
  copy.id = event->id;
  copy.listener = event->listen_id;
  if (event->id->qp_type == IBV_QPT_UD) {
    copy.datagrams = event->param.ud;
  } else {
    copy.connection = event->param.conn;
  }
  const auto* data = static_cast<const uint8_t*>(copy.connection.private_data);
  size_t size = copy.connection.private_data_len;
  if (event->id->qp_type == IBV_QPT_UD) {
    data = static_cast<const uint8_t*>(copy.datagrams.private_data);
    size = copy.datagrams.private_data_len;
  }
  if (data != nullptr) copy.private_data.assign(data, data + size);
  copy.connection.private_data = copy.datagrams.private_data = nullptr;
  need(rdma_ack_cm_event(event), "rdma_ack_cm_event");
  return copy;
}

Event Channel::expect(rdma_cm_event_type type, int status) {
  Event event = next();
  if (event.type == type && event.status == status) return event;
  fail(std::string("got ") + rdma_event_str(event.type) + " with status " +
       std::to_string(event.status) + " instead of " + rdma_event_str(type) + " with " +
       std::to_string(status));
}

Event Channel::expect(rdma_cm_event_type type) {
  return expect(type, 0);
}

rdma_cm_id* create_id(const Channel& channel, rdma_port_space space) {
  rdma_cm_id* id = nullptr;
  need(rdma_create_id(channel.get(), &id, nullptr, space), "rdma_create_id");
  return id;
}

ibv_qp_init_attr queue_pair_attributes(ibv_qp_type type) {
  ibv_qp_init_attr attributes{};
  attributes.qp_type = type;
  attributes.cap = {8, 8, 1, 1, 0};
  attributes.sq_sig_all = 1;
  return attributes;
}

void create_qp(rdma_cm_id* id, ibv_qp_type type) {
  ibv_qp_init_attr attributes = queue_pair_attributes(type);
  need(rdma_create_qp(id, nullptr, &attributes), "rdma_create_qp");
}

rdma_cm_id* listen(const Channel& channel, const Place& place, rdma_port_space space, int backlog) {
  const AddressInfo info(place, true, space);
  rdma_cm_id* id = create_id(channel, space);
  need(rdma_bind_addr(id, info.address()), "rdma_bind_addr");
  need(rdma_listen(id, backlog), "rdma_listen");
  say("ready");
  return id;
}

rdma_cm_id* resolve(Channel& channel, const Place& place, rdma_port_space space) {
  const AddressInfo info(place, false, space);
  rdma_cm_id* id = create_id(channel, space);
  need(rdma_resolve_addr(id, nullptr, info.address(), kTimeoutMs), "rdma_resolve_addr");
  channel.expect(RDMA_CM_EVENT_ADDR_RESOLVED);
  need(rdma_resolve_route(id, kTimeoutMs), "rdma_resolve_route");
  channel.expect(RDMA_CM_EVENT_ROUTE_RESOLVED);
  return id;
}

void destroy(rdma_cm_id* id) {
  if (id->qp != nullptr) rdma_destroy_qp(id);
  need(rdma_destroy_id(id), "rdma_destroy_id");
}

std::vector<uint8_t> pattern(size_t size, uint8_t seed) {
  std::vector<uint8_t> bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>(seed + 7 * i + (i >> 8));
  return bytes;
}

void expect_pattern(const std::vector<uint8_t>& data, size_t size, uint8_t seed) {
  if (data.size() != size) {
    fail("private data of " + std::to_string(data.size()) + " bytes, not " + std::to_string(size));
  }
  expect(data == pattern(size, seed), "the bytes that were sent");
}

rdma_conn_param parameters(const std::vector<uint8_t>& private_data) {
  rdma_conn_param parameters{};
  parameters.private_data = private_data.empty() ? nullptr : private_data.data();
  parameters.private_data_len = static_cast<uint8_t>(private_data.size());
  parameters.responder_resources = 2;
  parameters.initiator_depth = 2;
  parameters.retry_count = 5;
  parameters.rnr_retry_count = 7;
  return parameters;
}

Pages::Pages(size_t size) {
  constexpr size_t kPage = 4096;
  void* memory = std::aligned_alloc(kPage, (size + kPage - 1) / kPage * kPage);
  data_ = static_cast<uint8_t*>(need_object(memory, "aligned_alloc"));
}

Pages::~Pages() {
  std::free(data_);
}

Messages::Messages(rdma_cm_id* id)
    : id_(id),
      in_(kSize),
      out_(kSize),
      in_region_(need_object(rdma_reg_msgs(id, in_.data(), kSize), "rdma_reg_msgs")),
      out_region_(need_object(rdma_reg_msgs(id, out_.data(), kSize), "rdma_reg_msgs")) {}

Messages::~Messages() {
  rdma_dereg_mr(in_region_);
  rdma_dereg_mr(out_region_);
}

void Messages::post_receive() {
  need(rdma_post_recv(id_, nullptr, in_.data(), kSize, in_region_), "rdma_post_recv");
}

void Messages::post_send(uint8_t seed) {
  const std::vector<uint8_t> bytes = pattern(kSize, seed);
  std::copy(bytes.begin(), bytes.end(), out_.data());
  ibv_sge sge{reinterpret_cast<uintptr_t>(out_.data()), kSize, out_region_->lkey};
  need(rdma_post_sendv(id_, nullptr, &sge, 1, IBV_SEND_SIGNALED), "rdma_post_send");
}

ibv_wc Messages::wait_receive() {
  ibv_wc wc{};
  expect(rdma_get_recv_comp(id_, &wc) == 1, "a completed receive");
  return wc;
}

ibv_wc Messages::wait_send() {
  ibv_wc wc{};
  expect(rdma_get_send_comp(id_, &wc) == 1, "a completed send");
  return wc;
}

void Messages::send(uint8_t seed) {
  post_send(seed);
  const ibv_wc wc = wait_send();
  if (wc.status != IBV_WC_SUCCESS) fail(std::string("send: ") + ibv_wc_status_str(wc.status));
}

void Messages::receive(uint8_t seed) {
  const ibv_wc wc = wait_receive();
  if (wc.status != IBV_WC_SUCCESS) fail(std::string("receive: ") + ibv_wc_status_str(wc.status));
  const std::vector<uint8_t> sent = pattern(kSize, seed);
  expect(wc.byte_len == kSize && std::equal(sent.begin(), sent.end(), in_.data()),
         "the message that was sent");
}

}  // namespace verify

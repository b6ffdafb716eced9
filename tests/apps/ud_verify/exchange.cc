// SPDX-License-Identifier: BSD-2-Clause
#include "exchange.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "tests/apps/rc_verify/failure.h"
#include "tests/apps/rc_verify/pattern.h"

namespace ud_verify {
namespace {

using rc_verify::format;
using rc_verify::mismatch;

constexpr uint32_t kBarrierBurst = 0xb57;
constexpr uint32_t kBarrierReceived = 0xb58;
constexpr uint32_t kBursts = 4;
constexpr uint32_t kBurst = 24;
constexpr uint32_t kAnotherQKey = 0x0bad0bad;

rc_verify::PatternKey key_of(uint32_t number, bool by_server) {
  return rc_verify::make_key({0xda7a, number, by_server ? 1ULL : 0ULL});
}

uint32_t immediate_of(uint32_t number) {
  return 0xfe000000 + number;
}

}  // namespace

std::vector<Case> all_cases(uint32_t largest, const Address& ours, const Address& theirs) {
  std::vector<uint32_t> sizes = {0, 1, 2, 3, 4, 5, 31, 64, 255, largest - 1, largest};
  std::erase_if(sizes, [&](uint32_t size) { return size > largest; });
  const uint32_t most_inline = std::min(ours.in_line, theirs.in_line);
  const uint32_t most_pieces = std::min(ours.pieces, theirs.pieces);
  std::vector<Case> cases;
  for (uint32_t size : sizes) {
    for (bool immediate : {false, true}) {
      const auto add = [&](bool in_line, uint32_t pieces) {
        cases.push_back({static_cast<uint32_t>(cases.size()), size, immediate, in_line, pieces});
      };
      add(false, 1);
      if (size <= most_inline) add(true, 1);
      if (size > 1) add(false, most_pieces);
    }
  }
  return cases;
}

Exchange::Exchange(Endpoint& endpoint, rc_verify::Control& control, const Address& peer,
                   bool is_server, uint32_t gid_index)
    : endpoint_(endpoint),
      control_(control),
      peer_(peer),
      is_server_(is_server),
      gid_index_(gid_index),
      handle_(endpoint.handle_for(peer.gid)) {}

void Exchange::send(const Case& which, ibv_ah* handle, uint32_t qkey) {
  std::vector<uint8_t> bytes(which.size);
  rc_verify::fill_pattern(key_of(which.number, is_server_), 0, bytes);
  Datagram datagram{bytes, {}, which.in_line, which.pieces};
  if (which.immediate) datagram.immediate = immediate_of(which.number);
  endpoint_.send(handle, peer_.qp_number, qkey, datagram);
}

void Exchange::check_completion(const ibv_wc& completion, const Case& which) const {
  const auto expect = [&](const char* name, uint32_t want, uint32_t have) {
    if (want != have)
      mismatch(format("datagram %u of %u bytes: %s is 0x%x, not 0x%x", which.number, which.size,
                      name, have, want));
  };
  expect("opcode", IBV_WC_RECV, completion.opcode);
  expect("byte_len", kGrhBytes + which.size, completion.byte_len);
  expect("src_qp", peer_.qp_number, completion.src_qp);
  expect("qp_num", endpoint_.address().qp_number, completion.qp_num);
  const unsigned flags = IBV_WC_GRH | (which.immediate ? IBV_WC_WITH_IMM : 0);
  expect("wc_flags", flags, completion.wc_flags & (IBV_WC_GRH | IBV_WC_WITH_IMM));
  if (which.immediate) expect("imm_data", immediate_of(which.number), ntohl(completion.imm_data));
  if (completion.wr_id >= kReceives) mismatch("an unknown wr_id");
}

void Exchange::check_buffer(const uint8_t* buffer, const Case& which) {
  const std::span<const uint8_t, kGrhBytes> grh(buffer, kGrhBytes);
  const std::string wrong = grh_difference(grh, {peer_.gid, endpoint_.address().gid, which.size,
                                                 which.immediate, kHopLimit, kTrafficClass});
  last_grh_.assign(grh.begin(), grh.end());
  if (!wrong.empty())
    mismatch(format("the GRH of datagram %u of %u bytes: ", which.number, which.size) + wrong);
  const std::span<const uint8_t> payload(buffer + kGrhBytes, which.size);
  if (const auto at = rc_verify::first_difference(key_of(which.number, !is_server_), 0, payload))
    mismatch(
        format("datagram %u of %u bytes: its byte %zu is wrong", which.number, which.size, *at));
  const uint8_t* end = buffer + Endpoint::kSlot;
  const bool untouched = std::all_of(buffer + kGrhBytes + which.size, end,
                                     [](uint8_t byte) { return byte == Endpoint::kUntouched; });
  if (!untouched) mismatch(format("datagram %u: bytes after its end were written", which.number));
}

verbs::AhPtr Exchange::handle_from(const ibv_wc& completion, uint8_t* buffer) const {
  ibv_wc copy = completion;
  ibv_ah_attr attr{};
  auto* grh = reinterpret_cast<ibv_grh*>(buffer);
  if (ibv_init_ah_from_wc(endpoint_.context(), kPort, &copy, grh, &attr) != 0)
    mismatch("ibv_init_ah_from_wc failed");
  if (std::memcmp(&attr.grh.dgid, &peer_.gid, sizeof peer_.gid) != 0)
    mismatch("ibv_init_ah_from_wc gives another address than the sender's");
  if (attr.grh.sgid_index != gid_index_)
    mismatch(format("ibv_init_ah_from_wc gives GID index %u", attr.grh.sgid_index));
  // What an answer needs is in it; these two are the answer's own.
  attr.grh.hop_limit = kHopLimit;
  attr.grh.traffic_class = kTrafficClass;
  verbs::AhPtr handle(ibv_create_ah(endpoint_.pd(), &attr));
  if (!handle) mismatch("ibv_create_ah of what ibv_init_ah_from_wc gives failed");
  return handle;
}

verbs::AhPtr Exchange::receive(const Case& which) {
  const ibv_wc completion = endpoint_.wait_received();
  check_completion(completion, which);
  uint8_t* buffer = endpoint_.receive_buffer(completion.wr_id);
  check_buffer(buffer, which);
  verbs::AhPtr sender = handle_from(completion, buffer);
  endpoint_.post_receive(completion.wr_id);
  return sender;
}

void Exchange::run_cases(const std::vector<Case>& cases) {
  for (const Case& which : cases) {
    verbs::AhPtr client;  // until the send has completed
    if (is_server_) {
      client = receive(which);
      send(which, client.get(), peer_.qkey);
    } else {
      send(which, handle_.get(), peer_.qkey);
      receive(which);
    }
    endpoint_.wait_sent();
  }
}

void Exchange::run_bursts(uint32_t size) {
  for (uint32_t burst = 0; burst < kBursts; ++burst) {
    control_.barrier(kBarrierBurst);
    for (uint32_t i = 0; i < kBurst; ++i) {
      send({i, size, true, false, 1}, handle_.get(), peer_.qkey);
    }
    std::set<uint32_t> missing;
    for (uint32_t i = 0; i < kBurst; ++i) missing.insert(i);
    while (!missing.empty()) {
      const ibv_wc completion = endpoint_.wait_received();
      const uint32_t number = ntohl(completion.imm_data) - immediate_of(0);
      if (missing.erase(number) == 0) mismatch("a datagram that is not, or no longer, due");
      const Case which{number, size, true, false, 1};
      check_completion(completion, which);
      check_buffer(endpoint_.receive_buffer(completion.wr_id), which);
      endpoint_.post_receive(completion.wr_id);
    }
    for (uint32_t i = 0; i < kBurst; ++i) endpoint_.wait_sent();
  }
}

void Exchange::run_wrong_qkey() {
  const Case dropped{1000, 16, false, false, 1};
  const Case taken{1001, 17, false, false, 1};
  control_.barrier(kBarrierBurst);
  send(dropped, handle_.get(), kAnotherQKey);
  send(taken, handle_.get(), peer_.qkey);
  endpoint_.wait_sent();
  endpoint_.wait_sent();
  receive(taken);
  control_.barrier(kBarrierReceived);
  if (endpoint_.received_more()) mismatch("a datagram that was not to come");
}

void Exchange::run_controlled_qkey() {
  const Case only{1002, 18, false, false, 1};
  control_.barrier(kBarrierBurst);
  if (is_server_) {
    receive(only);
  } else {
    // Both queue pairs have the same Q_Key, so our own is the right one for the peer.
    send(only, handle_.get(), kFollowQueuePair | kAnotherQKey);
    endpoint_.wait_sent();
  }
  control_.barrier(kBarrierReceived);
}

}  // namespace ud_verify

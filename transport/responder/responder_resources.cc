// SPDX-License-Identifier: BSD-2-Clause
#include "transport/responder/responder_resources.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "transport/responder/responder.h"

namespace urxe {
namespace {

/// Positions count up for ever (mod 2^32), so there are a power of two places.
uint32_t slot_mask(uint32_t capacity) {
  return std::bit_ceil(capacity) - 1;
}

ResponderResource& at(ResponderState& resp, uint32_t position) {
  return resp.resources[position & slot_mask(resp.resource_capacity)];
}

uint32_t begin(const ResponderState& resp) {
  return resp.resource_end - resp.resource_count;
}

}  // namespace

void set_resource_capacity(QueuePair& qp, uint32_t capacity) {
  ResponderState& resp = qp.responder;
  if (capacity == resp.resource_capacity) return;
  auto resources = std::make_unique<ResponderResource[]>(slot_mask(capacity) + 1U);
  const uint32_t kept = std::min(resp.resource_count, capacity);
  uint32_t pending = 0;
  for (uint32_t p = resp.resource_end - kept; p != resp.resource_end; ++p) {
    resources[p & slot_mask(capacity)] = at(resp, p);
    if (at(resp, p).pending) ++pending;
  }
  resp.resources = std::move(resources);
  resp.resource_capacity = capacity;
  resp.resource_count = kept;
  resp.pending_resources = pending;
}

bool has_room_for_resource(ResponderState& resp) {
  if (resp.resource_count < resp.resource_capacity) return true;
  if (resp.resource_capacity == 0) return false;
  // A request beyond the limit shows that the peer has the oldest one's answer. An answer that is
  // still owed to a duplicate of it is not needed any more.
  const ResponderResource& oldest = at(resp, begin(resp));
  return !oldest.pending || oldest.answered;
}

ResponderResource* add_resource(ResponderState& resp) {
  if (!has_room_for_resource(resp)) return nullptr;
  ResponderResource& resource = at(resp, resp.resource_end);
  if (resp.resource_count == resp.resource_capacity) {
    ResponderResource& oldest = at(resp, begin(resp));
    if (oldest.pending) finish_pending(resp, oldest);
  } else {
    ++resp.resource_count;
  }
  ++resp.resource_end;
  ++resp.pending_resources;
  resource = ResponderResource{};
  resource.pending = true;
  resource.begins_at = resp.position;
  return &resource;
}

ResponderResource* first_pending(ResponderState& resp) {
  if (resp.pending_resources == 0) return nullptr;
  uint32_t& p = resp.first_pending;
  if (p - begin(resp) > resp.resource_count) p = begin(resp);
  for (; p != resp.resource_end; ++p) {
    if (at(resp, p).pending) return &at(resp, p);
  }
  return nullptr;
}

bool is_being_read(ResponderState& resp, RKey rkey) {
  if (resp.pending_resources == 0) return false;
  for (uint32_t p = begin(resp); p != resp.resource_end; ++p) {
    const ResponderResource& resource = at(resp, p);
    const bool is_read = resource.kind == ResponderResource::Kind::kRead;
    if (is_read && resource.pending && !resource.answered && resource.rkey == rkey) return true;
  }
  return false;
}

ResponderResource* find_resource(ResponderState& resp, Psn psn) {
  constexpr uint64_t kMaxAge = 1U << 23;  // a PSN further back is one to come
  for (uint32_t p = resp.resource_end; p != begin(resp); --p) {
    ResponderResource& resource = at(resp, p - 1);
    if (resp.position - resource.begins_at > kMaxAge) return nullptr;
    const uint32_t index = (psn.value() - resource.first_psn.value()) & Psn::kMask;
    if (index < resource.packets) return &resource;
  }
  return nullptr;
}

void execute_again(ResponderState& resp, ResponderResource& again, uint32_t index,
                   uint32_t reply_length, uint32_t mtu) {
  if (!again.pending) ++resp.pending_resources;
  resp.first_pending = begin(resp);
  again.pending = true;
  again.next = again.resumed_at = index;
  again.reply_length = reply_length;
  again.until = reply_length == 0 ? 1 : (reply_length - 1) / mtu + 1;
  const bool is_part = reply_length < again.length;
  for (uint32_t p = begin(resp); p != resp.resource_end && !is_part; ++p) {
    ResponderResource& later = at(resp, p);
    if (later.pending && later.first_psn.is_after(again.first_psn)) later.next = later.resumed_at;
  }
}

void finish_pending(ResponderState& resp, ResponderResource& done) {
  done.pending = false;
  done.answered = true;
  --resp.pending_resources;
}

}  // namespace urxe

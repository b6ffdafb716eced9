// SPDX-License-Identifier: BSD-2-Clause
#include "tests/interop/replay/conversation.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "transport/device/gsi.h"

namespace urxe::replay {
namespace {

constexpr uint32_t kFirstFreeQpn = 0x7000;
/// What an Ethernet interface of the usual 1500 bytes allows.
constexpr uint32_t kUsualMtu = 1024;

/// Frames that go the same way to the same queue pair.
struct Stream {
  Service service;
  Gid source;
  Endpoint destination;
  std::optional<Qpn> source_qp;  ///< of datagrams
  Frames frames;
};

Stream stream_of(const Frame& frame) {
  const Headers& headers = frame.headers();
  Stream stream{frame.service(), frame.packet.flow.source, {}, {}, {}};
  stream.destination = {frame.packet.flow.destination, headers.bth.dest_qp};
  if (stream.service == Service::kUd) stream.source_qp = headers.deth.source_qp;
  return stream;
}

bool same_way(const Stream& a, const Stream& b) {
  return a.service == b.service && a.source == b.source && a.destination == b.destination &&
         a.source_qp == b.source_qp;
}

std::vector<Stream> find_streams(const std::vector<Frame>& frames, bool of_requests) {
  std::vector<Stream> streams;
  for (const Frame& frame : frames) {
    if (frame.info().is_request != of_requests) continue;
    Stream own = stream_of(frame);
    if (own.service == Service::kUd && own.destination.qpn == kGsiQpn) continue;
    auto it = std::find_if(streams.begin(), streams.end(),
                           [&](const Stream& stream) { return same_way(stream, own); });
    if (it == streams.end()) it = streams.insert(it, std::move(own));
    it->frames.push_back(&frame);
  }
  return streams;
}

bool answers(const Stream& responses, const Stream& requests) {
  if (responses.service != requests.service || responses.source != requests.destination.gid ||
      responses.destination.gid != requests.source) {
    return false;
  }
  return std::any_of(responses.frames.begin(), responses.frames.end(), [&](const Frame* response) {
    return std::any_of(requests.frames.begin(), requests.frames.end(),
                       [&](const Frame* request) { return request->psn() == response->psn(); });
  });
}

/// The first request's PSN may have been recorded late: it was lost at first.
Psn lowest_psn(const Frames& frames) {
  Psn lowest = frames.front()->psn();
  for (const Frame* frame : frames) {
    if (frame->psn().is_before(lowest)) lowest = frame->psn();
  }
  return lowest;
}

/// Only packets that others of their message follow tell the path MTU.
bool is_full(const Frame& frame) {
  const OpcodeInfo& info = frame.info();
  return frame.operation() == Operation::kReadResponseFirst ||
         frame.operation() == Operation::kReadResponseMiddle ||
         (info.is_request && info.has_payload && !info.ends_message);
}

uint32_t mtu_of(const Conversation& conversation) {
  uint32_t largest = 0;
  for (const Frames* frames : {&conversation.requests, &conversation.responses}) {
    for (const Frame* frame : *frames) {
      const auto bytes = static_cast<uint32_t>(frame->view.payload.size());
      if (is_full(*frame)) return bytes;
      largest = std::max(largest, bytes);
    }
  }
  return std::max(kUsualMtu, std::bit_ceil(largest));
}

Conversation conversation_of(Stream stream, const std::vector<Stream>& all_responses) {
  Conversation conversation;
  conversation.service = stream.service;
  conversation.responder = stream.destination;
  conversation.requester = {stream.source, stream.source_qp.value_or(Qpn{})};
  const auto responses =
      std::find_if(all_responses.begin(), all_responses.end(),
                   [&](const Stream& candidate) { return answers(candidate, stream); });
  if (responses != all_responses.end()) {
    conversation.requester.qpn = responses->destination.qpn;
    conversation.responses = responses->frames;
  }
  conversation.start = lowest_psn(stream.frames);
  conversation.requests = std::move(stream.frames);
  conversation.mtu = mtu_of(conversation);
  return conversation;
}

bool is_other_direction(const Conversation& a, const Conversation& b) {
  return a.service == b.service && a.responder == b.requester && a.requester == b.responder;
}

void name_unknown_requesters(std::vector<Conversation>& conversations) {
  uint32_t free = kFirstFreeQpn;
  for (Conversation& conversation : conversations) {
    if (conversation.requester.qpn == Qpn{}) conversation.requester.qpn = Qpn{free++};
  }
}

/// The larger packets of one direction show the path MTU of both.
void share_mtu(std::vector<Conversation>& conversations) {
  for (Conversation& a : conversations) {
    for (const Conversation& b : conversations) {
      if (is_other_direction(a, b)) a.mtu = std::max(a.mtu, b.mtu);
    }
  }
}

}  // namespace

std::vector<Conversation> find_conversations(const std::vector<Frame>& frames) {
  const std::vector<Stream> responses = find_streams(frames, false);
  std::vector<Conversation> conversations;
  for (Stream& requests : find_streams(frames, true)) {
    conversations.push_back(conversation_of(std::move(requests), responses));
  }
  name_unknown_requesters(conversations);
  share_mtu(conversations);
  return conversations;
}

}  // namespace urxe::replay

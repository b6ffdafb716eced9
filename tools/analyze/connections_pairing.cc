// SPDX-License-Identifier: BSD-2-Clause
// Which two streams are the directions of one connection. PSNs alone may not tell: many queue pairs
// of one host may begin with the same one.
#include <algorithm>

#include "tools/analyze/connections.h"

namespace urxe::analyze {
namespace {

constexpr size_t kMostHeldOfAll = 32768;
constexpr size_t kMostCandidates = 256;

}  // namespace

void Connections::join(Stream& one, Stream& other) {
  one.opposite = &other;
  other.opposite = &one;
}

void Connections::hold(Stream& stream, const HeldPacket& packet) {
  if (!stream.alone || stream.service == Service::kUc) return;
  if (stream.held.add(packet, held_ < kMostHeldOfAll)) ++held_;
}

void Connections::release(Stream& stream) {
  held_ -= stream.held.packets().size();
  stream.held.clear();
}

/// Responses came before it was known whose they are: takes all packets again, in the order in
/// which they came, or only those responses if not all were kept.
void Connections::look_again(Stream& one, Stream& other) {
  const bool all = one.held.is_complete() && other.held.is_complete();
  ViolationLog seen;  // those of the requests are known already
  if (all) one.requests = other.requests = RequestFlow();
  for (const HeldPackets::Item& item : merge(one.held, other.held)) {
    Stream& stream = item.of_first ? one : other;
    const CapturedPacket packet = item.packet->restore();
    if (item.packet->corrupted()) {
      if (all) take_corrupted(stream, *item.packet->corrupted());
      continue;
    }
    if (packet.view.headers.bth.opcode == kGapQueryOpcode) {
      if (all) stream.requests.on_gap_query(packet);
      continue;
    }
    if (!opcode_info(packet.view.headers.bth.opcode).is_request) {
      stream.opposite->requests.on_response(packet, seen);
      --stream.unmatched_responses;
    } else if (all) {
      stream.requests.on_request(packet, seen);
    }
  }
}

void Connections::marry(Stream& responses, Stream& requests) {
  join(responses, requests);
  const bool look = responses.held.has_responses() || requests.held.has_responses();
  for (Stream* const one : {&responses, &requests}) {
    std::erase(alone_[{one->source.bytes, one->destination.bytes}], one);
    one->alone = false;
    one->candidates.reset();
  }
  if (responses.was_ambiguous || requests.was_ambiguous) {
    responses.was_ambiguous = requests.was_ambiguous = true;
  }
  if (look) look_again(responses, requests);
  for (Stream* const one : {&responses, &requests}) {
    if (one->was_ambiguous) one->requests.doubt_peer();
    release(*one);
  }
}

bool Connections::may_be_pair(const Stream& responses, const Stream& requests) {
  if (&responses == &requests || !requests.alone || requests.service != responses.service) {
    return false;
  }
  const auto& back = requests.candidates;
  return !back || std::find(back->begin(), back->end(), &responses) != back->end();
}

/// Leaves the candidates whose requests the packet may answer. What begins with it must fit as well
/// as `least` says.
void Connections::narrow(Stream& responses, const CapturedPacket& packet, RequestFlow::Fit least) {
  const std::vector<Stream*>& all =
      responses.candidates ? *responses.candidates
                           : alone_[{responses.destination.bytes, responses.source.bytes}];
  if (responses.candidates) least = RequestFlow::Fit::kPossible;
  std::vector<Stream*> left;
  std::copy_if(all.begin(), all.end(), std::back_inserter(left), [&](Stream* stream) {
    return may_be_pair(responses, *stream) && stream->requests.fit(packet) >= least;
  });
  if (left.size() > 1) responses.was_ambiguous = true;
  // None: the capture has missed something.
  if (left.empty() || left.size() > kMostCandidates) return responses.candidates.reset();
  responses.candidates = std::move(left);
}

void Connections::pair(Stream& responses, const CapturedPacket& packet) {
  narrow(responses, packet, RequestFlow::Fit::kGood);
  const auto& candidates = responses.candidates;
  if (candidates && candidates->size() == 1) marry(responses, *candidates->front());
}

/// After the last packet. `by_order`: those that could be anybody's go to the first one that they
/// fit. Returns whether there was anything to pair.
bool Connections::pair_what_is_left(bool by_order) {
  for (Stream& stream : streams_) {
    if (!stream.alone || !stream.held.has_responses()) continue;
    const HeldPacket& newest = stream.held.newest_response();
    narrow(stream, newest.restore(), RequestFlow::Fit::kPossible);
    if (!stream.candidates || (stream.candidates->size() > 1 && !by_order)) continue;
    marry(stream, *stream.candidates->front());
    return true;
  }
  return false;
}

}  // namespace urxe::analyze

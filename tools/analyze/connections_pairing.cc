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
  for (Stream* const stream : {&one, &other}) {
    if (stream->held.is_complete() || !stream->held.has_responses()) continue;
    stream->opposite->requests.on_response(stream->held.newest_response().restore(), seen);
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
  return !back || std::any_of(back->begin(), back->end(), [&](const Candidate& candidate) {
    return candidate.stream == &responses;
  });
}

/// Leaves the candidates whose requests the packet may answer.
void Connections::narrow(Stream& responses, const CapturedPacket& packet) {
  std::vector<Candidate> before;
  if (responses.candidates) {
    before = std::move(*responses.candidates);
  } else {
    for (Stream* const stream : alone_[{responses.destination.bytes, responses.source.bytes}]) {
      before.push_back({stream});
    }
  }
  std::vector<Candidate> left;
  for (Candidate candidate : before) {
    if (!may_be_pair(responses, *candidate.stream)) continue;
    const RequestFlow::Fit fit = candidate.stream->requests.fit(packet);
    if (fit == RequestFlow::Fit::kNone) continue;
    if (fit == RequestFlow::Fit::kGood) ++candidate.good;
    left.push_back(candidate);
  }
  if (left.size() > 1) responses.was_ambiguous = true;
  responses.candidates.reset();
  // None: the capture has missed something.
  if (!left.empty() && left.size() <= kMostCandidates) responses.candidates = std::move(left);
}

/// The candidate that more responses fit than any other, by `lead` or more; null: none, or several.
Stream* Connections::choose(const Stream& responses, uint32_t lead) {
  if (!responses.candidates) return nullptr;
  const Candidate* best = nullptr;
  uint32_t second = 0;
  for (const Candidate& candidate : *responses.candidates) {
    if (best != nullptr) second = std::max(second, std::min(best->good, candidate.good));
    if (best == nullptr || candidate.good > best->good) best = &candidate;
  }
  const bool alone = responses.candidates->size() == 1 && best->good != 0;
  return alone || best->good >= second + lead ? best->stream : nullptr;
}

void Connections::pair(Stream& responses, const CapturedPacket& packet) {
  constexpr uint32_t kClear = 3;
  narrow(responses, packet);
  if (Stream* const requests = choose(responses, kClear)) marry(responses, *requests);
}

/// After the last packet. `by_order`: those that could be anybody's go to the first one that they
/// fit. Returns whether there was anything to pair.
bool Connections::pair_what_is_left(bool by_order) {
  for (Stream& stream : streams_) {
    if (!stream.alone || !stream.held.has_responses()) continue;
    narrow(stream, stream.held.newest_response().restore());
    Stream* const requests = choose(stream, by_order ? 0 : 1);
    if (requests == nullptr) continue;
    marry(stream, *requests);
    return true;
  }
  return false;
}

}  // namespace urxe::analyze

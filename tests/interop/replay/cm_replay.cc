// SPDX-License-Identifier: BSD-2-Clause
#include "tests/interop/replay/cm_replay.h"

#include <algorithm>

#include "tests/interop/replay/packet_comparison.h"

namespace urxe::replay {
namespace {

bool is_mad(const Frame& frame) {
  return frame.service() == Service::kUd && frame.headers().bth.dest_qp == kGsiQpn;
}

CmMessage message_of(const Frame& frame) {
  return parse_cm_message(frame.view.payload).value();
}

/// The packet of `frame` with another MAD (and PSN) in it.
class Remade {
 public:
  Remade(const Frame& frame, const MadBytes& mad, Psn psn) : frame_(frame) {
    Headers headers = frame.headers();
    headers.bth.psn = psn;
    uint8_t* out = batch_.append(frame.packet.flow, headers, mad.size());
    std::ranges::copy(mad, out);
    batch_.commit();
    frame_.packet = {batch_.bytes(batch_.messages()[0]), frame.packet.flow, 0};
    frame_.view = parse(frame_.packet).value();
  }
  [[nodiscard]] const Frame& frame() const { return frame_; }

 private:
  TxBatch batch_{TxBatch::Limits{}};
  Frame frame_;
};

CmEvent::Kind event_of(const CmBody& body) {
  using enum CmEvent::Kind;
  switch (attribute_of(body)) {
    case CmAttribute::kReq:
      return kRequest;
    case CmAttribute::kMra:
      return kMra;
    case CmAttribute::kRej:
      return kRejected;
    case CmAttribute::kRep:
      return kReply;
    case CmAttribute::kRtu:
      return kEstablished;
    case CmAttribute::kDreq:
      return kDisconnectRequest;
    case CmAttribute::kDrep:
      return kDisconnected;
    case CmAttribute::kSidrReq:
      return kServiceRequest;
    case CmAttribute::kSidrRep:
      return kServiceReply;
    case CmAttribute::kLap:
      return kAlternatePath;
    default:
      return kAlternateAnswer;
  }
}

/// The state of a communication once the message was sent, or received; nullopt: any.
std::optional<CmState> state_after(const CmBody& body, bool sent) {
  using enum CmState;
  switch (attribute_of(body)) {
    case CmAttribute::kReq:
      return sent ? kReqSent : kReqReceived;
    case CmAttribute::kRep:
      return sent ? kRepSent : kRepReceived;
    case CmAttribute::kRtu:
      return kEstablished;
    case CmAttribute::kDreq:
      return sent ? kDreqSent : kDreqReceived;
    case CmAttribute::kDrep:
      return kTimeWait;
    case CmAttribute::kSidrReq:
      return sent ? kSidrReqSent : kSidrReqReceived;
    case CmAttribute::kSidrRep:
    case CmAttribute::kRej:
      return kIdle;
    default:
      return std::nullopt;
  }
}

/// Whether the message refuses a request because nobody listens: the manager says so by itself.
bool is_unknown_service(const CmBody& body) {
  const auto* rej = std::get_if<CmRej>(&body);
  return rej != nullptr && rej->reason == CmRejectReason::kInvalidServiceId;
}

std::optional<uint64_t> guid_in(const CmBody& body) {
  if (const auto* req = std::get_if<CmReq>(&body)) return req->local_ca_guid;
  if (const auto* rep = std::get_if<CmRep>(&body)) return rep->local_ca_guid;
  return std::nullopt;
}

}  // namespace

Frames find_mads(const Story& story) {
  Frames mads;
  for (const Frame& frame : story.frames()) {
    if (is_mad(frame)) mads.push_back(&frame);
  }
  return mads;
}

std::vector<Gid> find_managers(const Story& story) {
  std::vector<Gid> gids;
  for (const Frame* frame : find_mads(story)) {
    const Gid& sender = frame->packet.flow.source;
    if (std::ranges::find(gids, sender) == gids.end()) gids.push_back(sender);
  }
  return gids;
}

CmReplay::CmReplay(const Story& story, const Gid& side)
    : story_(story), side_(side), adapter_(side), cm_(adapter_.device().cm()) {
  adapter_.run_until(kStart);
  configure();
  listen();
}

/// With the recorded side's GUID, so that it need not be translated.
void CmReplay::configure() {
  CmConfig config;
  for (const Frame* frame : find_mads(story_)) {
    const auto guid = guid_in(message_of(*frame).body);
    if (guid && frame->packet.flow.source == side_) config.ca_guid = *guid;
  }
  cm_.configure(config);
}

/// For what the recorded side did not refuse as unknown.
void CmReplay::listen() {
  const Frames mads = find_mads(story_);
  for (const Frame* frame : mads) {
    if (frame->packet.flow.destination != side_) continue;
    const CmMessage asked = message_of(*frame);
    const bool unknown = std::ranges::any_of(mads, [&](const Frame* answer) {
      const CmMessage said = message_of(*answer);
      return said.transaction_id == asked.transaction_id && is_unknown_service(said.body);
    });
    if (unknown) continue;
    const auto* req = std::get_if<CmReq>(&asked.body);
    const auto* sidr = std::get_if<CmSidrReq>(&asked.body);
    if (req != nullptr) (void)cm_.listen(req->service_id, ~uint64_t{0}, std::nullopt);
    if (sidr != nullptr) (void)cm_.listen(sidr->service_id, ~uint64_t{0}, std::nullopt);
  }
}

void CmReplay::run(Ledger& ledger) {
  for (const Frame* frame : find_mads(story_)) {
    adapter_.run_until(frame->time);
    if (frame->packet.flow.source == side_) {
      send(*frame, ledger);
    } else {
      receive(*frame, ledger);
    }
  }
  check_end(ledger);
}

void CmReplay::receive(const Frame& frame, Ledger& ledger) {
  const CmMessage message = translation_.for_us(message_of(frame));
  const Remade remade(frame, emit_cm_message(message), frame.psn());
  adapter_.receive(remade.frame().packet);
  expect_event(message, frame, ledger);
}

void CmReplay::expect_event(const CmMessage& message, const Frame& frame, Ledger& ledger) {
  const auto event = cm_.take_event();
  const auto* req = std::get_if<CmReq>(&message.body);
  const bool unknown_service = req != nullptr && compared_ < adapter_.sent().size();
  if (unknown_service && !event) return;  // refused already
  if (!event) return ledger.error("no event: " + describe(frame));
  if (event->kind != event_of(message.body)) ledger.error("another event: " + describe(frame));
  if (event->body != message.body) ledger.error("event's message differs: " + describe(frame));
  if (event->flow != frame.packet.flow) ledger.error("event's flow differs: " + describe(frame));
  if (const auto peers = sender_id(message.body)) by_peers_id_[*peers] = event->id;
  expect_state(event->id, message.body, frame, ledger);
}

void CmReplay::expect_state(CommId id, const CmBody& body, const Frame& frame,
                            Ledger& ledger) const {
  const auto state = state_after(body, frame.packet.flow.source == side_);
  if (state && cm_.state(id) != state) ledger.error("another state after: " + describe(frame));
}

void CmReplay::send(const Frame& frame, Ledger& ledger) {
  const CmMessage recorded = message_of(frame);
  if (compared_ == adapter_.sent().size() && !act(recorded.body, frame)) {
    return ledger.error("the device cannot do that: " + describe(frame));
  }
  adapter_.transmit();
  if (compared_ == adapter_.sent().size()) {
    return ledger.error("is not sent by ours: recorded " + describe(frame));
  }
  const Frame& ours = adapter_.sent()[compared_++];
  if (!is_mad(ours)) return ledger.error("ours is no MAD: " + describe(ours));
  translation_.learn(message_of(ours), recorded);
  compare(ours, frame, ledger);
  if (is_unknown_service(recorded.body)) return;  // there was no communication
  const CommId id = id_for(sender_id(recorded.body).value_or(CommId{}),
                           receiver_id(recorded.body).value_or(CommId{}));
  expect_state(id, recorded.body, frame, ledger);
}

void CmReplay::compare(const Frame& ours, const Frame& recorded, Ledger& ledger) {
  if (ours.psn() != Psn(static_cast<uint32_t>(compared_ - 1))) {
    ledger.error("QP1 does not count its packets: " + describe(ours));
  }
  const CmMessage message = message_of(ours);
  const CmMessage translated = translation_.as_recorded(message);
  if (ours.psn() != recorded.psn()) ledger.note(Difference::kGsiPsn, describe(ours));
  if (translated != message) ledger.note(Difference::kCmIds, describe(ours));
  const Remade remade(ours, emit_cm_message(translated), recorded.psn());
  compare_packets(remade.frame(), recorded, ledger);
}

/// All that was sent has its recorded counterpart; nothing that came was dropped.
void CmReplay::check_end(Ledger& ledger) const {
  if (compared_ != adapter_.sent().size()) {
    ledger.error("was never recorded: ours " + describe(adapter_.sent()[compared_]));
  }
  if (cm_.has_event()) ledger.error("an event that no message explains");
  const auto& drops = cm_.counters().drops;
  const auto& duplicates = cm_.counters().duplicates;
  const auto none = [](uint64_t count) { return count == 0; };
  if (!std::ranges::all_of(drops, none)) ledger.error("a MAD was dropped");
  if (!std::ranges::all_of(duplicates, none)) ledger.error("a MAD was taken for a duplicate");
}

}  // namespace urxe::replay

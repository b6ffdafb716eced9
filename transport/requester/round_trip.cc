// SPDX-License-Identifier: BSD-2-Clause
#include "transport/requester/round_trip.h"

#include <algorithm>

namespace urxe {
namespace {

/// After so many round trips of silence an answer that comes by chance within one round trip of the
/// probe is rare.
constexpr int64_t kLongSilence = 32;

/// If a timer is served later than this, and after more than twice its time, this process did not
/// run in between.
constexpr Duration kLate = milliseconds(20);

/// An answer has come to a packet sent at `sent`, after a long silence. If it came within a round
/// trip after the probe, it was the probe's: what was sent before, or its answer, is lost.
void note_prompt_answer(QueuePair& qp, Instant sent, Instant now) {
  const RequesterState& req = qp.requester;
  const Duration bound = qp.path->round_trip_bound();
  const bool was_probed = req.last_probe != RequesterState::Probe::kNone;
  const bool was_long = req.awaits_since - sent > bound * kLongSilence;
  if (was_probed && was_long && now - req.awaits_since < bound) qp.path->note_loss(now);
}

}  // namespace

void note_absence(const ChannelAdapter& ca, RequesterState& req, Instant now) {
  if (ca.host_is_crowded || req.sample_end) return;
  for (const MaybeInstant& due : {req.probe_deadline, req.ack_deadline}) {
    if (due && now - *due > std::max(kLate, *due - req.awaits_since)) {
      req.sample_end = *due;
      return;
    }
  }
}

void take_round_trip(const ChannelAdapter& ca, QueuePair& qp, Psn acknowledged, Instant now) {
  RequesterState& req = qp.requester;
  if (!req.sample_sent || acknowledged.is_before(req.sample_psn)) return;
  const Instant sent = *req.sample_sent;
  req.sample_sent.reset();
  note_absence(ca, req, now);
  const Instant came = req.sample_end ? std::max(sent, *req.sample_end) : now;
  const Duration taken = came - sent;
  // After a silence the answer is perhaps to the probe; not if the probe was the newest packet and
  // it names one before that. Such a sample does not count, or a lost packet would be taken for a
  // slow peer. Meanwhile the probe timer stays backed off.
  const bool before_probe =
      req.last_probe == RequesterState::Probe::kNewest && acknowledged.is_before(req.probed);
  if (req.sample_is_doubtful && !before_probe) {
    req.doubtful_sample = taken;
    return note_prompt_answer(qp, sent, now);
  }
  req.doubtful_sample.reset();
  qp.path->on_round_trip(taken);
  qp.path->on_answer(sent, now);
  req.probe_backoff = 0;
  req.probe_answered = false;
}

void take_doubtful_sample(QueuePair& qp) {
  RequesterState& req = qp.requester;
  if (!req.doubtful_sample) return;
  qp.path->on_round_trip(*req.doubtful_sample);
  req.doubtful_sample.reset();
  req.probe_backoff = 0;
}

}  // namespace urxe

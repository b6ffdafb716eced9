// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <limits>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "tools/analyze/captured_packet.h"
#include "tools/analyze/corrupted_packets.h"
#include "tools/analyze/flow_counts.h"
#include "tools/analyze/flow_trace.h"
#include "tools/analyze/message_queue.h"
#include "tools/analyze/psn_line.h"
#include "tools/analyze/rate_series.h"
#include "tools/analyze/read_responses.h"
#include "tools/analyze/silences.h"
#include "tools/analyze/violation.h"

namespace urxe::analyze {

/// The requests of one queue pair, as they pass the capture point, and the responses to them. All
/// of it is bounded, however many packets there are.
class RequestFlow {
 public:
  /// A PSN further away than this is another connection's: the queue pair began anew.
  static constexpr int64_t kJump = 65536;
  /// How far below the first packet of a capture its overtaken predecessors may be.
  static constexpr int64_t kBeforeFirst = 64;

  using Turn = analyze::Turn;

  RequestFlow() = default;
  /// The connection's first PSN, its path MTU (0: unknown), and its local ACK timeout (0: unknown;
  /// else 4.096 us * 2^n), as its exchange of CM messages says.
  RequestFlow(Psn start, uint32_t path_mtu, uint8_t ack_timeout);

  /// Takes a request packet. False: it is not of this connection, but of a later one, and was not
  /// taken.
  bool on_request(const CapturedPacket& packet, ViolationLog& log);
  void on_response(const CapturedPacket& packet, ViolationLog& log);
  /// urxe's own packets about losses: a query of the requester, and a report of the responder.
  void on_gap_query(const CapturedPacket& packet);
  void on_gap_report(const CapturedPacket& packet);
  /// Packets with a wrong ICRC that were to be a request, a response, or a GAP Query.
  void on_corrupted_request(const CorruptedPacket& packet);
  void on_corrupted_response(const CorruptedPacket& packet);
  void on_corrupted_query(const CorruptedPacket& packet);
  /// Whether the PSN is close to that of the newest packet.
  [[nodiscard]] bool is_near(Psn psn) const;
  /// How a response fits the requests.
  enum class Fit : uint8_t {
    kNone,
    kPossible,  ///< its request was not seen: the capture may lack it
    kGood,      ///< there is such a request
  };
  /// For a queue pair whose peer is sought.
  [[nodiscard]] Fit fit(const CapturedPacket& response);
  /// Several queue pairs could be the peer: what its responses do wrong is not certain.
  void doubt_peer() { peer_is_certain_ = false; }
  /// At the end of the capture.
  void finish();

  [[nodiscard]] const FlowCounts& counts() const { return counts_; }
  [[nodiscard]] const MessageQueue& messages() const { return messages_; }
  [[nodiscard]] const RateSeries& rate() const { return rate_; }
  [[nodiscard]] uint64_t missing() const { return line_.missing(); }
  [[nodiscard]] uint32_t path_mtu() const { return path_mtu_; }
  /// By CM; nullopt: not known.
  [[nodiscard]] std::optional<int64_t> ack_timeout_ns() const { return ack_timeout_ns_; }
  [[nodiscard]] bool failed() const { return failed_; }
  /// Who has to send the next packet.
  [[nodiscard]] Turn turn() const;
  /// Messages that were repeated in vain.
  [[nodiscard]] uint64_t lost_messages() const;
  [[nodiscard]] const FlowTrace& trace() const { return trace_; }
  [[nodiscard]] const Silences& silences() const { return silences_; }
  /// What stands for the PSN that is 0 in the trace.
  [[nodiscard]] Psn trace_origin() const;

 private:
  struct Span {
    int64_t least = 1;
    int64_t most = 1;
  };
  struct RnrNak {
    LongPsn psn = 0;
    int64_t time_ns = 0;
  };
  /// A packet that did not come, and between which times it should have.
  struct Lost {
    LongPsn psn = 0;
    int64_t from_ns = 0;
    int64_t to_ns = 0;
  };
  /// Packets that filled a hole, until what follows tells whether they were late or sent again.
  struct PendingFill {
    LongPsn next = 0;
    std::vector<Lost> packets;
    bool reported = false;   ///< a GAP Report asked for them
    bool too_early = false;  ///< for a time-out, if that is why they were sent again
  };
  /// A packet that was sent again as if after a time-out. It was a probe if nothing behind it
  /// follows.
  struct LoneRepeat {
    LongPsn next = 0;
    Mark mark;
    bool answered = false;   ///< its answer had been seen
    bool too_early = false;  ///< for a time-out
    bool ran_out = false;    ///< the ACK timeout had, so it is no probe
  };
  /// A packet that came again although nothing asked for it.
  struct UnaskedRepeat {
    Mark mark;
    int64_t gap_ns = 0;       ///< since the copy before
    bool is_timeout = false;  ///< its distance tells so
    bool is_probe = false;    ///< and counts as one
  };
  /// A packet that looked as if it was delivered twice.
  struct Twice {
    LongPsn psn = 0;
    LongPsn next = 0;
    Mark mark;
    bool was_lost = false;  ///< counted as lost before
    bool guessed = false;   ///< counted in guessed_copies
  };
  struct LastMsn {
    LongPsn psn = 0;
    Msn msn;
  };

  // What happens when: request_flow_marks.cc
  void note_time(const CapturedPacket& packet);
  void mark(FlowEvent event, LongPsn psn);
  // Requests: request_flow.cc
  [[nodiscard]] LongPsn lengthen(Psn psn) const;
  [[nodiscard]] Span span_of(const CapturedPacket& packet) const;
  [[nodiscard]] uint16_t identification_of(const CapturedPacket& packet) const;
  void begin(const CapturedPacket& packet);
  bool is_another(const CapturedPacket& packet, LongPsn psn);
  void count_request(const CapturedPacket& packet);
  void take_new(const CapturedPacket& packet, LongPsn psn, ViolationLog& log);
  void take_missing(const CapturedPacket& packet, LongPsn psn, const Hole& hole, ViolationLog& log);
  void settle_read(LongPsn next, bool exact = false);
  void shorten_read(LongPsn psn);
  void put_record(const CapturedPacket& packet, LongPsn psn, bool late);
  // Packets that come again: request_flow_repeats.cc
  bool take_overtaken(const CapturedPacket& packet, LongPsn psn);
  void take_repeat(const CapturedPacket& packet, LongPsn psn);
  void renew_record(PsnRecord& record, const CapturedPacket& packet, LongPsn psn,
                    RepeatReason reason);
  [[nodiscard]] bool goes_on_behind_fill(LongPsn psn) const;
  void resolve_fill(bool sent_again);
  RepeatReason reason_for(const CapturedPacket& packet, LongPsn psn, const PsnRecord* record);
  [[nodiscard]] bool is_part_of_read(const CapturedPacket& packet, LongPsn psn);
  [[nodiscard]] bool is_early(const CapturedPacket& packet, LongPsn psn, const PsnRecord& record);
  [[nodiscard]] bool is_too_early(const CapturedPacket& packet, int64_t sent_ns) const;
  [[nodiscard]] bool is_copy(const CapturedPacket& packet, LongPsn psn);
  [[nodiscard]] bool was_late(LongPsn psn, const PsnRecord* record) const;
  [[nodiscard]] bool is_passed_over(const CapturedPacket& packet, LongPsn psn,
                                    const PsnRecord& record) const;
  [[nodiscard]] bool crosses_nak(const CapturedPacket& packet, LongPsn psn,
                                 const PsnRecord* record) const;
  void forget_stale_nak(const CapturedPacket& packet);
  [[nodiscard]] bool is_newest_alone(const CapturedPacket& packet, LongPsn psn) const;
  void settle_twice(LongPsn next);
  void settle_lone_repeat(std::optional<LongPsn> next, int64_t now_ns = 0);
  void take_probe(const CapturedPacket& packet, LongPsn psn);
  [[nodiscard]] bool timer_ran_out(const CapturedPacket& packet) const;
  void restart_timer(int64_t time_ns);
  bool repeats_tell_timeout(LongPsn psn, const PsnRecord* record);
  [[nodiscard]] bool is_told_timeout(const CapturedPacket& packet) const;
  bool is_probe(const CapturedPacket& packet, LongPsn psn, const PsnRecord* record, bool alone);
  void begin_episode(RepeatReason reason, LongPsn psn, const CapturedPacket& packet);
  void note_skipped(LongPsn from, LongPsn to);
  void note_lost(const Lost& lost);
  [[nodiscard]] Psn wire_psn(LongPsn psn) const {
    return trace_origin() + static_cast<uint32_t>(psn);
  }
  void take_back_loss(LongPsn psn);
  // What urxe says of losses: request_flow_gaps.cc
  void take_late_query(Psn number);
  [[nodiscard]] bool was_sent_in_vain(LongPsn psn, Psn query) const;
  [[nodiscard]] bool was_repair(const PsnRecord& record) const;
  void note_reported(LongPsn psn, PsnRecord& record, Psn query);
  [[nodiscard]] std::optional<Psn> next_query() const;
  // Rules: request_flow_rules.cc
  void check_order(const CapturedPacket& packet, LongPsn psn, int64_t span, ViolationLog& log);
  void check_size(const CapturedPacket& packet, ViolationLog& log);
  void check_length(const CapturedPacket& packet, const Message& message, ViolationLog& log);
  [[nodiscard]] bool may_count_anew(LongPsn psn, Msn msn) const;
  void check_msn(const CapturedPacket& packet, LongPsn psn, ViolationLog& log);
  void check_response_kind(const CapturedPacket& packet, LongPsn psn, ViolationLog& log);
  void check_read_response(const CapturedPacket& packet, const Message& message, LongPsn psn,
                           ViolationLog& log);
  // Responses: request_flow_responses.cc
  void acknowledge(LongPsn end, int64_t time_ns);
  void on_ack(const CapturedPacket& packet, LongPsn psn);
  void on_cut_answer(const CapturedPacket& packet, LongPsn psn);
  void on_nak(const CapturedPacket& packet, LongPsn psn, uint8_t code);
  void on_sequence_nak(LongPsn psn);
  void on_atomic_ack(const CapturedPacket& packet, LongPsn psn);
  void learn_mtu(const CapturedPacket& packet);
  // Responses to READs: request_flow_reads.cc
  void on_read_response(const CapturedPacket& packet, LongPsn psn, ViolationLog& log);
  [[nodiscard]] bool ends_read(const CapturedPacket& packet, LongPsn psn);
  void extend_read(const CapturedPacket& packet, LongPsn psn);
  void put_response(const CapturedPacket& packet, Message& message, LongPsn psn);
  void note_missing(LongPsn from, LongPsn to);
  void count_missing(LongPsn from, LongPsn to);
  void take_back_missing(LongPsn psn);
  void ask_again(Message& message, const CapturedPacket& packet, LongPsn psn);

  FlowCounts counts_;
  MessageQueue messages_;
  ReadResponses responses_;
  RateSeries rate_;
  PsnLine line_;
  FlowTrace trace_;
  Silences silences_;
  uint64_t now_frame_ = 0;  ///< of the packet at hand
  int64_t now_ns_ = 0;

  bool begun_ = false;
  bool reliable_ = true;  ///< not UC
  Psn anchor_;            ///< stands for anchor_long_
  LongPsn anchor_long_ = 0;
  LongPsn first_ = 0;     ///< the lowest PSN that was seen
  LongPsn expected_ = 0;  ///< the least that the next new packet may have
  LongPsn expected_most_ = 0;
  std::optional<LongPsn> open_read_;  ///< a READ whose end is not known
  uint32_t path_mtu_ = 0;             ///< 0: not known yet
  std::optional<int64_t> ack_timeout_ns_;
  uint16_t source_port_ = 0;
  uint16_t first_identification_ = 0;
  uint16_t newest_identification_ = 0;
  bool identifications_count_ = true;

  std::optional<LongPsn> nak_;  ///< the lowest PSN sequence error that nothing was sent for yet
  std::optional<RnrNak> rnr_;
  std::optional<LongPsn> cut_answer_;    ///< the last one since the requester went back
  std::optional<LongPsn> episode_next_;  ///< while the requester goes back: what comes next
  RepeatReason episode_reason_ = RepeatReason::kTimeout;
  std::optional<LoneRepeat> lone_;
  std::optional<LongPsn> last_nak_;  ///< also if something came for it already
  int64_t nak_ns_ = 0;               ///< when that came
  std::optional<Twice> twice_;
  bool sends_probes_ = false;  ///< as urxe does
  int64_t timer_ns_ = 0;       ///< when the requester has started its ACK timer
  uint32_t timeouts_in_row_ = 0;
  std::optional<UnaskedRepeat> unasked_;  ///< the newest one, if no CM message tells the timeout
  int64_t last_request_ns_ = 0;
  bool goes_back_ = false;       ///< not only with repairs
  bool episode_broken_ = false;  ///< a packet that should have been repeated did not come by
  /// Counted as lost; a copy that comes still shows that it was overtaken only. Bounded.
  std::set<LongPsn> believed_lost_;
  /// Those that a requester has passed over while it went back. Bounded.
  std::set<LongPsn> passed_over_;
  std::optional<PendingFill> fill_;
  CorruptedPackets corrupted_;
  CorruptedPackets corrupted_responses_;
  CorruptedPackets corrupted_queries_;
  int64_t last_response_ns_ = 0;
  std::optional<Psn> query_;  ///< the last GAP Query
  int64_t query_ns_ = 0;
  /// From a GAP Report to the repair that came soonest.
  int64_t least_repair_ns_ = std::numeric_limits<int64_t>::max();
  /// Queries that count as lost, and where they are marked. Bounded.
  std::map<uint32_t, LongPsn> lost_queries_;

  bool peer_is_certain_ = true;
  LongPsn acknowledged_ = std::numeric_limits<LongPsn>::min();  ///< everything below it
  std::optional<LastMsn> last_msn_;
  bool failed_ = false;
};

}  // namespace urxe::analyze

// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "packet/wire/opcode.h"
#include "packet/wire/psn.h"

namespace urxe::analyze {

/// A PSN that does not wrap: counted on from the first one of a flow.
using LongPsn = int64_t;

/// What is kept of a request packet. `span`: the PSNs that it takes, more than one for a READ.
struct PsnRecord {
  Opcode opcode;
  uint16_t identification = 0;
  uint32_t payload = 0;
  int64_t span = 1;
  int64_t time_ns = 0;  ///< of the newest copy
  int64_t sent_ns = 0;  ///< of the newest copy that is no probe, and that the network did not make
  /// It came out of order, or behind a hole: then the responder dropped the newest copy.
  bool doubtful = false;
  bool ack_req = false;
  bool open_end = false;     ///< a READ of which it is not known how many PSNs it takes
  bool lost_behind = false;  ///< the newest copy counts as lost behind the capture point
  bool reported = false;     ///< a GAP Report has asked for it since the newest copy
  /// Only a GAP Report that has seen this GAP Query means the newest copy; nullopt: any report
  /// does.
  std::optional<Psn> query;
};

/// What the responder has said of missing packets.
enum class Asked : uint8_t { kNot, kByNak, kByReport };

/// PSNs that were passed over: [first, end).
struct Hole {
  LongPsn end = 0;
  int64_t time_ns = 0;          ///< when a later packet showed it
  uint16_t identification = 0;  ///< of that packet
  Asked asked = Asked::kNot;    ///< whether the responder has asked for it
  /// A GAP Report that has seen this GAP Query asks because the repair was lost, too.
  std::optional<Psn> query = std::nullopt;
  int64_t asked_ns = 0;  ///< when it was asked for, so that this query follows
  int64_t since_ns = 0;  ///< when the packet before that one came
};

/// GAP Queries, seen from a GAP Report.
struct ReportQueries {
  Psn seen;             ///< the last one that the responder knows
  Psn next;             ///< the one that ends the repairs which the report asks for
  int64_t time_ns = 0;  ///< of the report
};

/// The request packets of a flow by PSN: the newest ones, and the holes between them. Bounded: the
/// oldest ones are forgotten, but what is missing is still counted.
class PsnLine {
 public:
  static constexpr size_t kMaxRecords = 2048;
  static constexpr size_t kMaxHoles = 256;

  void put(LongPsn psn, const PsnRecord& record);
  /// The packet that takes `psn`, and the first PSN that it takes.
  std::optional<std::pair<LongPsn, PsnRecord*>> find(LongPsn psn);
  /// The packet that ends right before `psn`, or that begins at it.
  [[nodiscard]] const PsnRecord* ending_before(LongPsn psn) const;
  [[nodiscard]] const PsnRecord* beginning_at(LongPsn psn) const;
  /// The PSNs of the packets that begin in [from, to), and those of the holes there. If there are
  /// more than `most`, it stops at the first one beyond.
  [[nodiscard]] std::vector<LongPsn> between(LongPsn from, LongPsn to, size_t most) const;

  void open_hole(LongPsn first, const Hole& hole);
  [[nodiscard]] const Hole* hole_at(LongPsn psn) const;
  /// The end of what is missing from `psn` on, in one hole or in several that meet.
  [[nodiscard]] LongPsn missing_until(LongPsn psn) const;
  /// Takes [psn, psn + span) out of the holes, up to the first packet that is there.
  void fill(LongPsn psn, int64_t span);
  /// The responder asks for [from, to); in a GAP Report, if there are `queries`.
  void ask_for(LongPsn from, LongPsn to, Asked how,
               std::optional<ReportQueries> queries = std::nullopt);
  /// The PSNs in [from, to) that were asked for already, and for which the requester has sent
  /// repairs that a report with this query does not know of.
  [[nodiscard]] std::vector<LongPsn> asked_in_vain(LongPsn from, LongPsn to, Psn query) const;
  /// Calls `visit(psn, record)` for the packets that begin in [from, to).
  template <typename Visitor>
  void visit_records(LongPsn from, LongPsn to, const Visitor& visit) {
    for (auto it = records_.lower_bound(from); it != records_.end() && it->first < to; ++it) {
      visit(it->first, it->second);
    }
  }
  /// Forgets the holes below `end`. Returns how many PSNs they had.
  uint64_t close_holes_below(LongPsn end);
  [[nodiscard]] bool has_hole_below(LongPsn psn) const {
    return !holes_.empty() && holes_.begin()->first < psn;
  }
  /// The end of the last hole that begins below `psn`.
  [[nodiscard]] std::optional<LongPsn> end_of_hole_below(LongPsn psn) const;
  /// All packets turn out to have come behind a hole.
  void doubt_all();
  /// How many PSNs the holes have now, with those that were forgotten.
  [[nodiscard]] uint64_t missing() const;

 private:
  using Holes = std::map<LongPsn, Hole>;
  [[nodiscard]] Holes::const_iterator hole_of(LongPsn psn) const;
  void bound_holes();

  std::map<LongPsn, PsnRecord> records_;
  Holes holes_;
  uint64_t forgotten_ = 0;       ///< PSNs of holes that were forgotten
  LongPsn forgotten_until_ = 0;  ///< and the end of the last one of these
};

}  // namespace urxe::analyze

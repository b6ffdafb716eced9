// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstdint>
#include <map>

#include "packet/base/intrusive_list.h"
#include "packet/base/time.h"
#include "transport/cm/communications/communication.h"
#include "transport/cm/requests/seen_requests.h"

namespace urxe {

/// A peer's host, and its requests that are not connections yet: an IPv4 address, a link-local
/// address, or the 64-bit prefix of an IPv6 address, since a host may have all addresses of one.
struct RequestSource : ListHook<struct SourcesThatWait> {
  using Key = std::array<uint8_t, 16>;
  Key key{};
  IntrusiveList<Communication, HalfOpenMembers> waiting;
  IntrusiveList<Communication, RepliedOfSource> unanswered;  ///< the REP was not; oldest first
  uint32_t waits = 0;                                        ///< size of `waiting`
  uint32_t told = 0;       ///< the consumer has them and has not answered
  uint32_t replied = 0;    ///< the REP was not answered
  uint32_t confirmed = 0;  ///< connections
  [[nodiscard]] uint32_t half_open() const { return waits + told + replied; }
  [[nodiscard]] bool is_known() const { return confirmed > 0; }
};
RequestSource::Key source_key(const Gid& address);

/// Bounds the communications that strangers' requests make: for each source and in all. Requests
/// that the bounds hold back wait here; the consumer hears of them when others of their source have
/// become connections, or have ended. So a flood that nobody stands behind costs the consumer few
/// queue pairs, and other sources get their turn. What finds no room to wait is dropped, and
/// repeated by its sender.
///
/// One source gets a part of the room that is left, so there is always some for the next. A quarter
/// of all room is for sources with connections, which also come first. If very
/// many sources have half-open communications, their addresses may be forged: a request of another
/// source is then taken when it comes again, after a pause, which costs its sender a retry.
class RequestGate {
 public:
  explicit RequestGate(const CmConfig& config);

  /// The source of a request that may come in, for add(); nullptr: it is dropped.
  [[nodiscard]] RequestSource* admit(const Gid& peer, CommId id, Qpn qpn, Instant now);
  /// The communication of a request that has been admitted waits now; see take_next().
  void add(RequestSource& source, Communication& communication);
  /// The other way after admit(): there is no communication after all.
  void give_up(RequestSource& source);
  /// The next that the consumer shall hear of, if the bounds allow one. It counts as told. Begins
  /// with `first`, whose counts have just changed, if it is not nullptr.
  Communication* take_next(const RequestSource::Key* first);

  /// The consumer has answered with a REP.
  void on_reply(Communication& communication, Instant now);
  /// The peer has proved that it exists.
  void on_confirmed(Communication& communication);
  /// The communication is over.
  void leave(Communication& communication);

  /// The communication whose REP has been unanswered for longest, if it must make room for others;
  /// nullptr: none.
  [[nodiscard]] Communication* overdue(Instant now);
  /// The same among those of `peer`'s source, if that has reached its bound.
  [[nodiscard]] Communication* overdue_of(const Gid& peer, Instant now);

 private:
  [[nodiscard]] bool is_suspect(const RequestSource* source) const;
  [[nodiscard]] bool is_full(bool known) const;
  IntrusiveList<RequestSource, SourcesThatWait>& turns_of(const RequestSource& source);
  Communication* take_turn(IntrusiveList<RequestSource, SourcesThatWait>& turns);
  [[nodiscard]] bool may_tell(const RequestSource& source) const;
  [[nodiscard]] bool has_share_left(const RequestSource& source) const;
  Communication* take_from(RequestSource& source);
  RequestSource* find(const RequestSource::Key& key);
  RequestSource* make(const RequestSource::Key& key);
  void change(Communication& c, HalfOpen next);
  void count(RequestSource& source, HalfOpen stage, uint32_t change);

  const CmRequestLimits limits_;
  std::map<RequestSource::Key, RequestSource> sources_;
  IntrusiveList<RequestSource, SourcesThatWait> known_turns_;
  IntrusiveList<RequestSource, SourcesThatWait> turns_;
  IntrusiveList<Communication, HalfOpenMembers> replied_list_;  ///< oldest first
  uint32_t waits_ = 0;
  uint32_t told_ = 0;
  uint32_t replied_ = 0;
  uint32_t half_open_sources_ = 0;
  SeenRequests seen_;
};

}  // namespace urxe

// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/random.h"
#include "tests/transport/cm/sim/sim_ledger.h"
#include "tests/transport/cm/sim/sim_options.h"
#include "transport/cm/connection_manager.h"

namespace urxe::cmsim {

Gid node_gid(uint32_t node);
inline constexpr uint64_t kGuidBase = 0x0200'5500'0000'0000ULL;

/// What a consumer knows of one of its communications.
enum class Phase : uint8_t {
  kConnecting,
  kReplied,
  kRequested,
  kAccepted,
  kEstablished,
  kDisconnecting,
  kDisconnectRequested,
  kEnded,  ///< idle, or in time-wait
  kIdle,   ///< time-wait is over
  kResolving,
  kServing,
};
const char* phase_name(Phase phase);

struct Conversation {
  Phase phase = Phase::kConnecting;
  bool active = false;
  uint32_t peer_node = 0;
  Qpn local_qpn;
  Qpn remote_qpn;
  CommId remote_id;
  uint32_t outcomes = 0;  ///< of a connect() or resolve_service(): one in the end
  bool alternate_pending = false;
};

/// A channel adapter's connection manager and its consumers, which do at random whatever they may.
class Node {
 public:
  Node(const Options& options, uint32_t index, uint64_t seed, Ledger& ledger,
       std::function<void(const std::string&)> fail);

  // --- Of the world.
  void receive(const OutgoingMad& mad, Instant now);
  void run(Instant now);  ///< what is due
  [[nodiscard]] std::optional<Instant> next() const;
  const OutgoingMad* take_outgoing();
  /// Data has come for a queue pair.
  void first_request(Qpn qpn, Instant now);
  /// Queue pairs that may now send data, with their peers.
  std::vector<std::pair<uint32_t, Qpn>> take_data();
  [[nodiscard]] const Conversation* find(CommId id) const;
  /// Of all established communications: the other end.
  [[nodiscard]] std::vector<std::pair<CommId, End>> connected() const;
  /// After all is over: nothing is left, and all was counted.
  void check_end();
  /// The process is killed, and another one takes its place.
  void crash(Instant now);
  /// Nobody does.
  void die();

 private:
  using Action = std::function<void(Instant)>;
  void after(Duration least, Duration most, Action action, Instant now);
  void soon(Action action, Instant now);  ///< or later: a slow consumer
  void at(Instant time, Action action) { actions_.emplace(time, std::move(action)); }

  void forget_all();
  void listen();
  void start_connect(Instant now);
  void start_resolution(Instant now);
  void take_events(Instant now);
  void handle(const CmEvent& event, Instant now);
  void handle_request(const CmEvent& event, Instant now);
  void handle_reply(const CmEvent& event, Conversation& c, Instant now);
  void handle_service(const CmEvent& event, Conversation& c, Instant now);
  void answer_request(CommId id, Instant now);
  void answer_reply(CommId id, Instant now);
  void plan_close(CommId id, Instant now);
  void close(CommId id, Instant now);
  void established(CommId id, Instant now);
  void ended(CommId id, Instant now);
  void destroy(CommId id, Instant now);
  void load_alternate_path(CommId id, Instant now);
  void handle_alternate(const CmEvent& event, Conversation& c, Instant now);
  void count_requests(const OutgoingMad& mad);

  Conversation* in(CommId id, Phase phase);
  [[nodiscard]] End end_of(CommId id) const { return {index_, id}; }
  [[nodiscard]] End peer_of(const Conversation& c) const { return {c.peer_node, c.remote_id}; }
  /// Only where no field of a message was corrupted.
  void expect_agreed(bool condition, const std::string& what);
  void expect(bool condition, const std::string& what);
  Qpn new_qpn();

  const Options* options_;
  uint32_t index_;
  Random random_;
  std::function<void(const std::string&)> fail_;
  Ledger* ledger_;
  uint64_t seed_;
  uint32_t generation_ = 0;
  bool dead_ = false;
  ConnectionManager cm_;
  std::map<CommId, Conversation> conversations_;
  std::multimap<Instant, Action> actions_;
  std::vector<std::pair<uint32_t, Qpn>> data_;
  std::map<std::pair<uint64_t, CmAttribute>, uint32_t> requests_;  ///< by transaction: times sent
  uint32_t next_qpn_ = 2;
  uint64_t delivered_ = 0;
  uint64_t taken_ = 0;
};

}  // namespace urxe::cmsim

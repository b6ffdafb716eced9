// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "tests/interop/replay/adapter.h"
#include "tests/interop/replay/cm_translation.h"
#include "tests/interop/replay/ledger.h"
#include "tests/interop/replay/story.h"

namespace urxe::replay {

/// The frames of a recording that go to QP1.
Frames find_mads(const Story& story);
/// Who sent them, in the order in which they first did.
std::vector<Gid> find_managers(const Story& story);

/// Replays the connection management of a recording with the device under test in the place of one
/// side: it is given the other's MADs, and does as its consumer what the recorded one did, when the
/// recorded message that shows it was seen. Each message that it sends must be the recorded one,
/// byte by byte, but for ids that each draws for itself.
class CmReplay {
 public:
  CmReplay(const Story& story, const Gid& side);

  /// What does not agree goes into the ledger.
  void run(Ledger& ledger);

 private:
  void configure();
  void listen();
  void receive(const Frame& frame, Ledger& ledger);
  void send(const Frame& frame, Ledger& ledger);
  /// What the consumer did that made the recorded side send the message. False: unknown.
  [[nodiscard]] bool act(const CmBody& body, const Frame& frame);
  bool act_on(const CmReq& req, const Frame& frame);
  bool act_on(const CmRep& rep, const Frame& frame);
  bool act_on(const CmRtu& rtu, const Frame& frame);
  bool act_on(const CmRej& rej, const Frame& frame);
  bool act_on(const CmMra& mra, const Frame& frame);
  bool act_on(const CmDreq& dreq, const Frame& frame);
  bool act_on(const CmDrep& drep, const Frame& frame);
  bool act_on(const CmSidrReq& req, const Frame& frame);
  bool act_on(const CmSidrRep& rep, const Frame& frame);
  bool act_on(const CmLap& lap, const Frame& frame);
  bool act_on(const CmApr& apr, const Frame& frame);
  /// Our id for what a message is about: by the sender's id in it, or by the peer's.
  [[nodiscard]] CommId id_for(CommId own, CommId peers) const;
  void expect_event(const CmMessage& message, const Frame& frame, Ledger& ledger);
  void expect_state(CommId id, const CmBody& body, const Frame& frame, Ledger& ledger) const;
  void compare(const Frame& ours, const Frame& recorded, Ledger& ledger);
  void check_end(Ledger& ledger) const;

  const Story& story_;
  Gid side_;
  Adapter adapter_;
  ConnectionManager& cm_;
  CmTranslation translation_;
  std::map<CommId, CommId> by_peers_id_;
  size_t compared_ = 0;  ///< of the MADs that the device has sent
};

}  // namespace urxe::replay

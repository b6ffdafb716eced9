// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "packet/base/time.h"
#include "tools/drill/qp_attributes.h"
#include "tools/drill/script.h"
#include "tools/drill/stage.h"
#include "tools/drill/wire/agent_device.h"
#include "tools/drill/wire/rdmacm.h"

namespace urxe::drill {

/// The calls of a connection manager's script, by librdmacm, on a device's address. It makes no
/// queue pair: the numbers of those are the script's. Everything goes with the object.
class CmEnd {
 public:
  static constexpr size_t kMaxIds = 64;

  CmEnd(const AgentDevice& device, const Peer& peer) : device_(device), peer_(peer) {}
  CmEnd(const CmEnd&) = delete;
  CmEnd& operator=(const CmEnd&) = delete;
  ~CmEnd();

  /// Does a statement: cm or call. The first makes what the others need.
  Outcome act(const Statement& statement);
  /// Up to `limit` events that were not taken yet, of CmEvent::Kind.
  std::vector<uint64_t> events(size_t limit);

 private:
  Outcome begin();
  Outcome call(const Statement& statement);
  Outcome listen(const Statement& statement);
  Outcome connect(const Statement& statement);
  Outcome accept(const Statement& statement);
  /// An id bound to the device's address; nullptr: errno.
  rdma_cm_id* bound_id(uint16_t port);
  /// Waits for an event of the id under way, and takes others. False: it failed.
  bool wait_for(rdma_cm_event_type type);
  /// Takes the events that are there.
  void take_events();

  const AgentDevice& device_;
  Peer peer_;
  const Rdmacm* cm_ = nullptr;
  rdma_event_channel* channel_ = nullptr;
  std::vector<rdma_cm_id*> ids_;
  rdma_cm_id* current_ = nullptr;  ///< of the last CONNECT or REQUEST
  std::deque<uint64_t> events_;
  std::optional<rdma_cm_event_type> resolved_;  ///< the last event of a resolution
};

}  // namespace urxe::drill

// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "packet/base/expected.h"
#include "packet/base/strong_int.h"
#include "packet/wire/ethernet/frame_match.h"
#include "packet/wire/ethernet/rx_frame.h"
#include "transport/raw_packet/flow_rule.h"

namespace urxe {

struct QueuePair;

/// Names a rule of a SteeringTable.
using FlowId = StrongInt<struct FlowIdTag, uint32_t>;

/// The flow steering rules of a device, and the queue pairs that they lead to. Equal rules, which
/// are those with equal matches and priorities, are one with several queue pairs, each of which
/// gets a copy, as with mlx5. Of different rules that match, the one with the lowest priority
/// number decides, or among equal numbers the oldest.
class SteeringTable {
 public:
  static constexpr size_t kMaxRules = 1024;  ///< of all queue pairs

  /// ENOMEM: too many; EEXIST: an equal rule has another action.
  Expected<FlowId, Errno> add(QueuePair& qp, const FlowRule& rule);
  void remove(FlowId id);
  /// Removes all rules that lead to a queue pair.
  void forget(const QueuePair& qp);
  [[nodiscard]] bool empty() const { return rules_.empty(); }

  /// Where a frame goes.
  struct Result {
    std::span<QueuePair* const> queue_pairs;  ///< each once; valid until the next call
    bool dropped = false;                     ///< by a rule
  };
  /// `is_rdma`: the frame is for the RoCE transport of this device, so only sniffers get it.
  [[nodiscard]] Result find(const RxFrame& frame, const FrameHeaders& headers, bool is_rdma);

  /// The frames for which find() may have an answer.
  [[nodiscard]] FrameInterest interest() const;

 private:
  struct Destination {
    FlowId id;
    QueuePair* qp = nullptr;
  };
  struct Entry {
    FlowRule rule;
    bool names_destination = false;  ///< takes frames to other hosts if they match
    std::vector<Destination> destinations;
  };
  template <class IsGone>
  void erase(IsGone is_gone);
  [[nodiscard]] bool takes(const Entry& entry, const RxFrame& frame,
                           const FrameHeaders& headers) const;
  void add_found(const Entry& entry);

  std::vector<Entry> rules_;  ///< in the order in which they are tried
  std::vector<QueuePair*> found_;
  size_t count_ = 0;  ///< destinations
  uint32_t next_id_ = 1;
};

}  // namespace urxe

// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "tests/sim/endpoint.h"
#include "tests/sim/memory.h"
#include "tests/sim/pace.h"
#include "tests/sim/plan.h"
#include "tests/sim/posting.h"
#include "tests/sim/receive_pool.h"
#include "tests/sim/source.h"
#include "tests/sim/unacknowledged_sends.h"
#include "tests/support/random.h"
#include "transport/device/device.h"

namespace urxe::sim {

class UdSide;

/// All UD queue pairs of a run, each of which sends to any of them, itself included, and the groups
/// that they join, leave and send to.
struct DatagramNet {
  std::vector<UdSide*> sides;
  std::vector<Gid> groups;
};

/// A UD queue pair and the model of what may come of it. Datagrams may be lost and overtake each
/// other; one that is received is exactly one that was sent to this queue pair, or to a group that
/// it has joined, with its Q_Key, and the GRH before it is right.
class UdSide final : public Endpoint {
 public:
  UdSide(const Plan& plan, Device& device, Memory& memory, QueuePair& qp, PdId pd,
         ReceivePool& pool, Random random);

  /// The longest datagram.
  static uint32_t max_length(const Plan& plan);
  static uint32_t draw_qkey(Random& random);

  void connect_model(const DatagramNet& net);

  [[nodiscard]] bool owns(uint32_t qpn) const override { return qp_.qpn.value() == qpn; }
  void on_completion(const ibv_wc& wc) override;
  void post_some(Instant now) override;
  void stop() override;
  void post_last() override;
  [[nodiscard]] bool idle() const override {
    return sends_.empty() && remaining_ == 0 && !sends_.in_error();
  }
  [[nodiscard]] bool failed() const override { return false; }
  void check_end() const override;
  void flush(Instant now) override;
  [[nodiscard]] std::string describe() const override;

 private:
  static constexpr size_t kNoGroup = SIZE_MAX;

  struct Message {
    UdSide* destination = nullptr;  ///< nullptr: a group or a queue pair that does not exist
    size_t group = kNoGroup;
    Gid to;
    bool has_imm = false;
    uint32_t immediate_be = 0;
    std::vector<uint8_t> data;
    uint32_t qkey = 0;  ///< on the wire
    uint8_t traffic_class = 0;
    uint8_t hop_limit = 0;
    bool bad = false;
    std::vector<UdSide*> receivers;  ///< who has received it, each as often as it has
    std::vector<UdSide*> due;        ///< who must receive it
  };
  struct Membership {
    bool now = false;
    bool ever = false;
  };

  [[nodiscard]] Gid gid() const { return device_.config().gids[0]; }
  [[nodiscard]] uint32_t qkey() const { return qp_.attr.qkey; }

  // Making requests (datagram_traffic.cc).
  [[nodiscard]] bool reaches(uint32_t other_qkey) const;
  void change_membership();
  Message draw_destination();
  void post_one(Message message, bool last);
  void address(Message& message, SendRequest& request, bool last);
  void post_last_to(UdSide& other);
  void post_last_to_group(size_t group);

  // Judging completions (ud_side.cc).
  void on_receive(const ibv_wc& wc);
  [[nodiscard]] bool is_for_this(const Message& message) const;
  [[nodiscard]] bool matches(const Message& message, const UdSide& sender, const ibv_wc& wc,
                             const Receive& receive) const;
  [[nodiscard]] bool grh_is_right(const Message& message, const UdSide& sender,
                                  const std::vector<uint8_t>& grh) const;

  const Plan& plan_;
  Device& device_;
  QueuePair& qp_;
  ReceivePool& pool_;
  Source source_;
  Random random_;
  const DatagramNet* net_ = nullptr;
  std::vector<Membership> memberships_;  ///< by group
  Pace pace_;
  bool stopped_ = false;
  bool flushing_ = false;
  uint32_t remaining_;
  uint64_t next_wr_id_ = 1;
  UnacknowledgedSends sends_;
  std::vector<Message> sent_;
  size_t last_from_ = SIZE_MAX;  ///< of `sent_`, what must arrive
};

}  // namespace urxe::sim

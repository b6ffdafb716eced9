// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tools/drill/qp_attributes.h"
#include "tools/drill/script.h"
#include "tools/drill/stage.h"
#include "tools/drill/wire/agent_device.h"

namespace urxe::drill {

/// The verbs of a script on a device: its queue pair, regions, and what they report. Everything
/// goes with the object.
class VerbsEnd {
 public:
  static constexpr size_t kMaxRegions = 64;

  VerbsEnd(const AgentDevice& device, const Peer& peer) : device_(device), peer_(peer) {}
  VerbsEnd(const VerbsEnd&) = delete;
  VerbsEnd& operator=(const VerbsEnd&) = delete;
  ~VerbsEnd();

  /// Does a statement: qp, mr, post, recv, srq or modify. The first makes what the others need.
  Outcome act(const Statement& statement);
  /// The number of the queue pair; the key of the region that a statement has made.
  [[nodiscard]] uint32_t qpn() const { return qp_ == nullptr ? 0 : qp_->qp_num; }
  [[nodiscard]] uint32_t rkey(const std::string& region) const;
  /// Up to `limit` completions or events that were not taken yet.
  std::vector<ibv_wc> completions(size_t limit);
  std::vector<ibv_event_type> events(size_t limit);
  /// nullopt: the queue pair cannot be queried.
  std::optional<ibv_qp_state> state();
  [[nodiscard]] std::optional<std::vector<uint8_t>> memory(const std::string& region, size_t offset,
                                                           size_t length) const;

 private:
  struct Region {
    std::vector<uint8_t> pages;  ///< `bytes` begins at a page of it
    uint8_t* bytes = nullptr;
    size_t length = 0;
    ibv_mr* mr = nullptr;
  };
  Outcome make_base();
  /// What a `qp` statement asks for, of what devices may lack.
  [[nodiscard]] Outcome check_limits(const Statement& statement) const;
  Outcome make_qp(const Statement& statement);
  Outcome connect(const Statement& statement);
  Outcome add_region(const Statement& statement);
  Outcome register_region(const std::string& name, size_t length, uint64_t va, unsigned access);
  Outcome post(const Statement& statement);
  Outcome receive(const Statement& statement);
  Outcome set_limit(const Statement& statement);
  Outcome modify(const Statement& statement);
  [[nodiscard]] ibv_sge local(size_t offset, uint64_t length) const;

  const AgentDevice& device_;
  Peer peer_;
  ibv_pd* pd_ = nullptr;
  ibv_cq* cq_ = nullptr;
  ibv_srq* srq_ = nullptr;
  ibv_qp* qp_ = nullptr;
  ibv_ah* ah_ = nullptr;
  uint32_t qkey_ = 0;
  std::map<std::string, Region, std::less<>> regions_;
};

}  // namespace urxe::drill

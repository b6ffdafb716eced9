// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "packet/base/expected.h"
#include "packet/base/time.h"
#include "tools/doctor/ping/verbs_library.h"

namespace urxe::doctor {

/// Two RC queue pairs of one GID that are connected to each other. What they send goes all the way
/// to UDP port 4791 of that address and back.
class LoopPair {
 public:
  LoopPair(const VerbsLibrary& verbs, ibv_context* context) : verbs_(verbs), context_(context) {}
  ~LoopPair();
  LoopPair(const LoopPair&) = delete;
  LoopPair& operator=(const LoopPair&) = delete;

  /// The error is a line for the user.
  Expected<void, std::string> connect(int gid_index, const ibv_gid& gid);
  /// Sends 8 bytes there and back, `rounds` times or until `limit` is over, and returns how long
  /// each round trip took: at least one. A message that does not arrive within eight seconds is an
  /// error.
  Expected<std::vector<Duration>, std::string> ping(size_t rounds, Duration limit);

 private:
  static constexpr size_t kBytes = 8;
  bool make_objects();
  int bring_up(ibv_qp* qp, ibv_qp* peer, int gid_index, const ibv_gid& gid, ibv_mtu mtu) const;
  [[nodiscard]] int post_receive(size_t side);
  [[nodiscard]] int post_send(size_t side);
  Expected<void, std::string> pass(size_t from, Instant end);
  Expected<void, std::string> wait_for(size_t side, Instant end);

  const VerbsLibrary& verbs_;
  ibv_context* context_;
  ibv_pd* pd_ = nullptr;
  ibv_mr* mr_ = nullptr;
  std::array<ibv_cq*, 2> receive_cqs_{};
  std::array<ibv_cq*, 2> send_cqs_{};
  std::array<ibv_qp*, 2> qps_{};
  std::array<std::array<uint8_t, kBytes>, 4> memory_{};  ///< to send and to receive, by side
  uint64_t passed_ = 0;                                  ///< messages so far, which number them
};

}  // namespace urxe::doctor

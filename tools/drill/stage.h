// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "packet/base/expected.h"
#include "packet/wire/roce_packet.h"
#include "tools/drill/packet_fields.h"
#include "tools/drill/script.h"

namespace urxe::drill {

/// A packet that the device has sent.
struct SentPacket {
  Instant when;
  std::vector<uint8_t> bytes;
  Flow flow;
  std::optional<uint16_t> identification;  ///< as RxPacket has it
  /// A request that the device has sent before. Where time is real it may send it again when it
  /// likes: 9.7.6.1.3 bounds the time from above only.
  bool is_repeat = false;
};

/// What became of a statement that acts.
struct Outcome {
  enum class Kind : uint8_t {
    kDone,
    kRefused,     ///< by the device
    kImpossible,  ///< on this stage: the script cannot be judged
  };
  Kind kind = Kind::kDone;
  std::string why;
};

struct Window {
  Instant first;
  Instant last;
};

/// Where a packet differs from a statement; or that it is no valid packet, and why.
using Comparison = Expected<std::vector<Difference>, std::string>;

/// Where scripts run: a device under test with one queue pair, whose peer is the script.
class Stage {
 public:
  Stage() = default;
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;
  virtual ~Stage() = default;

  /// Does a statement that acts: a verb, or a packet that comes in.
  virtual Outcome act(const Statement& statement) = 0;
  /// Takes what the device has sent and reported, without letting time pass.
  virtual void settle() = 0;
  /// Lets time pass until `end`; or, with `until_sent`, until a packet waits.
  virtual void pass_until(Instant end, bool until_sent) = 0;
  /// Gives the device the time that it needs, at once, to make `holds` true; asks it at least once.
  virtual void await(const std::function<bool()>& holds) = 0;
  /// Gives the device until `end` to report an event, for a statement that has a time.
  virtual void await_event(Instant end) { pass_until(end, false); }
  /// When a packet of a `>` statement may come; `base` is the time that `when` counts from, or now.
  virtual Window window(const std::optional<When>& when, Instant base) = 0;
  /// For how long nothing happens, at least, when a script says so or ends.
  [[nodiscard]] virtual Duration quiet() const = 0;

  /// Of a RoCE packet, unless the device sends other ones.
  virtual Comparison compare(const Statement& statement, const SentPacket& packet);
  [[nodiscard]] virtual std::string show(const SentPacket& packet) const;
  [[nodiscard]] virtual std::string event_name(uint64_t event) const;
  /// Whether an event is what a statement expects.
  [[nodiscard]] virtual bool is_event(uint64_t came, uint64_t expected) const {
    return came == expected;
  }

  virtual ibv_qp_state state() = 0;
  /// Bytes of a region; nullopt: it is shorter.
  virtual std::optional<std::vector<uint8_t>> memory(const std::string& region, size_t offset,
                                                     size_t length) = 0;
  [[nodiscard]] virtual Names names() const = 0;
  [[nodiscard]] virtual Instant now() const = 0;

  std::deque<SentPacket> sent;
  std::deque<ibv_wc> completions;
  std::deque<uint64_t> events;  ///< ibv_event_type, unless the device has other ones
};

}  // namespace urxe::drill

// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "packet/wire/ethernet/ethernet_frame.h"

namespace urxe {

/// What the headers of a frame must be: values under masks (ibv_create_flow(3)). Two that match the
/// same frames by the same masks are equal.
class FrameMatch {
 public:
  /// What an offset counts from.
  enum class Base : uint8_t { kFrame, kVlanTag, kEtherType, kNetwork, kTransport };

  /// Up to four bytes of a header: `bytes` & `mask` == `value`, as big-endian numbers.
  struct Word {
    Base base = Base::kFrame;
    uint8_t offset = 0;
    uint8_t size = 0;  ///< 1, 2 or 4
    uint32_t value = 0;
    uint32_t mask = 0;
    friend bool operator==(const Word&, const Word&) = default;
  };

  /// Requires `value` under `mask`, which are of one size. Masks of zeros require nothing.
  void require(Base base, size_t offset, std::span<const uint8_t> value,
               std::span<const uint8_t> mask);
  void require_network(FrameHeaders::Network network) { network_ = network; }
  void require_transport(FrameHeaders::Transport transport) { transport_ = transport; }

  [[nodiscard]] bool matches(std::span<const uint8_t> frame, const FrameHeaders& headers) const;

  // kOther: any.
  [[nodiscard]] FrameHeaders::Network network() const { return network_; }
  [[nodiscard]] FrameHeaders::Transport transport() const { return transport_; }
  [[nodiscard]] std::span<const Word> words() const { return {words_.data(), count_}; }
  /// The destination address as far as it is required, and the mask; both zeros: any.
  struct Destination {
    MacAddress value{};
    MacAddress mask{};
  };
  [[nodiscard]] Destination destination() const;
  [[nodiscard]] bool names_destination() const { return destination().mask != MacAddress{}; }

  friend bool operator==(const FrameMatch&, const FrameMatch&) = default;

 private:
  /// All members of all filters of verbs fit.
  static constexpr size_t kMaxWords = 32;

  std::array<Word, kMaxWords> words_{};
  uint8_t count_ = 0;
  FrameHeaders::Network network_ = FrameHeaders::Network::kOther;
  FrameHeaders::Transport transport_ = FrameHeaders::Transport::kOther;
};

/// The frames that somebody wants of an interface.
struct FrameInterest {
  bool any = false;                   ///< false: none
  bool everything = false;            ///< all that arrive
  bool groups = false;                ///< all to group addresses
  bool outgoing = false;              ///< those that this host sends, too
  bool promiscuous = false;           ///< the interface must take frames to other hosts
  bool all_groups = false;            ///< the interface must take frames to all groups
  std::vector<MacAddress> addresses;  ///< the interface must take frames to these
  std::vector<FrameMatch> matches;    ///< frames that match one of these
};

}  // namespace urxe

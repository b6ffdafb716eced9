// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "packet/base/siphash.h"

namespace urxe {

/// The names and locks that stand for the slots of a directory. The kernel shows all users of the
/// host the paths of unix sockets (/proc/net/unix) and the places of locks (/proc/locks), and a
/// slot is a part of queue pair numbers. So a mark tells the slot only to those who know the
/// secret.
class SlotMarks {
 public:
  enum class Socket : uint8_t { kSlot, kServices, kLinks };
  /// All locks of slots lie in this range, from kLocks on, and no other locks do.
  static constexpr uint64_t kLocks = uint64_t{1} << 60;
  static constexpr uint64_t kLockCount = kLocks;

  SlotMarks() = default;
  explicit SlotMarks(const SipKey& secret) : secret_(secret) {}

  /// The name of a socket's file: "slot-", "services-" or "links-", and 16 hexadecimal digits.
  class FileName {
   public:
    [[nodiscard]] std::string_view view() const { return {text_.data(), size_}; }

   private:
    friend class SlotMarks;
    std::array<char, 32> text_{};
    size_t size_ = 0;
  };
  [[nodiscard]] FileName file(Socket kind, uint32_t slot) const;
  /// The byte of the file "locks" that the slot's owner has locked.
  [[nodiscard]] uint64_t lock(uint32_t slot) const;

 private:
  [[nodiscard]] uint64_t mark(uint8_t kind, uint32_t slot) const;
  SipKey secret_;
};

}  // namespace urxe

// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "packet/base/expected.h"
#include "packet/engine/raw/vnet_header.h"

namespace urxe {

/// The receive ring of a packet socket: memory that the kernel writes frames into and this process
/// reads in place. A frame larger than a slot, which is a batch of segments (a super-packet), waits
/// in the socket instead and is read from there into a buffer.
class RxRing {
 public:
  /// Super-packets that can be in use at once.
  static constexpr size_t kBuffers = 8;
  /// Bytes before a frame that nothing needs once next() has returned.
  static constexpr size_t kHeadroom = sizeof(VnetHeader);

  /// What next() has found.
  struct Frame {
    /// From the Ethernet header on; the caller may change them, and kHeadroom bytes before them.
    std::span<uint8_t> bytes;
    VnetHeader vnet;
    bool whole = true;        ///< false: there was no room for the rest, the frame is lost
    uint8_t packet_type = 0;  ///< PACKET_HOST and so on (packet(7))
    std::optional<uint32_t> vlan_tag{};  ///< the first VLAN tag, which is not in `bytes`
  };

  /// Maps the ring of `blocks` blocks of a socket, which outlives this. ENOMEM.
  static Expected<RxRing, Errno> map(int fd, size_t blocks);

  RxRing(RxRing&& other) noexcept;
  RxRing& operator=(RxRing&&) = delete;
  ~RxRing();

  /// Takes the next frame. False: there is none, or all buffers or slots are in use. The bytes are
  /// valid until release().
  [[nodiscard]] bool next(Frame& frame);
  /// Gives all frames back to the kernel.
  void release();
  /// Whether next() would find a frame after release().
  [[nodiscard]] bool has_next() const;
  /// For a forked child, which does not have the memory: the destructor leaves it alone.
  void abandon() { memory_ = nullptr; }

 private:
  RxRing(int fd, uint8_t* memory, size_t blocks);
  [[nodiscard]] uint8_t* slot(size_t index) const;
  void read_large(Frame& frame);

  int fd_;
  uint8_t* memory_;
  size_t slots_;
  std::unique_ptr<uint8_t[]> buffers_;
  size_t next_ = 0;          ///< index of the slot that is read next
  size_t held_ = 0;          ///< slots before it that the kernel has not got back
  size_t used_buffers_ = 0;  ///< of buffers_
};

}  // namespace urxe

// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/raw/rx_ring.h"

#include <linux/if_packet.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "packet/engine/raw/packet_socket.h"
#include "packet/host/uncancelled.h"

namespace urxe {
namespace {

/// The largest IP packet with its Ethernet header, behind a virtio header.
constexpr size_t kFrameBufferBytes = 66 * 1024;

uint32_t load_status(const uint8_t* slot) {
  const auto* const status = reinterpret_cast<const uint32_t*>(slot);
  return __atomic_load_n(status, __ATOMIC_ACQUIRE);
}

void give_back(uint8_t* slot) {
  __atomic_store_n(reinterpret_cast<uint32_t*>(slot), uint32_t{TP_STATUS_KERNEL}, __ATOMIC_RELEASE);
}

/// The tag that the kernel has taken out of the frame: its type and its value.
std::optional<uint32_t> vlan_tag_of(const tpacket2_hdr& header) {
  constexpr uint32_t kCustomerTag = 0x8100;
  if ((header.tp_status & TP_STATUS_VLAN_VALID) == 0) return std::nullopt;
  const bool has_type = (header.tp_status & TP_STATUS_VLAN_TPID_VALID) != 0;
  const uint32_t type = has_type ? header.tp_vlan_tpid : kCustomerTag;
  return type << 16 | header.tp_vlan_tci;
}

uint8_t packet_type_of(const uint8_t* slot) {
  sockaddr_ll address{};
  std::memcpy(&address, slot + TPACKET_ALIGN(sizeof(tpacket2_hdr)), sizeof address);
  return address.sll_pkttype;
}

}  // namespace

Expected<RxRing, Errno> RxRing::map(int fd, size_t blocks) {
  const size_t bytes = blocks * kRingBlockBytes;
  void* const memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
  if (memory == MAP_FAILED) return error(errno);
  // A child would give back frames that the parent has not read.
  madvise(memory, bytes, MADV_DONTFORK);
  RxRing ring(fd, static_cast<uint8_t*>(memory), blocks);
  ring.buffers_.reset(new (std::nothrow) uint8_t[kBuffers * kFrameBufferBytes]);
  if (!ring.buffers_) return error(ENOMEM);
  return ring;
}

RxRing::RxRing(int fd, uint8_t* memory, size_t blocks)
    : fd_(fd), memory_(memory), slots_(blocks * kRingBlockSlots) {}

RxRing::RxRing(RxRing&& other) noexcept
    : fd_(other.fd_),
      memory_(std::exchange(other.memory_, nullptr)),
      slots_(other.slots_),
      buffers_(std::move(other.buffers_)),
      next_(other.next_),
      held_(other.held_),
      used_buffers_(other.used_buffers_) {}

RxRing::~RxRing() {
  if (memory_ != nullptr) munmap(memory_, slots_ / kRingBlockSlots * kRingBlockBytes);
}

uint8_t* RxRing::slot(size_t index) const {
  return memory_ + index / kRingBlockSlots * kRingBlockBytes +
         index % kRingBlockSlots * kRingSlotBytes;
}

bool RxRing::has_next() const {
  return held_ < slots_ && (load_status(slot(next_)) & TP_STATUS_USER) != 0;
}

bool RxRing::next(Frame& frame) {
  if (held_ == slots_) return false;
  uint8_t* const memory = slot(next_);
  const uint32_t status = load_status(memory);
  if ((status & TP_STATUS_USER) == 0) return false;
  const bool is_large = (status & TP_STATUS_COPY) != 0;
  if (is_large && used_buffers_ == kBuffers) return false;
  tpacket2_hdr header;
  std::memcpy(&header, memory, sizeof header);
  frame = {};
  frame.packet_type = packet_type_of(memory);
  frame.vlan_tag = vlan_tag_of(header);
  if (is_large) {
    read_large(frame);
  } else {
    // The kernel's own numbers, but a slot is as far as this process may look.
    const size_t at = std::clamp<size_t>(header.tp_mac, sizeof(VnetHeader), kRingSlotBytes);
    frame.bytes = {memory + at, std::min<size_t>(header.tp_snaplen, kRingSlotBytes - at)};
    frame.whole = header.tp_snaplen == header.tp_len && frame.bytes.size() == header.tp_snaplen;
    std::memcpy(&frame.vnet, memory + at - sizeof(VnetHeader), sizeof(VnetHeader));
  }
  next_ = next_ + 1 < slots_ ? next_ + 1 : 0;
  ++held_;
  return true;
}

void RxRing::read_large(Frame& frame) {
  uint8_t* const buffer = buffers_.get() + used_buffers_ * kFrameBufferBytes;
  iovec part{buffer, kFrameBufferBytes};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  ssize_t size = uncancelled::recvmsg(fd_, &message, MSG_DONTWAIT);
  // An error of the link is reported once, in the place of a frame, which is still there.
  if (size < 0 && errno != EAGAIN) size = uncancelled::recvmsg(fd_, &message, MSG_DONTWAIT);
  frame.whole =
      size > static_cast<ssize_t>(sizeof(VnetHeader)) && (message.msg_flags & MSG_TRUNC) == 0;
  if (!frame.whole) return;
  std::memcpy(&frame.vnet, buffer, sizeof(VnetHeader));
  frame.bytes = {buffer + sizeof(VnetHeader), static_cast<size_t>(size) - sizeof(VnetHeader)};
  ++used_buffers_;
}

void RxRing::release() {
  size_t index = (next_ + slots_ - held_) % slots_;
  for (; held_ > 0; --held_) {
    give_back(slot(index));
    index = index + 1 < slots_ ? index + 1 : 0;
  }
  used_buffers_ = 0;
}

}  // namespace urxe

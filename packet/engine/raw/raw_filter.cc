// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/raw/raw_filter.h"

#include <linux/filter.h>
#include <sys/socket.h>

#include <cerrno>
#include <vector>

#include "packet/wire/cm/mad.h"
#include "packet/wire/headers.h"
#include "packet/wire/qpn_layout.h"
#include "packet/wire/roce_packet.h"

namespace urxe {
namespace {

constexpr uint32_t kKeep = 0xffffffff;
constexpr uint32_t kDrop = 0;
constexpr uint32_t kMaxPacketType = 2;  ///< to this host, broadcast, multicast; not to others
constexpr uint32_t kVlanIdMask = 0xfff;
constexpr uint32_t kIpv4 = 0x0800;
constexpr uint32_t kIpv6 = 0x86dd;
constexpr uint32_t kUdp = 17;
constexpr uint32_t kFragmentMask = 0x7fff;
constexpr uint32_t kDontFragment = 0x4000;
constexpr uint32_t kQpnMask = 0xffffff;
/// Of the word with the destination queue pair number, from the UDP header.
constexpr uint32_t kQpnAt = 8 + 4;

constexpr uint32_t ancillary(int field) {
  return static_cast<uint32_t>(SKF_AD_OFF + field);
}
constexpr uint32_t in_ip_header(uint32_t offset) {
  return static_cast<uint32_t>(SKF_NET_OFF) + offset;
}

/// A program under construction. A condition that does not hold leads to a verdict at once.
class Program {
 public:
  void load(uint16_t size_and_mode, uint32_t k) {
    code_.push_back(BPF_STMT(static_cast<uint16_t>(BPF_LD | size_and_mode), k));
  }
  void load_ip_header_size(uint32_t at) {
    code_.push_back(BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, at));
  }
  void mask(uint32_t k) { code_.push_back(BPF_STMT(BPF_ALU | BPF_AND | BPF_K, k)); }
  void shift_right(uint32_t k) { code_.push_back(BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, k)); }
  void require_equal(uint32_t k, uint32_t otherwise) {
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, k, 1, 0));
    verdict(otherwise);
  }
  void require_unequal(uint32_t k, uint32_t otherwise) {
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, k, 0, 1));
    verdict(otherwise);
  }
  void require_above(uint32_t k, uint32_t otherwise) {
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, k, 1, 0));
    verdict(otherwise);
  }
  void require_at_most(uint32_t k, uint32_t otherwise) {
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, k, 0, 1));
    verdict(otherwise);
  }
  /// Jumps over `body`, which ends with a verdict, unless the value that was loaded is `k`.
  template <class Body>
  void when_equal(uint32_t k, Body body) {
    const size_t at = code_.size();
    code_.push_back({});
    body(*this);
    const auto skipped = static_cast<uint8_t>(code_.size() - at - 1);
    code_[at] = BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, k, 0, skipped);
  }
  void verdict(uint32_t k) { code_.push_back(BPF_STMT(BPF_RET | BPF_K, k)); }

  [[nodiscard]] Expected<void, Errno> attach(int fd) {
    const sock_fprog program{static_cast<unsigned short>(code_.size()), code_.data()};
    if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) != 0) {
      return error(errno);
    }
    return {};
  }

 private:
  std::vector<sock_filter> code_;
};

/// The word with the destination queue pair number was loaded.
void require_own_queue_pair(Program& program, uint32_t slot, uint32_t otherwise) {
  program.mask(kQpnMask);
  program.require_above(kGsiQpn.value(), otherwise);
  program.require_unequal(kMulticastQpn, otherwise);
  program.shift_right(kQpIndexBits);
  program.require_equal(slot, otherwise);
}

}  // namespace

// Offsets from the start of the frame, not from the IP header (SKF_NET_OFF): kernels before 6.16
// find by those only what is not in pages.
Expected<void, Errno> attach_packet_filter(int fd, uint32_t slot) {
  constexpr uint32_t kIpAt = 14;
  Program program;
  program.load(BPF_W | BPF_ABS, ancillary(SKF_AD_PKTTYPE));
  program.require_at_most(kMaxPacketType, kDrop);
  // A frame of a VLAN is for its own interface. With the id 0 it has a priority only.
  program.load(BPF_W | BPF_ABS, ancillary(SKF_AD_VLAN_TAG));
  program.mask(kVlanIdMask);
  program.require_equal(0, kDrop);
  program.load(BPF_H | BPF_ABS, 12);
  program.when_equal(kIpv4, [slot](Program& p) {
    p.load(BPF_B | BPF_ABS, kIpAt + 9);
    p.require_equal(kUdp, kDrop);
    p.load(BPF_H | BPF_ABS, kIpAt + 6);
    p.mask(kFragmentMask);
    p.require_equal(kDontFragment, kDrop);
    p.load_ip_header_size(kIpAt);
    p.load(BPF_H | BPF_IND, kIpAt + 2);
    p.require_equal(kRoceUdpPort, kDrop);
    p.load(BPF_W | BPF_IND, kIpAt + kQpnAt);
    require_own_queue_pair(p, slot, kDrop);
    p.verdict(kKeep);
  });
  program.require_equal(kIpv6, kDrop);
  program.load(BPF_B | BPF_ABS, kIpAt + 6);
  program.require_equal(kUdp, kDrop);
  program.load(BPF_H | BPF_ABS, kIpAt + 40 + 2);
  program.require_equal(kRoceUdpPort, kDrop);
  program.load(BPF_W | BPF_ABS, kIpAt + 40 + kQpnAt);
  require_own_queue_pair(program, slot, kDrop);
  program.verdict(kKeep);
  return program.attach(fd);
}

// Here offsets count from the UDP header. The IP header is where SKF_NET_OFF finds it.
Expected<void, Errno> attach_udp_filter(int fd, uint32_t slot, uint32_t ifindex) {
  Program program;
  program.load(BPF_W | BPF_LEN, 0);
  program.require_above(kQpnAt + 3, kKeep);
  program.load(BPF_W | BPF_ABS, ancillary(SKF_AD_IFINDEX));
  program.require_equal(ifindex, kKeep);
  program.load(BPF_W | BPF_ABS, kQpnAt);
  require_own_queue_pair(program, slot, kKeep);
  program.load(BPF_W | BPF_ABS, ancillary(SKF_AD_PROTOCOL));
  program.when_equal(kIpv4, [](Program& p) {
    p.load(BPF_H | BPF_ABS, in_ip_header(6));
    p.mask(kFragmentMask);
    p.require_equal(kDontFragment, kKeep);
    p.verdict(kDrop);
  });
  program.require_equal(kIpv6, kKeep);
  program.load(BPF_B | BPF_ABS, in_ip_header(6));
  program.require_equal(kUdp, kKeep);
  program.verdict(kDrop);
  return program.attach(fd);
}

void detach_udp_filter(int fd) {
  const int ignored = 0;
  setsockopt(fd, SOL_SOCKET, SO_DETACH_FILTER, &ignored, sizeof ignored);
}

}  // namespace urxe

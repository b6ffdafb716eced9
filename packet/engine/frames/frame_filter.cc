// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/frames/frame_filter.h"

#include <linux/filter.h>
#include <linux/if_packet.h>
#include <sys/socket.h>

#include <cerrno>
#include <vector>

#include "packet/wire/ip/ip_header.h"

namespace urxe {
namespace {

using Base = FrameMatch::Base;
using Network = FrameHeaders::Network;
using Transport = FrameHeaders::Transport;

constexpr uint32_t kKeepFrame = 0xffffffff;
constexpr uint32_t kDropFrame = 0;
constexpr uint32_t kIpAt = kEthernetHeaderBytes;
/// A load beyond the frame's end would end the program. Shorter frames are all kept.
constexpr uint32_t kAllHeaders = kIpAt + kMaxIpv4HeaderBytes + 20;
constexpr uint32_t kAnyFragment = 0x3fff;
/// With more matches the program costs more than what it keeps away.
constexpr size_t kMaxMatches = 32;

constexpr uint32_t ancillary_data(int field) {
  return static_cast<uint32_t>(SKF_AD_OFF + field);
}

uint16_t load_of(size_t size) {
  return size == 4 ? BPF_W : size == 2 ? BPF_H : BPF_B;
}

/// A program under construction. Conditions that do not hold lead to the end of the match.
class FilterProgram {
 public:
  void verdict(uint32_t k) { code_.push_back(BPF_STMT(BPF_RET | BPF_K, k)); }
  void load(uint16_t size_and_mode, uint32_t k) {
    code_.push_back(BPF_STMT(static_cast<uint16_t>(BPF_LD | size_and_mode), k));
  }
  /// Keeps the frame if `test` of the loaded value with `operand` holds.
  void keep_if(uint16_t test, uint32_t operand) {
    code_.push_back(BPF_JUMP(static_cast<uint16_t>(BPF_JMP | test | BPF_K), operand, 0, 1));
    verdict(kKeepFrame);
  }
  void keep_below(uint32_t operand) {
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, operand, 1, 0));
    verdict(kKeepFrame);
  }
  void require_equal(uint32_t value, uint32_t mask) {
    if (mask != kKeepFrame) code_.push_back(BPF_STMT(BPF_ALU | BPF_AND | BPF_K, mask));
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 1, 0));
    give_up();
  }
  void require_at_most(uint32_t value) {
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, value, 0, 1));
    give_up();
  }
  void load_ip_header_size() { code_.push_back(BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, kIpAt)); }
  /// Ends a match: frames that have come so far are kept.
  void end_match() {
    verdict(kKeepFrame);
    for (const size_t at : given_up_) code_[at].k = static_cast<uint32_t>(code_.size() - at - 1);
    given_up_.clear();
  }
  [[nodiscard]] Expected<void, Errno> attach(int fd) {
    const sock_fprog program{static_cast<unsigned short>(code_.size()), code_.data()};
    if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) != 0) {
      return error(errno);
    }
    return {};
  }

 private:
  void give_up() {
    given_up_.push_back(code_.size());
    code_.push_back(BPF_STMT(BPF_JMP | BPF_JA, 0));
  }

  std::vector<sock_filter> code_;
  std::vector<size_t> given_up_;  ///< jumps to the end of the match
};

void add_word(FilterProgram& program, const FrameMatch::Word& word) {
  switch (word.base) {
    case Base::kFrame:
      program.load(static_cast<uint16_t>(load_of(word.size) | BPF_ABS), word.offset);
      break;
    case Base::kEtherType:
      program.load(BPF_H | BPF_ABS, kEtherTypeAt);
      break;
    case Base::kNetwork:
      program.load(static_cast<uint16_t>(load_of(word.size) | BPF_ABS), kIpAt + word.offset);
      break;
    case Base::kVlanTag:
      program.load(BPF_W | BPF_ABS, ancillary_data(SKF_AD_VLAN_TAG_PRESENT));
      program.require_equal(1, kKeepFrame);
      program.load(BPF_W | BPF_ABS, ancillary_data(SKF_AD_VLAN_TAG));
      break;
    case Base::kTransport:
      return;
  }
  program.require_equal(word.value, word.mask);
}

/// Behind IPv6 the transport header may lie anywhere.
void add_transport(FilterProgram& program, const FrameMatch& match) {
  if (match.transport() == Transport::kOther || match.network() != Network::kIpv4) return;
  program.load(BPF_B | BPF_ABS, kIpAt + 9);
  program.require_equal(match.transport() == Transport::kTcp ? kTcpProtocol : kUdpProtocol,
                        kKeepFrame);
  program.load(BPF_H | BPF_ABS, kIpAt + 6);
  program.require_equal(0, kAnyFragment);
  program.load_ip_header_size();
  for (const FrameMatch::Word& word : match.words()) {
    if (word.base != Base::kTransport) continue;
    program.load(static_cast<uint16_t>(load_of(word.size) | BPF_IND), kIpAt + word.offset);
    program.require_equal(word.value, word.mask);
  }
}

void add_match(FilterProgram& program, const FrameMatch& match) {
  if (!match.names_destination()) {
    program.load(BPF_W | BPF_ABS, ancillary_data(SKF_AD_PKTTYPE));
    program.require_at_most(PACKET_MULTICAST);
  }
  if (match.network() != Network::kOther) {
    program.load(BPF_H | BPF_ABS, kEtherTypeAt);
    program.require_equal(match.network() == Network::kIpv4 ? kEtherTypeIpv4 : kEtherTypeIpv6,
                          kKeepFrame);
  }
  for (const FrameMatch::Word& word : match.words()) add_word(program, word);
  add_transport(program, match);
  program.end_match();
}

FilterProgram program_of(const FrameInterest& interest) {
  FilterProgram program;
  program.load(BPF_W | BPF_LEN, 0);
  program.keep_below(kAllHeaders);
  // Inner VLAN tags are still in the frame.
  program.load(BPF_H | BPF_ABS, kEtherTypeAt);
  program.keep_if(BPF_JEQ, kEtherTypeVlan);
  program.keep_if(BPF_JEQ, kEtherTypeServiceVlan);
  if (interest.groups) {
    program.load(BPF_B | BPF_ABS, 0);
    program.keep_if(BPF_JSET, 1);
  }
  for (const FrameMatch& match : interest.matches) add_match(program, match);
  program.verdict(kDropFrame);
  return program;
}

/// A socket without a filter keeps all frames.
Expected<void, Errno> keep_all(int fd) {
  constexpr int kUnused = 0;
  const int result = setsockopt(fd, SOL_SOCKET, SO_DETACH_FILTER, &kUnused, sizeof kUnused);
  if (result == 0 || errno == ENOENT) return {};
  return error(errno);
}

Expected<void, Errno> drop_all(int fd) {
  FilterProgram program;
  program.verdict(kDropFrame);
  const auto attached = program.attach(fd);
  if (attached || attached.error().value != ENOMEM) return attached;
  if (auto freed = keep_all(fd); !freed) return freed;
  return program.attach(fd);
}

}  // namespace

// The kernel charges for the new program before it frees the old one: both together may take
// net.core.optmem_max.
Expected<void, Errno> attach_frame_filter(int fd, const FrameInterest& interest) {
  if (!interest.any) return drop_all(fd);
  if (!interest.everything && interest.matches.size() <= kMaxMatches) {
    const auto attached = program_of(interest).attach(fd);
    if (attached || attached.error().value != ENOMEM) return attached;
  }
  return keep_all(fd);
}

}  // namespace urxe

// SPDX-License-Identifier: BSD-2-Clause
#include "packet/sharing/calibration/reuseport_program.h"

#include <linux/filter.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "packet/wire/cm/cm_codes.h"
#include "packet/wire/cm/mad.h"
#include "packet/wire/port_probe.h"
#include "packet/wire/qpn_layout.h"

#ifndef SO_ATTACH_REUSEPORT_CBPF
#define SO_ATTACH_REUSEPORT_CBPF 51
#endif

namespace urxe {
namespace {

/// The offset of the communication id that a message of the connection manager answers: after BTH,
/// DETH, MAD header and the sender's own id. A request has none; the process that gets it forwards
/// it (see GsiSharing).
constexpr uint32_t kRemoteCommIdAt = 12 + 8 + 24 + 4;

constexpr uint32_t kAttributeAt = 12 + 8 + 16;  ///< the MAD's attribute id

constexpr uint32_t kNobody = 0xffffffff;  // no such index: the kernel falls back to its hash

}  // namespace

Expected<void, Errno> attach_reuseport_program(int fd, std::span<const GroupMember> members) {
  // The program sees the UDP payload. A load beyond its end makes it return 0, a valid index.
  const auto count = static_cast<uint32_t>(members.size());
  const uint32_t to_random = 2 * count + 1;  // behind the search for the slot
  std::vector<sock_filter> program = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 4),
      BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xffffff),
      BPF_STMT(BPF_MISC | BPF_TAX, 0),
      BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kProbeOpcode, 0, 2),
      BPF_STMT(BPF_MISC | BPF_TXA, 0),
      BPF_STMT(BPF_RET | BPF_A, 0),
      BPF_STMT(BPF_MISC | BPF_TXA, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kGsiQpn.value(), 0, 7),
      BPF_STMT(BPF_LD | BPF_H | BPF_ABS, kAttributeAt),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(CmAttribute::kReq), 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(CmAttribute::kSidrReq), 0, 1),
      BPF_STMT(BPF_JMP | BPF_JA, 4 + to_random),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kRemoteCommIdAt),
      BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, kCommIdIndexBits),
      BPF_STMT(BPF_JMP | BPF_JA, 1),
      BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, kQpIndexBits),
  };
  for (const GroupMember& member : members) {
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, member.slot, 0, 1));
    program.push_back(BPF_STMT(BPF_RET | BPF_K, member.index));
  }
  program.push_back(BPF_STMT(BPF_RET | BPF_K, kNobody));
  // A process that is stopped cannot forward a request, so the peer's next try must be able to
  // reach another process.
  program.push_back(
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(SKF_AD_OFF) + SKF_AD_RANDOM));
  program.push_back(BPF_STMT(BPF_ALU | BPF_MOD | BPF_K, std::max(count, 1U)));
  for (uint32_t i = 0; i < count; ++i) {
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, i, 0, 1));
    program.push_back(BPF_STMT(BPF_RET | BPF_K, members[i].index));
  }
  program.push_back(BPF_STMT(BPF_RET | BPF_K, kNobody));
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &filter, sizeof filter) != 0) {
    return error(errno);
  }
  return {};
}

}  // namespace urxe

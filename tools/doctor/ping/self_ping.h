// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace urxe::doctor {

/// The first argument by which `urxe doctor` starts `urxe` again, in the environment that `urxe
/// run` makes. No subcommand for users.
inline constexpr const char* kSelfPingCommand = "self-ping-of-doctor";

/// Opens urxe's devices through libibverbs, pings each of their GIDs, and prints what ping_report.h
/// reads. Returns the exit status, 0 whatever the pings say.
int self_ping();

}  // namespace urxe::doctor

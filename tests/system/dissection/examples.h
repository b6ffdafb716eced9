// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <vector>

#include "packet/wire/cm/cm_message.h"

namespace urxe::test {

/// Every message of the communication manager between two IPv4 or two IPv6 addresses, with
/// distinctive values, in the order of their attributes; a second REQ, of XRC and with an alternate
/// path, is the last.
std::vector<CmMessage> cm_examples(const Gid& local, const Gid& remote);

}  // namespace urxe::test

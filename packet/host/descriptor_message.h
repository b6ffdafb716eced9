// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "packet/base/expected.h"
#include "packet/host/file_descriptor.h"

namespace urxe {

/// Messages with file descriptors between the processes of a host (SCM_RIGHTS of unix(7)).
inline constexpr size_t kMaxDescriptors = 2;

/// What came with a message.
struct ReceivedMessage {
  size_t bytes = 0;
  std::array<FileDescriptor, kMaxDescriptors> descriptors;  ///< the first ones; others have none
};

/// Sends `bytes`, at least one, with `descriptors`, of which the receiver gets copies. Never
/// blocks. EAGAIN, EPIPE, ECONNRESET, ...
Expected<void, Errno> send_message(int socket, std::span<const uint8_t> bytes,
                                   std::span<const int> descriptors);

/// Takes the next message of a socket that keeps messages apart. Never blocks. EAGAIN: none is
/// there. EPIPE: the other end has closed its socket. EMSGSIZE: it is larger than `bytes` or has
/// more than kMaxDescriptors; they are closed.
Expected<ReceivedMessage, Errno> receive_message(int socket, std::span<uint8_t> bytes);

/// Whether the process at the other end of a connected unix socket was the user's when it
/// connected, or began to listen. False for the user 65534, who stands for all users whom a user
/// namespace does not know.
bool is_peer_of_user(int socket, uid_t user);

}  // namespace urxe

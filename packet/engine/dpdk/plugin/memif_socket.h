// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

#include "packet/base/engine_error.h"
#include "packet/base/expected.h"

namespace urxe {

/// The path by which memifs of this user meet in the calling thread's network namespace. It lies in
/// the user's directory (packet/host/user_directory.h). Empty: there is none.
std::string default_memif_socket();

/// Removes the socket of a memif server that has ended. EADDRINUSE: a process listens there, whose
/// number the error tells; EEXIST: the file is no socket.
Expected<void, EngineError> clear_memif_socket(const std::string& path);

/// DPDK's descriptors of the memifs with that socket, a path or an abstract name, would stay open
/// in programs that this process executes. After its end its peers would wait for it as long as
/// such a program runs.
void close_memif_on_exec(const std::string& path);

/// For a memif server that has been removed from this process: DPDK goes on watching the descriptor
/// by which it has listened, which stays open, and would take connections that wait there for
/// memory that it has freed. Makes it a descriptor at which nothing ever happens.
void silence_memif_listener(const std::string& path);

}  // namespace urxe

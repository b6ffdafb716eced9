// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "packet/base/expected.h"
#include "provider/cm/commands/dispatch.h"
#include "provider/cm/files/user_cm.h"
#include "provider/runtime/memory/user_memory.h"

namespace urxe::cm {

/// One command on its way from the application to the connection manager.
struct CommandCall {
  /// The longest command: accept, the address commands are shorter.
  static constexpr size_t kMaxCommand = sizeof(rdma_ucm_accept);

  const Dispatcher& dispatcher;
  CmFile& file;
  size_t out = 0;                            ///< room for the response
  std::array<uint8_t, kMaxCommand> bytes{};  ///< the command, followed by zeros

  [[nodiscard]] const CommandTable& commands() const { return dispatcher.commands; }

  template <class Command>
  [[nodiscard]] Command command() const {
    static_assert(sizeof(Command) <= kMaxCommand);
    Command command;
    std::memcpy(&command, bytes.data(), sizeof command);
    return command;
  }

  /// Writes as much of the response as there is room for, because older layouts are shorter.
  template <class Response>
  Expected<void, Errno> answer(uint64_t address, const Response& response) const {
    return write_user(address, &response, std::min(out, sizeof response));
  }
};

// The commands, one each. EAGAIN of get_event: no event waits.
// NOLINTBEGIN(readability-identifier-naming)
using CommandHandler = Expected<void, Errno>(const CommandCall&);
CommandHandler handle_create_id, handle_destroy_id, handle_listen, handle_migrate_id;
CommandHandler handle_bind_ip, handle_bind, handle_resolve_ip, handle_resolve_address;
CommandHandler handle_resolve_route, handle_query_route, handle_query;
CommandHandler handle_connect, handle_accept, handle_reject, handle_disconnect, handle_notify;
CommandHandler handle_init_qp_attr, handle_get_event, handle_set_option;
CommandHandler handle_join_ip_multicast, handle_join_multicast, handle_leave_multicast;
CommandHandler handle_write_event;
// NOLINTEND(readability-identifier-naming)

}  // namespace urxe::cm

// SPDX-License-Identifier: BSD-2-Clause
// The commands that make connections and end them.
#include <cerrno>

#include "packet/wire/cm/cm_codes.h"
#include "provider/cm/commands/command_call.h"

namespace urxe::cm {

Expected<void, Errno> handle_listen(const CommandCall& call) {
  const auto command = call.command<rdma_ucm_listen>();
  return call.commands().listen(call.file, command.id, command.backlog);
}

Expected<void, Errno> handle_connect(const CommandCall& call) {
  const auto command = call.command<rdma_ucm_connect>();
  if (command.conn_param.valid == 0) return error(EINVAL);
  return call.commands().connect(call.file, command.id, command.conn_param, command.ece);
}

Expected<void, Errno> handle_accept(const CommandCall& call) {
  return call.commands().accept(call.file, call.command<rdma_ucm_accept>());
}

/// An application may give two reasons only; older layouts have zero, which means the first.
Expected<void, Errno> handle_reject(const CommandCall& call) {
  auto command = call.command<rdma_ucm_reject>();
  if (command.reason == 0) command.reason = static_cast<uint8_t>(CmRejectReason::kConsumer);
  const auto reason = static_cast<CmRejectReason>(command.reason);
  if (reason != CmRejectReason::kConsumer && reason != CmRejectReason::kVendorOptionNotSupported) {
    return error(EINVAL);
  }
  return call.commands().reject(call.file, command);
}

Expected<void, Errno> handle_disconnect(const CommandCall& call) {
  return call.commands().disconnect(call.file, call.command<rdma_ucm_disconnect>().id);
}

}  // namespace urxe::cm

// SPDX-License-Identifier: BSD-2-Clause
// The commands that make, destroy and move ids, set their options and read their events.
#include <cerrno>

#include "provider/cm/commands/command_call.h"

namespace urxe::cm {

Expected<void, Errno> handle_create_id(const CommandCall& call) {
  const auto command = call.command<rdma_ucm_create_id>();
  auto made = call.commands().create_id(call.file, command);
  if (!made) return error(made.error().value);
  auto answered = call.answer(command.response, *made);
  if (!answered) {
    rdma_ucm_destroy_id unmake{};
    unmake.id = made->id;
    (void)call.commands().destroy_id(call.file, unmake);
  }
  return answered;
}

Expected<void, Errno> handle_destroy_id(const CommandCall& call) {
  const auto command = call.command<rdma_ucm_destroy_id>();
  auto destroyed = call.commands().destroy_id(call.file, command);
  if (!destroyed) return error(destroyed.error().value);
  return call.answer(command.response, *destroyed);
}

/// Moves an id to the file that the command is written to, from the one whose descriptor it names.
Expected<void, Errno> handle_migrate_id(const CommandCall& call) {
  const auto command = call.command<rdma_ucm_migrate_id>();
  const auto from_fd = static_cast<int>(command.fd);
  const auto from = call.dispatcher.files.find(from_fd);
  if (!from) return error(from.error().value == EBADF ? EINVAL : from.error().value);
  auto migrated = call.commands().migrate_id(call.file, **from, command.id);
  if (!migrated) return error(migrated.error().value);
  (*from)->settle(from_fd);
  return call.answer(command.response, *migrated);
}

Expected<void, Errno> handle_get_event(const CommandCall& call) {
  const auto command = call.command<rdma_ucm_get_event>();
  // An event that was taken cannot be put back, so the memory for it is tried first.
  if (auto there = call.answer(command.response, rdma_ucm_event_resp{}); !there) return there;
  auto event = call.commands().get_event(call.file);
  if (!event) return error(event.error().value);
  return call.answer(command.response, *event);
}

Expected<void, Errno> handle_write_event(const CommandCall& call) {
  return call.commands().write_event(call.file, call.command<WriteEvent>());
}

Expected<void, Errno> handle_set_option(const CommandCall& call) {
  /// Longer than any option; path records are the longest.
  constexpr uint32_t kMaxOption = 4096;
  const auto command = call.command<rdma_ucm_set_option>();
  if (command.optlen > kMaxOption) return error(EINVAL);
  std::array<uint8_t, kMaxOption> value;
  if (auto read = read_user(value.data(), command.optval, command.optlen); !read) return read;
  return call.commands().set_option(call.file, command.id, command.level, command.optname,
                                    std::span<const uint8_t>(value.data(), command.optlen));
}

Expected<void, Errno> handle_init_qp_attr(const CommandCall& call) {
  const auto command = call.command<rdma_ucm_init_qp_attr>();
  if (command.qp_state > IBV_QPS_ERR) return error(EINVAL);
  auto attributes = call.commands().init_qp_attr(call.file, command.id,
                                                 static_cast<ibv_qp_state>(command.qp_state));
  if (!attributes) return error(attributes.error().value);
  return call.answer(command.response, *attributes);
}

Expected<void, Errno> handle_notify(const CommandCall& call) {
  const auto command = call.command<rdma_ucm_notify>();
  return call.commands().notify(call.file, command.id, static_cast<ibv_event_type>(command.event));
}

}  // namespace urxe::cm

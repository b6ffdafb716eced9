// SPDX-License-Identifier: BSD-2-Clause
#include "provider/cm/commands/command_table.h"

namespace urxe::cm {

const CommandTable& command_table() {
  static constexpr CommandTable kTable = {
      .add_file = add_file,
      .create_id = create_id,
      .destroy_id = destroy_id,
      .bind_address = bind_address,
      .resolve_address = resolve_address,
      .resolve_route = resolve_route,
      .query_route = query_route,
      .query_address = query_address,
      .query_path = query_path,
      .query_gid = query_gid,
      .connect = connect,
      .listen = listen,
      .accept = accept,
      .reject = reject,
      .disconnect = disconnect,
      .notify = notify,
      .init_qp_attr = init_qp_attr,
      .set_option = set_option,
      .join_multicast = join_multicast,
      .leave_multicast = leave_multicast,
      .migrate_id = migrate_id,
      .get_event = get_event,
      .write_event = write_event,
  };
  return kTable;
}

}  // namespace urxe::cm

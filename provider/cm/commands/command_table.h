// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "provider/cm/calls/commands.h"

namespace urxe::cm {

/// The calls of commands.h as the dispatcher knows them: who tests it brings others.
struct CommandTable {
  decltype(cm::add_file)* add_file;
  decltype(cm::create_id)* create_id;
  decltype(cm::destroy_id)* destroy_id;
  decltype(cm::bind_address)* bind_address;
  decltype(cm::resolve_address)* resolve_address;
  decltype(cm::resolve_route)* resolve_route;
  decltype(cm::query_route)* query_route;
  decltype(cm::query_address)* query_address;
  decltype(cm::query_path)* query_path;
  decltype(cm::query_gid)* query_gid;
  decltype(cm::connect)* connect;
  decltype(cm::listen)* listen;
  decltype(cm::accept)* accept;
  decltype(cm::reject)* reject;
  decltype(cm::disconnect)* disconnect;
  decltype(cm::notify)* notify;
  decltype(cm::init_qp_attr)* init_qp_attr;
  decltype(cm::set_option)* set_option;
  decltype(cm::join_multicast)* join_multicast;
  decltype(cm::leave_multicast)* leave_multicast;
  decltype(cm::migrate_id)* migrate_id;
  decltype(cm::get_event)* get_event;
};

/// The real ones.
const CommandTable& command_table();

}  // namespace urxe::cm

// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "provider/cm/calls/bind.h"
#include "provider/cm/calls/ids.h"
#include "provider/cm/calls/listen.h"
#include "provider/cm/calls/multicast.h"
#include "provider/cm/calls/options.h"
#include "provider/cm/calls/query.h"
#include "provider/cm/calls/resolve.h"
#include "provider/cm/connections/connect.h"
#include "provider/cm/service_thread.h"

namespace urxe::cm {

/// The calls that carry out the commands of <rdma/rdma_user_cm.h>, so that a test can give the
/// dispatcher others. Their arguments were read from the application's memory and have the lengths
/// that the ABI asks for. Older layouts of a command have been extended: missing members are zero,
/// and the reason of a rejection is one that applications may give. Addresses have a known family
/// and its length. ENOENT: there is no such id; EINVAL: it is another file's, or in the wrong
/// state. All take the service's lock; none blocks for long.
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
  decltype(cm::write_event)* write_event;
};

/// The real calls.
const CommandTable& command_table();

}  // namespace urxe::cm

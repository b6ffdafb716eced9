// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <rdma/rdma_cma.h>

#include <string>

#include "packet/base/expected.h"

namespace urxe::drill {

/// The functions of librdmacm that an agent calls. The library is loaded when a script needs it, so
/// that urxe does not depend on it.
struct Rdmacm {
  decltype(&rdma_create_event_channel) create_event_channel = nullptr;
  decltype(&rdma_destroy_event_channel) destroy_event_channel = nullptr;
  decltype(&rdma_create_id) create_id = nullptr;
  decltype(&rdma_destroy_id) destroy_id = nullptr;
  decltype(&rdma_bind_addr) bind_addr = nullptr;
  decltype(&rdma_listen) listen = nullptr;
  decltype(&rdma_resolve_addr) resolve_addr = nullptr;
  decltype(&rdma_resolve_route) resolve_route = nullptr;
  decltype(&rdma_connect) connect = nullptr;
  decltype(&rdma_accept) accept = nullptr;
  decltype(&rdma_establish) establish = nullptr;
  decltype(&rdma_reject) reject = nullptr;
  decltype(&rdma_disconnect) disconnect = nullptr;
  decltype(&rdma_get_cm_event) get_cm_event = nullptr;
  decltype(&rdma_ack_cm_event) ack_cm_event = nullptr;
};

/// Loads the library once; it stays. The error says what is missing.
Expected<const Rdmacm*, std::string> load_rdmacm();

}  // namespace urxe::drill

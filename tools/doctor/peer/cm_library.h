// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <rdma/rdma_cma.h>

#include <string>

#include "packet/base/expected.h"

namespace urxe::doctor {

/// The functions of librdmacm that a probe takes, looked up.
struct CmLibrary {
  decltype(&::rdma_create_event_channel) create_event_channel = nullptr;
  decltype(&::rdma_destroy_event_channel) destroy_event_channel = nullptr;
  decltype(&::rdma_create_id) create_id = nullptr;
  decltype(&::rdma_destroy_id) destroy_id = nullptr;
  decltype(&::rdma_resolve_addr) resolve_addr = nullptr;
  decltype(&::rdma_resolve_route) resolve_route = nullptr;
  decltype(&::rdma_connect) connect = nullptr;
  decltype(&::rdma_get_cm_event) get_cm_event = nullptr;
  decltype(&::rdma_ack_cm_event) ack_cm_event = nullptr;
};

/// The error is a line for the user.
Expected<CmLibrary, std::string> load_cm_library();

}  // namespace urxe::doctor

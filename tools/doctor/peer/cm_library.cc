// SPDX-License-Identifier: BSD-2-Clause
#include "tools/doctor/peer/cm_library.h"

#include "tools/doctor/dynamic_library.h"

namespace urxe::doctor {

Expected<CmLibrary, std::string> load_cm_library() {
  const auto library = open_library("librdmacm.so.1");
  if (!library) return Unexpected<std::string>(library.error());
  CmLibrary cm;
  const bool found =
      find_function(*library, "rdma_create_event_channel", cm.create_event_channel) &&
      find_function(*library, "rdma_destroy_event_channel", cm.destroy_event_channel) &&
      find_function(*library, "rdma_create_id", cm.create_id) &&
      find_function(*library, "rdma_destroy_id", cm.destroy_id) &&
      find_function(*library, "rdma_resolve_addr", cm.resolve_addr) &&
      find_function(*library, "rdma_resolve_route", cm.resolve_route) &&
      find_function(*library, "rdma_connect", cm.connect) &&
      find_function(*library, "rdma_get_cm_event", cm.get_cm_event) &&
      find_function(*library, "rdma_ack_cm_event", cm.ack_cm_event);
  if (!found) return Unexpected<std::string>("librdmacm lacks functions");
  return cm;
}

}  // namespace urxe::doctor

// SPDX-License-Identifier: BSD-2-Clause
#include "tools/doctor/ping/verbs_library.h"

#include "tools/doctor/dynamic_library.h"

namespace urxe::doctor {
namespace {

bool find_objects(void* library, VerbsLibrary& verbs) {
  return find_function(library, "ibv_alloc_pd", verbs.alloc_pd) &&
         find_function(library, "ibv_dealloc_pd", verbs.dealloc_pd) &&
         find_function(library, "ibv_reg_mr", verbs.reg_mr) &&
         find_function(library, "ibv_dereg_mr", verbs.dereg_mr) &&
         find_function(library, "ibv_create_cq", verbs.create_cq) &&
         find_function(library, "ibv_destroy_cq", verbs.destroy_cq) &&
         find_function(library, "ibv_create_qp", verbs.create_qp) &&
         find_function(library, "ibv_destroy_qp", verbs.destroy_qp) &&
         find_function(library, "ibv_modify_qp", verbs.modify_qp);
}

}  // namespace

Expected<VerbsLibrary, std::string> load_verbs_library() {
  const auto library = open_library("libibverbs.so.1");
  if (!library) return Unexpected<std::string>(library.error());
  VerbsLibrary verbs;
  const bool found = find_function(*library, "ibv_get_device_list", verbs.get_device_list) &&
                     find_function(*library, "ibv_free_device_list", verbs.free_device_list) &&
                     find_function(*library, "ibv_open_device", verbs.open_device) &&
                     find_function(*library, "ibv_close_device", verbs.close_device) &&
                     find_function(*library, "ibv_query_port", verbs.query_port) &&
                     find_function(*library, "ibv_query_gid", verbs.query_gid) &&
                     find_objects(*library, verbs);
  if (!found) return Unexpected<std::string>("libibverbs lacks functions");
  return verbs;
}

}  // namespace urxe::doctor

// SPDX-License-Identifier: BSD-2-Clause
#include "provider/umad/registration.h"

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <new>

#include "provider/runtime/memory/user_memory.h"
#include "provider/umad/management.h"

namespace urxe::umad {
namespace {

constexpr uint8_t kMostVersions = 0x83;
constexpr uint8_t kMostClasses = 0x50;
constexpr uint8_t kRmppVersion = 1;
constexpr uint32_t kOuiBits = 0xffffff;

static_assert(sizeof(ib_user_mad_reg_req) == 28 && sizeof(ib_user_mad_reg_req2) == 40);
static_assert(sizeof(ib_user_mad_reg_req::method_mask) == sizeof(MadMethods));

bool is_class(uint8_t management_class) {
  return management_class < kMostClasses || management_class == kSubnetDirectedRoute;
}

Registration registration_of(const ib_user_mad_reg_req& request) {
  Registration registration;
  registration.qpn = request.qpn;
  registration.key = {
      request.mgmt_class, request.mgmt_class_version,
      uint32_t{request.oui[0]} << 16 | uint32_t{request.oui[1]} << 8 | request.oui[2]};
  std::memcpy(registration.methods.data(), &request.method_mask, sizeof registration.methods);
  registration.rmpp_version = request.rmpp_version;
  return registration;
}

Registration registration_of(const ib_user_mad_reg_req2& request) {
  Registration registration;
  registration.qpn = request.qpn;
  registration.key = {request.mgmt_class, request.mgmt_class_version, request.oui};
  std::memcpy(registration.methods.data(), &request.method_mask, sizeof registration.methods);
  registration.rmpp_version = request.rmpp_version;
  registration.does_rmpp_itself = (request.flags & IB_USER_MAD_USER_RMPP) != 0;
  return registration;
}

FileAgent agent_of(const Registration& registration) {
  FileAgent agent{registration.key, registration.methods};
  if (!has_oui(agent.key.management_class)) agent.key.oui = 0;
  agent.leaves_rmpp = registration.rmpp_version != 0 && !registration.does_rmpp_itself;
  // Nobody sends SMPs to a port without QP0, and an agent without a class gets no requests.
  const bool gets_none = registration.qpn == 0 || agent.key.management_class == 0;
  if (gets_none) agent.methods = {};
  return agent;
}

Expected<void, Errno> attach(Service& service, UmadFile& file, uint32_t number) try {
  return service.attach(file, number);
} catch (const std::bad_alloc&) {
  return error(ENOMEM);
}

Expected<uint32_t, Errno> add(Service& service, UmadFile& file, const Registration& registration) {
  if (file.has_ended()) return error(EPIPE);
  if (auto checked = check(registration); !checked) return Unexpected<Errno>(checked.error());
  const auto number = file.add(agent_of(registration));
  if (!number || !file.agent(*number)->serves()) return number;
  if (auto attached = attach(service, file, *number); !attached) {
    file.remove(*number);
    return Unexpected<Errno>(attached.error());
  }
  return number;
}

void remove(Service& service, UmadFile& file, uint32_t number) {
  service.detach(file, number);
  file.remove(number);
}

template <class Request>
Expected<void, Errno> register_agent(Service& service, UmadFile& file, void* argument) {
  Request request;
  if (auto read = read_user(&request, argument, sizeof request); !read) return read;
  const auto number = add(service, file, registration_of(request));
  if (!number) return Unexpected<Errno>(number.error());
  static_assert(offsetof(Request, id) == 0);
  auto told = write_user(reinterpret_cast<uintptr_t>(argument), &*number, sizeof *number);
  if (!told) remove(service, file, *number);
  return told;
}

Expected<void, Errno> register_with_flags(Service& service, UmadFile& file, void* argument) {
  ib_user_mad_reg_req2 request;
  if (auto read = read_user(&request, argument, sizeof request); !read) return read;
  if ((request.oui & ~kOuiBits) != 0) return error(EINVAL);
  if ((request.flags & ~uint32_t{IB_USER_MAD_REG_FLAGS_CAP}) == 0) {
    return register_agent<ib_user_mad_reg_req2>(service, file, argument);
  }
  const uint32_t known = IB_USER_MAD_REG_FLAGS_CAP;
  const auto at = reinterpret_cast<uintptr_t>(argument) + offsetof(ib_user_mad_reg_req2, flags);
  if (auto written = write_user(at, &known, sizeof known); !written) return written;
  return error(EINVAL);
}

Expected<void, Errno> unregister_agent(Service& service, UmadFile& file, const void* argument) {
  uint32_t number = 0;
  if (auto read = read_user(&number, argument, sizeof number); !read) return read;
  if (file.agent(number) == nullptr) return error(EINVAL);
  remove(service, file, number);
  return {};
}

}  // namespace

bool has_rmpp(uint8_t management_class) {
  constexpr uint8_t kDeviceAdministration = 0x10;
  constexpr uint8_t kBaseboardInformation = 0x12;
  return management_class == kSubnetAdministration || management_class == kDeviceAdministration ||
         management_class == kBaseboardInformation || has_oui(management_class);
}

Expected<void, Errno> check(const Registration& registration) {
  const uint8_t management_class = registration.key.management_class;
  if (registration.qpn > 1 || registration.rmpp_version > kRmppVersion) return error(EINVAL);
  if (management_class == 0) return {};  // it only sends
  const bool is_known =
      is_class(management_class) && registration.key.class_version < kMostVersions;
  const bool lacks_oui = has_oui(management_class) && registration.key.oui == 0;
  const bool segments = registration.rmpp_version != 0;
  const bool is_of_qp0 = is_subnet_management(management_class);
  if (!is_known || lacks_oui || (segments && !has_rmpp(management_class)) ||
      is_of_qp0 != (registration.qpn == 0)) {
    return error(EINVAL);
  }
  return {};
}

Expected<void, Errno> command(Service& service, UmadFile& file, unsigned long request,
                              void* argument) {
  switch (request) {
    case IB_USER_MAD_REGISTER_AGENT:
      return register_agent<ib_user_mad_reg_req>(service, file, argument);
    case IB_USER_MAD_REGISTER_AGENT2:
      return register_with_flags(service, file, argument);
    case IB_USER_MAD_UNREGISTER_AGENT:
      return unregister_agent(service, file, argument);
    case IB_USER_MAD_ENABLE_PKEY:
      return file.enable_pkey_index();
    default:
      return error(ENOTTY);
  }
}

}  // namespace urxe::umad

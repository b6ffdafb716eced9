// SPDX-License-Identifier: BSD-2-Clause
#include "provider/umad/management.h"

#include <algorithm>

namespace urxe::umad {

MadBytes respond(MadView request, uint16_t status) {
  MadHeader header = read_mad_header(request);
  header.method = kMethodGetResp;
  header.status = status;
  MadBytes response;
  std::ranges::copy(request, response.begin());
  write_mad_header(header, response);
  return response;
}

}  // namespace urxe::umad

// SPDX-License-Identifier: BSD-2-Clause
#include "tools/output.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>

#include "tools/exit_status.h"

namespace urxe {

int finish_output(int status) {
  errno = 0;
  std::cout.flush();
  const bool written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout.good();
  if (written || status == kOurFailure) return status;
  std::cerr << "urxe: cannot write the output: "
            << (errno != 0 ? std::strerror(errno) : "an earlier part was lost") << "\n";
  return kOurFailure;
}

}  // namespace urxe

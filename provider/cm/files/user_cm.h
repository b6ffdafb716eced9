// SPDX-License-Identifier: BSD-2-Clause
// The kernel's <rdma/rdma_user_cm.h>, behind glibc's <netinet/in.h>: else it would define in6_addr
// otherwise than glibc, and so would some files and not others.
#pragma once

#include <netinet/in.h>
#include <rdma/rdma_user_cm.h>

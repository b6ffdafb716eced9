// SPDX-License-Identifier: BSD-2-Clause
// What the programs of this folder need of libibverbs: a device, and connected RC queue pairs.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>

namespace bench {

/// Ends the program with `what` and errno's text unless `good`.
void check(bool good, const char* what);

struct Device {
  ibv_context* context;
  ibv_pd* pd;
  ibv_gid gid;
};

/// The first device of the list, and the GID with this index.
Device open_first_device(int gid_index);

/// Readable and writable for peers.
ibv_mr* register_memory(const Device& device, void* start, size_t bytes);

ibv_cq* make_cq(const Device& device, int entries);

/// An RC queue pair for `depth` requests of one element each, and one receive.
ibv_qp* make_qp(const Device& device, ibv_cq* cq, uint32_t depth);

/// To RTS, with the path MTU of the port, and perftest's retries.
void connect(const Device& device, ibv_qp* qp, uint32_t peer_qpn, const ibv_gid& peer_gid,
             int gid_index);

}  // namespace bench

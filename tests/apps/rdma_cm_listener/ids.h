// SPDX-License-Identifier: BSD-2-Clause
// Ids of stock librdmacm. What goes wrong ends the process with a word on stderr.
#pragma once

#include <netdb.h>
#include <rdma/rdma_cma.h>

#include <cstdint>
#include <vector>

namespace urxe::test {

inline constexpr int kBacklog = 4;

/// Says what was to be done, and errno, and exits where it was not.
void check(bool condition, const char* what);

struct Channel {
  Channel();
  rdma_event_channel* channel;

  struct Event {
    rdma_cm_event_type type;
    int status;
    rdma_cm_id* id;
    rdma_cm_id* listener;
  };
  /// The next one, acknowledged.
  [[nodiscard]] Event next() const;
};

addrinfo* look_up(const char* node, const char* service);

/// Parameters with a queue pair number that no other connection of the process has.
rdma_conn_param numbered();

/// On a port that the connection manager chooses.
rdma_cm_id* make_listener(const Channel& channel, const char* node);

/// Connects them one after another; the answers come later.
std::vector<rdma_cm_id*> start_many(const Channel& channel, const char* node, uint16_t port,
                                    int count);

}  // namespace urxe::test

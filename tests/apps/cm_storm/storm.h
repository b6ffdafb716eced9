// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace storm {

/// Says what went wrong, and ends the process with 1.
[[noreturn]] void fail(const std::string& what);
/// Of calls that return -1 and set errno.
void need(int result, const char* what);

template <class T>
T* need_object(T* object, const char* what) {
  if (object == nullptr) need(-1, what);
  return object;
}

/// What the command line says.
struct Options {
  bool is_server = false;
  std::vector<std::string> nodes;  ///< the server's addresses; a client goes round them
  std::string service;
  int backlog = 0;            ///< server: of its listeners; 0: as many as there may be
  int reject_every = 0;       ///< server: each so many-th request is rejected; 0: none
  int connects = 10000;       ///< client: in all
  int at_once = 1000;         ///< client: in a round
  bool sends = false;         ///< client: a message over each connection
  bool holds = false;         ///< client: connections of one round, until SIGTERM
  bool until_killed = false;  ///< client: rounds until SIGTERM
};

/// What the process holds, from /proc/self.
struct Footprint {
  long descriptors = 0;
  long threads = 0;
  long resident_kb = 0;
};
Footprint footprint();
std::string to_json(const Footprint& f);

/// One protection domain, completion queue and shared receive queue for each device.
struct Shared {
  ibv_pd* pd = nullptr;
  ibv_cq* cq = nullptr;
  ibv_srq* srq = nullptr;
  ibv_mr* mr = nullptr;
};

class Resources {
 public:
  static constexpr uint32_t kMessage = 64;  ///< bytes
  static constexpr int kReceives = 4096;

  Shared& of(ibv_context* device);
  /// With a small queue pair of its own and what is shared.
  void create_qp(rdma_cm_id* id);
  void post_send(rdma_cm_id* id);
  /// Takes what has completed on all devices: receives are posted again. Answers how many have
  /// completed well; completions in error (flushed) are not counted.
  int poll();

 private:
  void post_receive(Shared& shared);
  std::map<ibv_context*, Shared> devices_;
  uint8_t buffer_[kMessage] = {};
};

/// SIGTERM and SIGUSR1 come as reads of this descriptor from now on.
int signal_descriptor();
/// 0: none is waiting.
int take_signal(int descriptor);

void set_nonblocking(int descriptor);

int run_server(const Options& options);
int run_client(const Options& options);

}  // namespace storm

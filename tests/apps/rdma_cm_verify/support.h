// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <cstdint>
#include <string>
#include <vector>

namespace verify {

/// The reason of a REJ that an application sends (IBTA vol. 1, 12.6.7.2).
inline constexpr int kConsumerReject = 28;

/// Says what went wrong, and ends the process with 1.
[[noreturn]] void fail(const std::string& what);
/// Of calls that return -1 and set errno.
void need(int result, const char* what);
/// Fails unless the call has failed with that errno.
void need_errno(int result, int expected, const char* what);
void expect(bool condition, const char* what);
/// A line on stdout for whoever drives the test: "ready", "established", "disconnected -104".
void say(const std::string& words);

template <class T>
T* need_object(T* object, const char* what) {
  if (object == nullptr) need(-1, what);
  return object;
}

/// What the command line says.
struct Place {
  std::string node;     ///< of the server
  std::string service;  ///< a port number
  bool ib = false;      ///< by AF_IB
};

/// rdma_getaddrinfo()'s answer.
class AddressInfo {
 public:
  AddressInfo(const Place& place, bool passive, rdma_port_space space = RDMA_PS_TCP);
  ~AddressInfo() { rdma_freeaddrinfo(info_); }
  AddressInfo(const AddressInfo&) = delete;
  AddressInfo& operator=(const AddressInfo&) = delete;

  [[nodiscard]] rdma_addrinfo* get() const { return info_; }
  /// The server's.
  [[nodiscard]] sockaddr* address() const;

 private:
  rdma_addrinfo* info_ = nullptr;
};

/// A copy of an event; the event itself is acknowledged.
struct Event {
  rdma_cm_event_type type{};
  int status = 0;
  rdma_cm_id* id = nullptr;
  rdma_cm_id* listener = nullptr;
  rdma_conn_param connection{};
  rdma_ud_param datagrams{};
  std::vector<uint8_t> private_data;
};

class Channel {
 public:
  Channel();
  ~Channel() { rdma_destroy_event_channel(channel_); }
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  [[nodiscard]] rdma_event_channel* get() const { return channel_; }
  /// Blocks for the next event.
  Event next();
  /// Fails where the next event is another one, or has a status.
  Event expect(rdma_cm_event_type type);
  Event expect(rdma_cm_event_type type, int status);

 private:
  rdma_event_channel* channel_;
};

rdma_cm_id* create_id(const Channel& channel, rdma_port_space space = RDMA_PS_TCP);
/// As rdma_create_qp() takes them; completion queues are the id's.
ibv_qp_init_attr queue_pair_attributes(ibv_qp_type type = IBV_QPT_RC);
void create_qp(rdma_cm_id* id, ibv_qp_type type = IBV_QPT_RC);
/// A listener, when it listens: "ready" is said.
rdma_cm_id* listen(const Channel& channel, const Place& place, rdma_port_space space = RDMA_PS_TCP,
                   int backlog = 4);
/// An id whose route to the server is resolved.
rdma_cm_id* resolve(Channel& channel, const Place& place, rdma_port_space space = RDMA_PS_TCP);
void destroy(rdma_cm_id* id);

/// `size` bytes that follow from `seed`.
std::vector<uint8_t> pattern(size_t size, uint8_t seed);
/// Fails unless `data` has that size and pattern.
void expect_pattern(const std::vector<uint8_t>& data, size_t size, uint8_t seed);
rdma_conn_param parameters(const std::vector<uint8_t>& private_data = {});

/// Pages of nobody else's: those that are registered are missing in a child that is forked after
/// ibv_fork_init().
class Pages {
 public:
  explicit Pages(size_t size);
  ~Pages();
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  [[nodiscard]] uint8_t* data() const { return data_; }

 private:
  uint8_t* data_;
};

/// Sends and receives messages on an id's queue pair.
class Messages {
 public:
  explicit Messages(rdma_cm_id* id);
  ~Messages();
  Messages(const Messages&) = delete;
  Messages& operator=(const Messages&) = delete;

  void post_receive();
  void send(uint8_t seed);
  /// The next receive's message has the pattern.
  void receive(uint8_t seed);
  /// How the next receive, or send, completes.
  ibv_wc wait_receive();
  ibv_wc wait_send();
  void post_send(uint8_t seed);

  static constexpr size_t kSize = 3000;

 private:
  rdma_cm_id* id_;
  Pages in_;
  Pages out_;
  ibv_mr* in_region_;
  ibv_mr* out_region_;
};

/// One side's part of a case.
using Part = void (*)(const Place& place);
struct Case {
  const char* name;
  Part server;
  Part client;
};
extern const std::vector<Case> kConnectionCases;
extern const std::vector<Case> kDataCases;
extern const std::vector<Case> kForkCases;
extern const std::vector<Case> kKilledCases;
extern const std::vector<Case> kOptionCases;
extern const std::vector<Case> kPathCases;
extern const std::vector<Case> kQueuePairCases;
extern const std::vector<Case> kReplyCases;
extern const std::vector<Case> kSlowCases;

}  // namespace verify

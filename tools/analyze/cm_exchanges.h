// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <string>

#include "packet/wire/cm/cm_message.h"
#include "tools/analyze/captured_packet.h"

namespace urxe::analyze {

/// A capture may begin at 0, so that is a time.
inline constexpr int64_t kNotSeen = std::numeric_limits<int64_t>::min();

/// How a connection came about and ended, as the messages of the communication managers say. Times
/// are kNotSeen if the message has not come.
struct CmExchange {
  Gid active;  ///< who sent the REQ, or the SIDR_REQ
  Gid passive;
  CommId active_id;  ///< or the id of the SIDR request
  CommId passive_id;
  ServiceId service;
  Service transport = Service::kRc;  ///< of the queue pairs, as the REQ asks for
  bool datagrams = false;            ///< SIDR
  uint64_t frame = 0;                ///< of the first message
  int64_t req_ns = kNotSeen;
  int64_t rep_ns = kNotSeen;  ///< or the SIDR_REP
  int64_t rtu_ns = kNotSeen;
  int64_t rej_ns = kNotSeen;
  int64_t dreq_ns = kNotSeen;
  int64_t drep_ns = kNotSeen;
  uint32_t repeated = 0;  ///< messages that were sent again
  /// DREQs of urxe that only ask whether the other end still exists. They end nothing.
  uint32_t questions = 0;
  std::optional<uint16_t> reject_reason;
  bool rejected_by_active = false;
  uint8_t sidr_status = 0;
  Qpn active_qpn;
  Qpn passive_qpn;
  Psn active_starting_psn;  ///< which the passive side begins with
  Psn passive_starting_psn;
  uint32_t path_mtu = 0;  ///< bytes; 0: none that exists
  /// 5 bits of the REQ: each side's local ACK timeout is about 4.096 us * 2^n. 0: not known.
  uint8_t ack_timeout = 0;
};

/// The exchanges of a capture, by communication ids.
class CmExchanges {
 public:
  /// Takes a message to QP1. Returns an exchange whose first REP this is.
  const CmExchange* on_packet(const CapturedPacket& packet);
  [[nodiscard]] const std::deque<CmExchange>& all() const { return exchanges_; }
  [[nodiscard]] uint64_t messages() const { return messages_; }
  /// MADs to QP1 that are no message of a communication manager.
  [[nodiscard]] uint64_t others() const { return others_; }

 private:
  struct Key {
    std::array<uint8_t, 16> address;
    uint32_t id;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  /// One message: what the handlers below need of its packet.
  struct Message {
    const Gid& from;
    const Gid& to;
    int64_t time_ns;
    uint64_t frame;
  };

  CmExchange& begin(const Message& message, CommId id);
  /// Of a communication that `owner` gave `id` to.
  CmExchange* find(const Gid& owner, CommId id);
  /// Of a message that carries both ids.
  CmExchange* find(const Message& message, CommId local, CommId remote);
  void note(int64_t& time_ns, CmExchange& exchange, const Message& message);

  void take(const Message& message, const CmReq& req);
  const CmExchange* take(const Message& message, const CmRep& rep);
  void take(const Message& message, const CmRej& rej);
  void take(const Message& message, const CmDreq& dreq);
  void take(const Message& message, const CmSidrReq& req);
  void take(const Message& message, const CmSidrRep& rep);

  std::deque<CmExchange> exchanges_;
  std::map<Key, CmExchange*> by_id_;
  uint64_t messages_ = 0;
  uint64_t others_ = 0;
};

/// "no QP", "consumer": what a REJ says; the number if it is not known.
std::string reject_reason_text(uint16_t reason);

}  // namespace urxe::analyze

// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "transport/cm/connection_manager.h"

namespace urxe::test {

inline constexpr uint64_t kOurGuid = 0x0200'00ff'fe00'0001ULL;
inline constexpr uint64_t kPeerGuid = 0x0200'00ff'fe00'0002ULL;
inline constexpr ServiceId kService{0x0106'1234};
inline constexpr Qpn kOurQpn{0x11};
inline constexpr Qpn kPeerQpn{0x22};
inline constexpr CommId kPeerId{0x7000'0001};
inline constexpr uint64_t kPeerTransaction = 0xabcd;
inline constexpr uint64_t kAllBits = ~uint64_t{0};

Gid gid_of(uint8_t host);
Flow flow_between(const Gid& source, const Gid& destination);

/// 4.096 us * 2^16, Linux's for RoCE; the other times of the tests' messages, as exponents too.
inline constexpr uint8_t kLifetime = 16;
inline constexpr uint8_t kResponse = 20;
inline constexpr uint8_t kAckTimeout = 17;
inline constexpr uint8_t kRetries = 3;
Duration iba_time(uint8_t exponent);
/// What the end of a test's connection waits before it sends again.
Duration response_timeout();

CmReq request_template();  ///< of ours
CmReq peer_request();      ///< of the peer's
CmRep peer_reply(CommId ours);

/// One connection manager in virtual time; the test is its peer, its consumer and its clock.
class Bench {
 public:
  explicit Bench(const CmConfig& config = default_config()) : cm(config) {}
  static CmConfig default_config();

  ConnectionManager cm;
  Instant now{1'000'000'000};
  Gid ours = gid_of(1);
  Gid peer = gid_of(2);

  /// A message of the peer's arrives. Without a transaction id, an answer has that of the last
  /// message that was expected, any other one kPeerTransaction.
  void receive(const CmBody& body, std::optional<uint64_t> transaction_id = std::nullopt);
  void receive_from(const Gid& source, const CmBody& body,
                    std::optional<uint64_t> transaction_id = std::nullopt);
  void advance(Duration time);
  /// To the next deadline; false: there is none.
  bool advance_to_deadline();

  /// The oldest message that was sent; nullopt: nothing was.
  std::optional<CmMessage> sent();
  /// The same, which has to be a T.
  template <class T>
  T expect_sent() {
    const auto message = sent();
    EXPECT_TRUE(message) << "nothing was sent";
    if (!message) return {};
    transaction_id = message->transaction_id;
    EXPECT_TRUE(std::holds_alternative<T>(message->body))
        << "sent another message: attribute " << static_cast<int>(attribute_of(message->body));
    return std::holds_alternative<T>(message->body) ? std::get<T>(message->body) : T{};
  }
  void expect_nothing_sent();
  /// The oldest event, which has to be of the kind.
  CmEvent expect_event(CmEvent::Kind kind);
  void expect_no_event();
  void expect_quiet();  ///< neither

  uint64_t count_of(MadDropReason reason) const;
  uint64_t received(CmAttribute attribute) const;
  uint64_t duplicates(CmAttribute attribute) const;
  uint64_t retries(CmAttribute attribute) const;

  // Short ways to a state.
  CommId connect();              ///< REQ sent
  CommId connect_and_reply();    ///< REP received
  CommId connect_established();  ///< active side
  ListenerId listen();
  CommId be_asked();  ///< REQ received; listens where that has not been done
  CommId accept();    ///< REP sent
  CommId accept_established();

  uint64_t transaction_id = 0;  ///< of the last message that was expected
  Flow last_flow;               ///< along which the last message was sent
 private:
  std::optional<ListenerId> listener_;
};

}  // namespace urxe::test

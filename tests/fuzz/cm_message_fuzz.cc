// SPDX-License-Identifier: BSD-2-Clause
// The parsers of what arrives at QP1 on hostile bytes. An input is a MAD, of any length.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <type_traits>

#include "packet/wire/cm/cm_message.h"
#include "packet/wire/text/format.h"

namespace {

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "property broken: %s\n", what);
  std::abort();
}

void check_ip_cm_header(std::span<const uint8_t> bytes) {
  const auto header = urxe::parse_ip_cm_header(bytes);
  if (!header) {
    require(header.error() == urxe::MadDropReason::kMalformed, "there is one reason");
    return;
  }
  require(bytes.size() >= urxe::kIpCmHeaderBytes, "a header that is whole");
  require(header->ip_version == 6 || header->source.is_ipv4(), "an IPv4 GID where it says so");
  const auto again = urxe::parse_ip_cm_header(urxe::emit_ip_cm_header(*header));
  require(again == header, "what was emitted of an IP header parses to the same");
}

/// The route leads where the message itself says.
void check_route(const urxe::CmBody& body, const urxe::MadRoute& route) {
  urxe::MadRoute expected;
  std::visit(
      [&](const auto& message) {
        using Message = std::remove_cvref_t<decltype(message)>;
        if constexpr (requires { message.remote_comm_id; }) {
          expected = urxe::ToCommunication{message.remote_comm_id};
          const bool nobody = message.remote_comm_id == urxe::CommId(0);
          if (std::is_same_v<Message, urxe::CmRej> && nobody) expected = urxe::ToEveryone{};
        } else if constexpr (std::is_same_v<Message, urxe::CmSidrRep>) {
          expected = urxe::ToCommunication{message.request_id};
        } else {
          expected = urxe::ToService{message.service_id};
        }
      },
      body);
  require(route == expected, "the route is that of the message");
}

void check_accepted(const urxe::CmMessage& message, std::span<const uint8_t> mad) {
  const urxe::MadBytes emitted = urxe::emit_cm_message(message);
  const auto again = urxe::parse_cm_message(emitted);
  require(again && *again == message, "what was emitted parses to the same");
  require(urxe::emit_cm_message(*again) == emitted, "what parses to the same is emitted the same");
  require(urxe::route_of(emitted) == urxe::route_of(mad), "and goes the same way");
  check_route(message.body, urxe::route_of(mad));
  std::visit([](const auto& body) { check_ip_cm_header(body.private_data.view()); }, message.body);
}

void check(std::span<const uint8_t> mad) {
  const auto message = urxe::parse_cm_message(mad);
  const std::string line = urxe::format_mad(mad);
  require(!line.empty() && line.find('\n') == std::string::npos, "one line for people");
  if (message) {
    require(mad.size() == urxe::kMadBytes, "only MADs are accepted");
    check_accepted(*message, mad);
    return;
  }
  require(message.error() <= urxe::MadDropReason::kMalformed, "the reason is one of the parser's");
  if (message.error() == urxe::MadDropReason::kMalformed) return;
  require(urxe::route_of(mad) == urxe::MadRoute(urxe::ToEveryone{}),
          "what is no message has no aim");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const uint8_t> input(data, size);
  check(input);
  check_ip_cm_header(input);
  urxe::MadBytes mad{};  // else few inputs of another length get past it
  std::copy_n(data, std::min(size, mad.size()), mad.begin());
  check(mad);
  return 0;
}

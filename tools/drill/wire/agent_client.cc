// SPDX-License-Identifier: BSD-2-Clause
#include "tools/drill/wire/agent_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tools/drill/qp_attributes.h"
#include "tools/drill/wire/agent.h"
#include "tools/drill/wire/hexadecimal.h"

namespace urxe::drill {
namespace {

using nlohmann::json;

constexpr Duration kLimit = seconds(10);
constexpr int kMostStatus = 64;
constexpr int kMostEvent = 64;

FileDescriptor connected(const Endpoint& endpoint) {
  auto socket = connect_to(endpoint);
  if (socket) return std::move(*socket);
  throw AgentFailure(
      fmt::format("the agent cannot be reached: {}. What to do: start `urxe drill --agent` there, "
                  "and open the port in its firewall",
                  socket.error()));
}

/// A member of an answer that is a number in the range.
std::optional<uint64_t> number_in(const json& answer, const char* key, uint64_t most) {
  const auto found = answer.find(key);
  if (found == answer.end() || !found->is_number_unsigned()) return std::nullopt;
  const auto value = found->get<uint64_t>();
  return value <= most ? std::optional(value) : std::nullopt;
}

std::string text_in(const json& answer, const char* key) {
  const auto found = answer.find(key);
  return found != answer.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// The line as a JSON object; nullopt: it is none.
std::optional<json> object_of(const std::string& line) {
  json answer = json::parse(line, nullptr, false);
  return answer.is_object() ? std::optional(std::move(answer)) : std::nullopt;
}

/// What a stranger says, in a line of a message.
std::string printable(std::string_view text, size_t most = 60) {
  std::string shown(text.substr(0, most));
  std::replace_if(
      shown.begin(), shown.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return text.size() > most ? shown + "..." : shown;
}

/// Why the agent has not done something.
std::string reason_in(const json& answer, const char* key) {
  constexpr size_t kMostOfReason = 300;
  return printable(text_in(answer, key), kMostOfReason);
}

json ask(const AgentClient& client, LineChannel& channel, const std::string& request) {
  if (!channel.send(request)) client.fail("it has left");
  const auto line = channel.line(kLimit);
  auto answer = line ? object_of(*line) : std::nullopt;
  if (!answer)
    client.fail(fmt::format("it has left, or has no answer to \"{}\"",
                            request.substr(0, request.find('\n'))));
  if (answer->contains("error")) client.fail(reason_in(*answer, "error"));
  return std::move(*answer);
}

std::optional<ibv_wc> completion_of(const json& row) {
  const auto id = number_in(row, "id", UINT64_MAX);
  const auto status = number_in(row, "status", kMostStatus);
  const auto length = number_in(row, "len", UINT32_MAX);
  const auto imm = number_in(row, "imm", UINT32_MAX);
  if (!id || !status || !length || !imm) return std::nullopt;
  ibv_wc wc{};
  wc.wr_id = *id;
  wc.status = static_cast<ibv_wc_status>(*status);
  wc.byte_len = static_cast<uint32_t>(*length);
  wc.imm_data = big_endian(*imm);
  return wc;
}

}  // namespace

AgentClient::AgentClient(const Endpoint& endpoint)
    : name_(fmt::format("{} port {}", endpoint.host, endpoint.port)),
      channel_(connected(endpoint)) {
  const auto line = channel_.line(kLimit);
  if (!line) fail("it is no agent: it says nothing that ends within ten seconds");
  const auto hello = object_of(*line);
  const auto version = hello ? number_in(*hello, "urxe_drill", UINT32_MAX) : std::nullopt;
  if (!version) fail(fmt::format("it is no agent; it says \"{}\"", printable(*line)));
  if (version != kProtocolVersion) {
    fail(
        fmt::format("it speaks version {} of the protocol, and this program version {}. What to "
                    "do: use the same release of urxe on both hosts",
                    *version, kProtocolVersion));
  }
  if (hello->contains("busy")) {
    fail(fmt::format(
        "it is busy with another client, {}, for {} s now. What to do: try again "
        "when that one has ended",
        printable(text_in(*hello, "busy")), number_in(*hello, "seconds", UINT32_MAX).value_or(0)));
  }
  const auto gid = from_hexadecimal(text_in(*hello, "gid"));
  if (!gid || gid->size() != gid_.bytes.size()) fail("it names no GID");
  gid_ = Gid::from_ipv6(gid->data());
  if (gid_.is_multicast() || gid_.is_zero()) fail("its GID is of no host");
  device_ = printable(text_in(*hello, "device"));
}

void AgentClient::fail(const std::string& what) const {
  throw AgentFailure(fmt::format("the agent at {}: {}", name_, what));
}

void AgentClient::begin(const Script& script, uint32_t peer_qpn, const Gid& peer) {
  const std::string text = to_text(script);
  ask(*this, channel_,
      fmt::format("script {} {} {}\n{}", text.size() + 1, peer_qpn, to_hexadecimal(peer.bytes),
                  text));
}

AgentClient::Done AgentClient::do_statement(size_t index) {
  const json answer = ask(*this, channel_, fmt::format("do {}", index));
  if (answer.contains("refused")) return {{Outcome::Kind::kRefused, reason_in(answer, "refused")}};
  if (answer.contains("impossible")) {
    return {{Outcome::Kind::kImpossible, reason_in(answer, "impossible")}};
  }
  const auto value = number_in(answer, "value", UINT32_MAX);
  if (!value) fail("its answer has no value");
  return {{}, static_cast<uint32_t>(*value)};
}

AgentClient::Reports AgentClient::poll() {
  const json answer = ask(*this, channel_, "poll");
  const auto completions = answer.find("completions");
  const auto events = answer.find("events");
  if (completions == answer.end() || !completions->is_array() || events == answer.end() ||
      !events->is_array()) {
    fail("its answer has no reports");
  }
  Reports reports;
  for (const json& row : *completions) {
    const auto wc = row.is_object() ? completion_of(row) : std::nullopt;
    if (!wc) fail("it reports no completion");
    reports.completions.push_back(*wc);
  }
  for (const json& event : *events) {
    if (!event.is_number_unsigned() || event.get<uint64_t>() > kMostEvent) {
      fail("it reports no event");
    }
    reports.events.push_back(static_cast<ibv_event_type>(event.get<int>()));
  }
  return reports;
}

ibv_qp_state AgentClient::state() {
  const auto state = number_in(ask(*this, channel_, "state"), "state", IBV_QPS_UNKNOWN);
  if (!state) fail("it reports no state");
  return static_cast<ibv_qp_state>(*state);
}

std::optional<std::vector<uint8_t>> AgentClient::memory(const std::string& region, size_t offset,
                                                        size_t length) {
  const json answer = ask(*this, channel_, fmt::format("memory {} {} {}", region, offset, length));
  auto bytes = from_hexadecimal(text_in(answer, "bytes"));
  if (!bytes || bytes->size() != length) return std::nullopt;
  return bytes;
}

}  // namespace urxe::drill

// SPDX-License-Identifier: BSD-2-Clause
#include "tools/drill/wire/agent.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "packet/base/bytes.h"
#include "tools/drill/vocabulary.h"
#include "tools/drill/wire/hexadecimal.h"
#include "tools/drill/wire/line_channel.h"
#include "tools/drill/wire/verbs_end.h"
#include "tools/exit_status.h"

namespace urxe::drill {
namespace {

using nlohmann::json;

/// A client that is silent for longer has gone; one that waits asks for reports.
constexpr Duration kSilence = seconds(30);

json wrong(std::string_view what) {
  return {{"error", what}};
}

/// One client.
class Session {
 public:
  Session(const AgentDevice& device, FileDescriptor socket)
      : device_(device), channel_(std::move(socket)) {}
  /// Serves it until it leaves. True: it has run a script.
  bool serve();

 private:
  json answer(const std::string& line);
  json take_script(std::istringstream& words);
  json do_statement(std::istringstream& words);
  json poll();
  json state();
  json memory(std::istringstream& words);

  const AgentDevice& device_;
  LineChannel channel_;
  bool is_lost_ = false;
  std::optional<Script> script_;
  std::unique_ptr<VerbsEnd> end_;
};

std::optional<uint64_t> next_number(std::istringstream& words, uint64_t most) {
  std::string word;
  words >> word;
  const auto number = parse_number(word);
  return number && *number <= most ? number : std::nullopt;
}

json Session::take_script(std::istringstream& words) {
  const auto size = next_number(words, kMostScriptBytes);
  const auto qpn = next_number(words, 0xffffff);
  std::string gid;
  words >> gid;
  const auto address = from_hexadecimal(gid);
  if (!size || !qpn || !address || address->size() != sizeof(Gid::bytes)) {
    is_lost_ = true;  // What follows is not known.
    return wrong("script BYTES QPN GID");
  }
  const auto text = channel_.bytes(*size, kSilence);
  is_lost_ = !text;
  if (is_lost_) return wrong("the script ends early");
  end_.reset();
  auto script = parse_script(*text);
  if (!script) {
    return wrong(fmt::format("line {} of the script: expected {}", script.error().line,
                             script.error().expected));
  }
  script_ = std::move(*script);
  end_ = std::make_unique<VerbsEnd>(
      device_, Peer{Gid::from_ipv6(address->data()), static_cast<uint32_t>(*qpn)});
  return json::object();
}

json Session::do_statement(std::istringstream& words) {
  const auto index = next_number(words, UINT32_MAX);
  if (end_ == nullptr || !index || *index >= script_->statements.size()) {
    return wrong("do N, of a statement of the script");
  }
  const Statement& statement = script_->statements[*index];
  const Outcome outcome = end_->act(statement);
  if (outcome.kind == Outcome::Kind::kRefused) return {{"refused", outcome.why}};
  if (outcome.kind == Outcome::Kind::kImpossible) return {{"impossible", outcome.why}};
  const bool is_region = statement.verb == Verb::kRegion;
  return {{"value", is_region ? end_->rkey(statement.subject) : end_->qpn()}};
}

json Session::poll() {
  if (end_ == nullptr) return wrong("a script first");
  json reports{{"completions", json::array()}, {"events", json::array()}};
  for (const ibv_wc& wc : end_->completions(kMostReports)) {
    // Only those of receives have immediate data.
    const uint32_t imm = load_be32(reinterpret_cast<const uint8_t*>(&wc.imm_data));
    const bool has_imm = wc.status == IBV_WC_SUCCESS && (wc.wc_flags & IBV_WC_WITH_IMM) != 0;
    reports["completions"].push_back({{"id", wc.wr_id},
                                      {"status", static_cast<int>(wc.status)},
                                      {"len", wc.byte_len},
                                      {"imm", has_imm ? imm : 0}});
  }
  for (const ibv_event_type event : end_->events(kMostReports)) {
    reports["events"].push_back(static_cast<int>(event));
  }
  return reports;
}

json Session::state() {
  const auto state = end_ == nullptr ? std::nullopt : end_->state();
  if (!state) return wrong("no queue pair, or it cannot be queried");
  return {{"state", static_cast<int>(*state)}};
}

json Session::memory(std::istringstream& words) {
  std::string name;
  words >> name;
  const auto offset = next_number(words, UINT32_MAX);
  const auto length = next_number(words, kMostMemoryBytes);
  if (end_ == nullptr || !offset || !length) return wrong("memory NAME OFFSET LENGTH");
  const auto bytes = end_->memory(name, *offset, *length);
  return bytes ? json{{"bytes", to_hexadecimal(*bytes)}} : wrong("the region is shorter");
}

json Session::answer(const std::string& line) {
  std::istringstream words(line);
  std::string request;
  words >> request;
  if (request == "script") return take_script(words);
  if (request == "do") return do_statement(words);
  if (request == "poll") return poll();
  if (request == "state") return state();
  if (request == "memory") return memory(words);
  is_lost_ = true;
  return wrong("script, do, poll, state or memory");
}

bool Session::serve() {
  const json hello{{"urxe_drill", kProtocolVersion},
                   {"device", device_.name},
                   {"gid", to_hexadecimal(device_.gid.bytes)}};
  bool more = channel_.send(hello.dump());
  while (more) {
    const auto line = channel_.line(kSilence);
    if (!line) break;
    more = channel_.send(answer(*line).dump(-1, ' ', true, json::error_handler_t::replace)) &&
           !is_lost_;
  }
  return script_.has_value();
}

}  // namespace

int serve_scripts(const AgentOptions& options) {
  const auto device = open_device(options.device, options.gid_index);
  if (!device) {
    fmt::print(stderr, "urxe drill: {}\n", device.error());
    return kOurFailure;
  }
  const std::string address = options.listen.empty() ? device->gid.to_string() : options.listen;
  const auto listener = listen_on({address, options.port});
  if (!listener) {
    fmt::print(stderr, "urxe drill: cannot listen on {}. What to do: --listen ADDR, --port PORT\n",
               listener.error());
    return kOurFailure;
  }
  fmt::print("agent for {} ({}) on {} port {}\n", device->name, device->gid.to_string(), address,
             port_of(*listener));
  std::fflush(stdout);
  for (bool more = true; more;) {
    auto client = accept_from(*listener);
    if (!client) {
      fmt::print(stderr, "urxe drill: cannot accept a client: {}\n",
                 std::strerror(client.error().value));
      return kOurFailure;
    }
    const bool has_run = Session(*device, std::move(*client)).serve();
    if (!has_run) fmt::print(stderr, "urxe drill: a client left that has run no script\n");
    more = options.keep || !has_run;
  }
  return 0;
}

}  // namespace urxe::drill

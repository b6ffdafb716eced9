// SPDX-License-Identifier: BSD-2-Clause
#include "tools/drill/wire/agent.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <variant>

#include "packet/base/bytes.h"
#include "packet/host/clock.h"
#include "tools/drill/wire/cm_end.h"
#include "tools/drill/wire/command.h"
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
  /// Serves it until it leaves, and meanwhile turns others away. True: it has run a script.
  bool serve(const FileDescriptor& listener);

 private:
  json answer(const std::string& line);
  json answer(const TakeScript& command);
  json answer(const DoStatement& command);
  json answer(const PollReports&) { return poll(); }
  json answer(const AskState&) { return state(); }
  json answer(const ReadMemory& command);
  json poll();
  json state();

  const AgentDevice& device_;
  LineChannel channel_;
  bool is_lost_ = false;
  bool has_run_ = false;  ///< a script was taken
  std::optional<Script> script_;
  std::unique_ptr<VerbsEnd> end_;  ///< of a script with a queue pair
  std::unique_ptr<CmEnd> cm_end_;  ///< of one with a connection manager
};

json Session::answer(const TakeScript& command) {
  const auto text = channel_.bytes(command.bytes, kSilence);
  is_lost_ = !text;
  if (is_lost_) return wrong("the script ends early");
  end_.reset();
  cm_end_.reset();
  script_.reset();
  auto script = parse_script(*text);
  if (!script) {
    return wrong(fmt::format("line {} of the script: expected {}", script.error().line,
                             script.error().expected));
  }
  script_ = std::move(*script);
  has_run_ = true;
  const Peer peer{command.peer, command.qpn};
  if (script_->is_cm) {
    cm_end_ = std::make_unique<CmEnd>(device_, peer);
  } else {
    end_ = std::make_unique<VerbsEnd>(device_, peer);
  }
  return json::object();
}

json Session::answer(const DoStatement& command) {
  if (!script_ || command.index >= script_->statements.size()) {
    return wrong("do N, of a statement of the script");
  }
  const Statement& statement = script_->statements[command.index];
  const Outcome outcome = script_->is_cm ? cm_end_->act(statement) : end_->act(statement);
  if (outcome.kind == Outcome::Kind::kRefused) return {{"refused", outcome.why}};
  if (outcome.kind == Outcome::Kind::kImpossible) return {{"impossible", outcome.why}};
  if (script_->is_cm) return {{"value", 0}};
  const bool is_region = statement.verb == Verb::kRegion;
  return {{"value", is_region ? end_->rkey(statement.subject) : end_->qpn()}};
}

json Session::poll() {
  json reports{{"completions", json::array()}, {"events", json::array()}};
  if (cm_end_ != nullptr) reports["events"] = cm_end_->events(kMostReports);
  if (cm_end_ != nullptr) return reports;
  if (end_ == nullptr) return wrong("a script first");
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

json Session::answer(const ReadMemory& command) {
  if (end_ == nullptr) return wrong("a script first");
  const auto bytes = end_->memory(command.region, command.offset, command.length);
  return bytes ? json{{"bytes", to_hexadecimal(*bytes)}} : wrong("the region is shorter");
}

json Session::answer(const std::string& line) {
  const auto command = parse_command(line);
  if (!command) {
    is_lost_ = command.error().ends_session;
    return wrong(command.error().expected);
  }
  return std::visit([this](const auto& one) { return answer(one); }, *command);
}

/// Tells a client that another one is served.
void turn_away(const FileDescriptor& listener, const std::string& served, Instant since) {
  auto client = accept_from(listener);
  if (!client) return;
  const json hello{{"urxe_drill", kProtocolVersion},
                   {"busy", served},
                   {"seconds", (clock_now() - since).ns / 1'000'000'000}};
  // Nothing was sent on this connection, so there is room for a line.
  LineChannel(std::move(*client)).send(hello.dump());
}

bool Session::serve(const FileDescriptor& listener) {
  const std::string name = name_of_peer(channel_.socket());
  channel_.watch(listener.get(), [&, since = clock_now()] { turn_away(listener, name, since); });
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
  return has_run_;
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
    const bool has_run = Session(*device, std::move(*client)).serve(*listener);
    if (!has_run) fmt::print(stderr, "urxe drill: a client left that has run no script\n");
    more = options.keep || !has_run;
  }
  return 0;
}

}  // namespace urxe::drill

// SPDX-License-Identifier: BSD-2-Clause
#include "tools/drill_command.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <string>
#include <utility>

#include "packet/host/local_address.h"
#include "tools/drill/qp_attributes.h"
#include "tools/drill/run.h"
#include "tools/drill/script_files.h"
#include "tools/drill/wire/agent.h"
#include "tools/drill/wire/agent_client.h"
#include "tools/drill/wire/wire_cm_stage.h"
#include "tools/drill/wire/wire_socket.h"
#include "tools/drill/wire/wire_stage.h"
#include "tools/exit_status.h"

namespace urxe {
namespace {

constexpr int kFailed = 1;
constexpr int kSkipped = 3;

void print(const std::string& path, const drill::Failure& failure) {
  if (failure.is_skipped) {
    fmt::print("{}:{}: skipped: the line needs {}\n", path, failure.line, failure.came);
    return;
  }
  fmt::print("{}:{}: FAILED\n  expected: {}\n  came:     {}\n", path, failure.line,
             failure.expected, failure.came);
  for (const drill::Difference& field : failure.fields) {
    fmt::print("  {}: expected {}, came {}\n", field.field, field.expected, field.came);
  }
}

nlohmann::json to_json(const std::string& path, const drill::Script& script,
                       const std::optional<drill::Failure>& failure) {
  nlohmann::json result{
      {"script", path}, {"title", script.title}, {"section", script.section}, {"passed", !failure}};
  if (!failure) return result;
  result["line"] = failure->line;
  if (failure->is_skipped) {
    result["skipped"] = "needs " + failure->came;
    return result;
  }
  result["expected"] = failure->expected;
  result["came"] = failure->came;
  result["fields"] = nlohmann::json::array();
  for (const drill::Difference& field : failure->fields) {
    result["fields"].push_back(
        {{"field", field.field}, {"expected", field.expected}, {"came", field.came}});
  }
  return result;
}

void print(const drill::ScriptError& error) {
  if (error.line == 0) {
    fmt::print(stderr, "urxe drill: {}: {}\n", error.path, error.what);
  } else {
    fmt::print(stderr, "{}:{}:{}: {}\n", error.path, error.line, error.column, error.what);
  }
}

nlohmann::json to_json(const drill::ScriptError& error) {
  nlohmann::json result{{"script", error.path}, {"passed", false}, {"error", error.what}};
  if (error.line != 0) {
    result["line"] = error.line;
    result["column"] = error.column;
  }
  return result;
}

void print_json(const nlohmann::json& results) {
  // A script may hold any bytes.
  using Handler = nlohmann::json::error_handler_t;
  fmt::print("{}\n", results.dump(2, ' ', false, Handler::replace));
}

/// Calls `report` with each script and its result; on a peer as in virtual time.
class Runner {
 public:
  explicit Runner(const DrillOptions& options) : options_(options) {}
  /// Returns an empty string, or what is wrong with the options.
  std::string prepare();
  std::optional<drill::Failure> run(const drill::Script& script);

 private:
  const DrillOptions& options_;
  std::optional<drill::AgentClient> agent_;
  std::optional<drill::WireSocket> socket_;
  uint32_t peer_qpn_ = drill::kScriptPeerQpn;
  /// A device remembers connections for a while: those of the next run must be others.
  uint32_t first_salt_ = std::random_device()() & 0xffffffU;
};

std::string Runner::prepare() {
  if (options_.peer.empty()) return "";
  const auto endpoint = drill::parse_endpoint(options_.peer);
  if (!endpoint) return "--peer " + endpoint.error();
  agent_.emplace(*endpoint);
  if (is_address_of_this_host(agent_->gid())) {
    return fmt::format(
        "--peer {}: the agent's device is on this host; it must be on another one, "
        "which can be a node of `urxe lab`",
        options_.peer);
  }
  std::optional<Gid> local;
  if (!options_.local.empty()) {
    const auto parsed = drill::parse_local_address(options_.local, agent_->gid());
    if (!parsed) return "--local: " + parsed.error();
    local = *parsed;
  }
  auto socket = drill::WireSocket::open(local, agent_->gid());
  if (!socket) throw drill::AgentFailure(socket.error());
  socket_ = std::move(*socket);
  return "";
}

std::optional<drill::Failure> Runner::run(const drill::Script& script) {
  if (!agent_) return drill::run_script(script);
  constexpr uint32_t kNextPeer = 0x100;
  peer_qpn_ = (peer_qpn_ + kNextPeer) & 0xffffffU;
  const Duration patience = milliseconds(options_.patience_ms);
  if (script.is_cm) {
    drill::WireCmStage stage(script, *agent_, *socket_, first_salt_ + peer_qpn_, patience);
    return drill::run_script(script, stage);
  }
  drill::WireStage stage(script, *agent_, *socket_, peer_qpn_, patience);
  return drill::run_script(script, stage);
}

/// What comes of the scripts, for the user.
class Report {
 public:
  explicit Report(bool as_json, bool verbose) : as_json_(as_json), verbose_(verbose) {}

  void add(const std::string& path, const drill::Script& script,
           const std::optional<drill::Failure>& failure) {
    if (failure) ++(failure->is_skipped ? skipped_ : failed_);
    if (as_json_) {
      results_.push_back(to_json(path, script, failure));
    } else if (failure) {
      print(path, *failure);
    } else if (verbose_) {
      fmt::print("{}: passed: {}\n", path, script.title);
    }
  }

  /// All is told. `scripts`: how many there were. Returns the exit code.
  [[nodiscard]] int finish(size_t scripts) const {
    if (as_json_) {
      print_json(results_);
    } else {
      fmt::print("{} of {} scripts passed{}\n", scripts - failed_ - skipped_, scripts,
                 skipped_ == 0 ? "" : fmt::format(", {} skipped", skipped_));
    }
    if (failed_ > 0) return kFailed;
    return skipped_ > 0 ? kSkipped : 0;
  }

  /// No script can be run any more. `path`: the one that has begun; empty: none has.
  void give_up(const std::string& path, const std::string& why) {
    fmt::print(stderr, "urxe drill: {}\n", why);
    if (!as_json_) return;
    nlohmann::json result{{"passed", false}, {"error", why}};
    if (!path.empty()) result["script"] = path;
    results_.push_back(std::move(result));
    print_json(results_);
  }

 private:
  bool as_json_;
  bool verbose_;
  size_t failed_ = 0;
  size_t skipped_ = 0;
  nlohmann::json results_ = nlohmann::json::array();
};

int run_scripts(const DrillOptions& options, const std::vector<drill::NamedScript>& scripts) {
  Report report(options.json, options.verbose);
  std::string begun;
  try {
    Runner runner(options);
    if (const std::string wrong = runner.prepare(); !wrong.empty()) {
      report.give_up("", wrong);
      return kBadInput;
    }
    for (const auto& [path, script] : scripts) {
      begun = path;
      report.add(path, script, runner.run(script));
    }
    return report.finish(scripts.size());
  } catch (const drill::AgentFailure& failure) {
    report.give_up(begun, failure.what());
    return kOurFailure;
  }
}

}  // namespace

int drill_command(const DrillOptions& options) {
  if (options.agent) {
    return drill::serve_scripts({options.device, options.gid_index, options.listen,
                                 options.port.value_or(drill::kAgentPort), options.keep});
  }
  if (options.scripts.empty()) {
    fmt::print(stderr, "urxe drill: SCRIPT is required\n");
    return kBadInput;
  }
  const auto scripts = drill::read_scripts(options.scripts);
  if (!scripts) {
    print(scripts.error());
    if (options.json) print_json(nlohmann::json::array({to_json(scripts.error())}));
    return kBadInput;
  }
  return run_scripts(options, *scripts);
}

}  // namespace urxe

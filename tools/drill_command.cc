// SPDX-License-Identifier: BSD-2-Clause
#include "tools/drill_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>

#include "tools/drill/qp_attributes.h"
#include "tools/drill/run.h"
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

/// The scripts that an argument names, in order; none if there are none.
std::vector<std::string> scripts_of(const std::string& argument) {
  std::error_code error;
  if (!std::filesystem::is_directory(argument, error)) return {argument};
  std::vector<std::string> found;
  for (std::filesystem::recursive_directory_iterator at(argument, error), end; !error && at != end;
       at.increment(error)) {
    if (at->path().extension() == ".drill") found.push_back(at->path().string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::optional<std::string> read_file(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

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

struct NamedScript {
  std::string path;
  drill::Script script;
};

/// All scripts, read; nullopt, and a line for the user: one is wrong.
std::optional<std::vector<NamedScript>> read_scripts(const std::vector<std::string>& arguments) {
  std::vector<NamedScript> scripts;
  for (const std::string& argument : arguments) {
    const std::vector<std::string> found = scripts_of(argument);
    if (found.empty()) {
      fmt::print(stderr, "urxe drill: {}: no script (*.drill) in this folder\n", argument);
      return std::nullopt;
    }
    for (const std::string& path : found) {
      const auto text = read_file(path);
      if (!text) {
        fmt::print(stderr, "urxe drill: {}: cannot be read\n", path);
        return std::nullopt;
      }
      auto script = drill::parse_script(*text);
      if (!script) {
        fmt::print(stderr, "{}:{}:{}: expected {}\n", path, script.error().line,
                   script.error().column, script.error().expected);
        return std::nullopt;
      }
      scripts.push_back({path, std::move(*script)});
    }
  }
  return scripts;
}

/// Calls `report` with each script and its result; on a peer as in virtual time.
class Runner {
 public:
  explicit Runner(const DrillOptions& options) : options_(options) {}
  /// False, and a line for the user: the peer cannot be used.
  bool prepare();
  std::optional<drill::Failure> run(const drill::Script& script);

 private:
  const DrillOptions& options_;
  std::optional<drill::AgentClient> agent_;
  std::optional<drill::WireSocket> socket_;
  uint32_t peer_qpn_ = drill::kScriptPeerQpn;
  /// A device remembers connections for a while: those of the next run must be others.
  uint32_t first_salt_ = std::random_device()() & 0xffffffU;
};

bool Runner::prepare() {
  if (options_.peer.empty()) return true;
  const auto endpoint = drill::parse_endpoint(options_.peer);
  if (!endpoint) {
    fmt::print(stderr, "urxe drill: --peer {}\n", endpoint.error());
    return false;
  }
  agent_.emplace(*endpoint);
  auto socket = drill::WireSocket::open(options_.local, agent_->gid());
  if (!socket) throw drill::AgentFailure(socket.error());
  socket_ = std::move(*socket);
  return true;
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

int run_scripts(const DrillOptions& options, const std::vector<NamedScript>& scripts) {
  Runner runner(options);
  if (!runner.prepare()) return kBadInput;
  size_t failed = 0;
  size_t skipped = 0;
  nlohmann::json results = nlohmann::json::array();
  for (const auto& [path, script] : scripts) {
    const auto failure = runner.run(script);
    if (failure) ++(failure->is_skipped ? skipped : failed);
    if (options.json) {
      results.push_back(to_json(path, script, failure));
    } else if (failure) {
      print(path, *failure);
    } else if (options.verbose) {
      fmt::print("{}: passed: {}\n", path, script.title);
    }
  }
  if (options.json) {
    // A script may hold any bytes.
    using Handler = nlohmann::json::error_handler_t;
    fmt::print("{}\n", results.dump(2, ' ', false, Handler::replace));
  } else {
    fmt::print("{} of {} scripts passed{}\n", scripts.size() - failed - skipped, scripts.size(),
               skipped == 0 ? "" : fmt::format(", {} skipped", skipped));
  }
  if (failed > 0) return kFailed;
  return skipped > 0 ? kSkipped : 0;
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
  const auto scripts = read_scripts(options.scripts);
  if (!scripts) return kBadInput;
  try {
    return run_scripts(options, *scripts);
  } catch (const drill::AgentFailure& failure) {
    fmt::print(stderr, "urxe drill: {}\n", failure.what());
    return kOurFailure;
  }
}

}  // namespace urxe

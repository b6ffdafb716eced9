// SPDX-License-Identifier: BSD-2-Clause
#include "tools/drill_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

#include "tools/drill/run.h"

namespace urxe {
namespace {

constexpr int kFailed = 1;
constexpr int kWrongUse = 2;

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
  result["expected"] = failure->expected;
  result["came"] = failure->came;
  result["fields"] = nlohmann::json::array();
  for (const drill::Difference& field : failure->fields) {
    result["fields"].push_back(
        {{"field", field.field}, {"expected", field.expected}, {"came", field.came}});
  }
  return result;
}

}  // namespace

int drill_command(const DrillOptions& options) {
  std::vector<std::string> paths;
  for (const std::string& argument : options.scripts) {
    const std::vector<std::string> found = scripts_of(argument);
    if (found.empty()) {
      fmt::print(stderr, "urxe drill: {}: no script (*.drill) in this folder\n", argument);
      return kWrongUse;
    }
    paths.insert(paths.end(), found.begin(), found.end());
  }
  size_t failed = 0;
  nlohmann::json results = nlohmann::json::array();
  for (const std::string& path : paths) {
    const auto text = read_file(path);
    if (!text) {
      fmt::print(stderr, "urxe drill: {}: cannot be read\n", path);
      return kWrongUse;
    }
    const auto script = drill::parse_script(*text);
    if (!script) {
      fmt::print(stderr, "{}:{}:{}: expected {}\n", path, script.error().line,
                 script.error().column, script.error().expected);
      return kWrongUse;
    }
    const auto failure = drill::run_script(*script);
    if (failure) ++failed;
    if (options.json) {
      results.push_back(to_json(path, *script, failure));
    } else if (failure) {
      print(path, *failure);
    } else if (options.verbose) {
      fmt::print("{}: passed: {}\n", path, script->title);
    }
  }
  if (options.json) {
    // A script may hold any bytes.
    using Handler = nlohmann::json::error_handler_t;
    fmt::print("{}\n", results.dump(2, ' ', false, Handler::replace));
  } else {
    fmt::print("{} of {} scripts passed\n", paths.size() - failed, paths.size());
  }
  return failed == 0 ? 0 : kFailed;
}

}  // namespace urxe

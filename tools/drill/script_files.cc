// SPDX-License-Identifier: BSD-2-Clause
#include "tools/drill/script_files.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

namespace urxe::drill {
namespace {

namespace fs = std::filesystem;

Unexpected<ScriptError> unreadable(const std::string& path, const std::string& what) {
  return Unexpected<ScriptError>({path, 0, 0, what});
}

/// The scripts that an argument names, in order.
Expected<std::vector<std::string>, ScriptError> scripts_of(const std::string& argument) {
  std::error_code error;
  if (!fs::is_directory(argument, error)) return std::vector{argument};
  std::vector<std::string> found;
  for (fs::recursive_directory_iterator at(argument, error), end; !error && at != end;
       at.increment(error)) {
    std::error_code unknown;
    if (at->path().extension() != ".drill" || at->is_directory(unknown)) continue;
    found.push_back(at->path().string());
  }
  if (error) return unreadable(argument, error.message());
  if (found.empty()) return unreadable(argument, "no script (*.drill) in this folder");
  std::sort(found.begin(), found.end());
  return found;
}

Expected<std::string, ScriptError> read_file(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::is_directory(status)) return unreadable(path, "it is a folder");
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    return unreadable(path, "it is no regular file");
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) return unreadable(path, std::strerror(errno));
  return std::string(std::istreambuf_iterator<char>(file), {});
}

}  // namespace

Expected<std::vector<NamedScript>, ScriptError> read_scripts(
    const std::vector<std::string>& arguments) {
  std::vector<NamedScript> scripts;
  for (const std::string& argument : arguments) {
    const auto found = scripts_of(argument);
    if (!found) return Unexpected<ScriptError>(found.error());
    for (const std::string& path : *found) {
      const auto text = read_file(path);
      if (!text) return Unexpected<ScriptError>(text.error());
      auto script = parse_script(*text);
      if (!script) {
        const ParseError& wrong = script.error();
        return Unexpected<ScriptError>(
            {path, wrong.line, wrong.column, "expected " + wrong.expected});
      }
      scripts.push_back({path, std::move(*script)});
    }
  }
  return scripts;
}

}  // namespace urxe::drill

// SPDX-License-Identifier: BSD-2-Clause
// Alone in its file: term.h has macros named `lines` and `columns`.
#include "tools/top/terminal_check.h"

#include <fmt/format.h>
#include <ncurses.h>
#include <term.h>
#include <unistd.h>

#include <cstdlib>

namespace urxe::top {

std::string check_terminal() {
  const char* const value = std::getenv("TERM");
  const std::string name = value != nullptr ? value : "";
  int error = 0;
  if (setupterm(nullptr, STDOUT_FILENO, &error) != OK) {
    return fmt::format("the terminal TERM={} is not known here; try TERM=vt100", name);
  }
  if (tigetstr("cup") != nullptr) return "";
  return fmt::format(
      "the terminal TERM={} cannot move its cursor; try TERM=vt100, or `urxe stat --interval 1`",
      name);
}

}  // namespace urxe::top

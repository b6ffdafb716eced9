// SPDX-License-Identifier: BSD-2-Clause
#include "tools/top/top_command.h"

#include <fmt/format.h>
#include <ncurses.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <clocale>
#include <cstdlib>

#include "packet/host/clock.h"
#include "tools/exit_status.h"
#include "tools/top/end_signals.h"
#include "tools/top/terminal_check.h"
#include "tools/top/view.h"

namespace urxe {
namespace {

constexpr double kLeastInterval = 0.1;  // seconds
constexpr double kMostInterval = 3600;
constexpr int kEscapeDelayMs = 25;
constexpr short kErrorColours = 1;
constexpr int kEscapeKey = 27;
constexpr int kDeleteKey = 127;
constexpr int64_t kSecondNs = 1'000'000'000;

int refuse_top(const std::string& reason) {
  fmt::print(stderr, "urxe top: {}\n", reason);
  return kBadInput;
}

/// The terminal, from the constructor on; as it was after the destructor.
class Terminal {
 public:
  Terminal() : screen_(newterm(nullptr, stdout, stdin)) {
    if (screen_ == nullptr) return;
    cbreak();
    noecho();
    curs_set(0);
    keypad(stdscr, TRUE);
    set_escdelay(kEscapeDelayMs);
    if (has_colors() && start_color() == OK) {
      use_default_colors();
      init_pair(kErrorColours, COLOR_RED, -1);
    }
  }
  ~Terminal() {
    if (screen_ == nullptr) return;
    endwin();
    delscreen(screen_);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  [[nodiscard]] bool is_open() const { return screen_ != nullptr; }

 private:
  SCREEN* screen_;
};

attr_t attributes_of(top::Style style) {
  switch (style) {
    case top::Style::kTitle:
      return A_BOLD;
    case top::Style::kHeading:
      return A_UNDERLINE;
    case top::Style::kChosen:
      return A_REVERSE;
    case top::Style::kError:
      return has_colors() ? static_cast<attr_t>(COLOR_PAIR(kErrorColours)) : A_BOLD;
    default:
      return A_NORMAL;
  }
}

void draw(top::View& view, const top::Looks& looks) {
  int lines = 0;
  int columns = 0;
  getmaxyx(stdscr, lines, columns);
  erase();
  const top::Size size{static_cast<size_t>(std::max(lines, 1)),
                       static_cast<size_t>(std::max(columns, 1))};
  int at = 0;
  for (const top::Line& line : compose(view, looks, size)) {
    attrset(attributes_of(line.style));
    mvaddnstr(at++, 0, line.text.c_str(), columns);
  }
  refresh();
}

top::Key key_of(int code) {
  using Kind = top::Key::Kind;
  switch (code) {
    case KEY_UP:
      return {Kind::kUp};
    case KEY_DOWN:
      return {Kind::kDown};
    case KEY_PPAGE:
      return {Kind::kPageUp};
    case KEY_NPAGE:
      return {Kind::kPageDown};
    case KEY_HOME:
      return {Kind::kHome};
    case KEY_END:
      return {Kind::kEnd};
    case KEY_ENTER:
    case '\n':
    case '\r':
      return {Kind::kEnter};
    case kEscapeKey:
      return {Kind::kEscape};
    case KEY_BACKSPACE:
    case '\b':
    case kDeleteKey:
      return {Kind::kBackspace};
    default:
      break;
  }
  if (code >= ' ' && code <= '~') return {Kind::kCharacter, static_cast<char>(code)};
  return {};
}

enum class Waited : uint8_t { kKey, kTime, kEnd };

/// Until there is a key, the time has come, or the program is to end.
Waited wait(const top::EndSignals& signals, Instant until) {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  const int64_t left_ns = std::max<int64_t>((until - clock_now()).ns, 0);
  const timespec timeout{static_cast<time_t>(left_ns / kSecondNs),
                         static_cast<long>(left_ns % kSecondNs)};
  const int ready = signals.wait(input, timeout);
  if (top::EndSignals::came()) return Waited::kEnd;
  if (ready < 0) return Waited::kKey;  // the size of the screen has changed, which is a key
  if (ready == 0) return Waited::kTime;
  return input.revents == POLLIN ? Waited::kKey : Waited::kEnd;
}

Observation look(const TopOptions& options) {
  Observation seen = options.all_namespaces ? observe(Whose::kAll, options.other_nodes)
                                            : observe(Whose::kThisNamespace);
  stat::select(seen, options.selection);
  return seen;
}

/// Takes the keys that there are. False: to end.
bool take_keys(top::View& view) {
  for (int code = getch(); code != ERR; code = getch()) {
    if (!press(view, key_of(code))) return false;
  }
  return true;
}

void run(const TopOptions& options, const top::EndSignals& signals) {
  const Duration interval{static_cast<int64_t>(options.interval * 1e9)};
  top::View view;
  top::Looks looks{look(options), {}};
  looks.before = looks.now;
  Instant next = clock_now() + interval;
  timeout(0);
  while (take_keys(view)) {
    draw(view, looks);
    if (wait(signals, next) == Waited::kEnd) return;
    if (clock_now() < next) continue;
    next = clock_now() + interval;
    if (view.is_paused) continue;
    looks.before = std::move(looks.now);
    looks.now = look(options);
  }
}

}  // namespace

int top_command(const TopOptions& options) {
  if (!(options.interval >= kLeastInterval && options.interval <= kMostInterval)) {
    return refuse_top(fmt::format("--interval {}: must be {} to {} seconds", options.interval,
                                  kLeastInterval, kMostInterval));
  }
  if (isatty(STDIN_FILENO) == 0 || isatty(STDOUT_FILENO) == 0) {
    return refuse_top("needs a terminal; `urxe stat --interval 1` prints to a pipe or a file");
  }
  std::setlocale(LC_ALL, "");
  if (const std::string wrong = top::check_terminal(); !wrong.empty()) return refuse_top(wrong);
  const top::EndSignals signals;
  const Terminal terminal;
  if (!terminal.is_open()) return refuse_top("the terminal cannot be opened");
  run(options, signals);
  return 0;
}

}  // namespace urxe

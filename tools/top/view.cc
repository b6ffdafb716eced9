// SPDX-License-Identifier: BSD-2-Clause
#include "tools/top/view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "tools/top/detail.h"
#include "tools/top/rows.h"

namespace urxe::top {
namespace {

constexpr auto kOrders = std::to_array<std::string_view>(
    {"traffic", "messages", "sent again", "round trip", "program", "process"});
static_assert(kOrders.size() == static_cast<size_t>(Order::kCount));

constexpr size_t kPage = 10;
constexpr size_t kLongestFilter = 40;
/// Title, headings, and the line of keys.
constexpr size_t kLinesAround = 3;
/// Title, and the line of keys.
constexpr size_t kLinesAroundPage = 2;

constexpr auto kHelp = std::to_array<std::string_view>({
    "up, down, PgUp, PgDn, Home, End   choose a line, or scroll this text",
    "Enter       all there is to say of the line, and why it failed",
    "Esc         back",
    "s           the next order: traffic, messages, sent again, round trip, program,",
    "            process",
    "/           type a filter: only lines that contain it; Enter ends, Esc drops it",
    "d           a line for each process, with the sums of its queue pairs; again: a",
    "            line for each device; again: a line for each queue pair",
    "p or space  pause",
    "q, Ctrl-C   end",
    "",
    "SENT, RCVD  bytes in a second",
    "MSGS        messages completed in a second",
    "AGAIN       request packets sent again in a second",
    "RTT         the round-trip time of the path",
    "WAITS FOR   see urxe-stat(1). \"stopped 12s\": the process is stopped, and what is",
    "            shown of it is so old",
});

void type(View& view, const Key& key) {
  switch (key.kind) {
    case Key::Kind::kEnter:
      view.is_typing = false;
      return;
    case Key::Kind::kEscape:
      view.is_typing = false;
      view.filter.clear();
      return;
    case Key::Kind::kBackspace:
      if (!view.filter.empty()) view.filter.pop_back();
      return;
    case Key::Kind::kCharacter:
      if (view.filter.size() < kLongestFilter) view.filter += key.character;
      return;
    default:
      return;
  }
}

/// The first one comes after the last one.
template <class Choice>
Choice next(Choice choice, Choice count) {
  return static_cast<Choice>((static_cast<size_t>(choice) + 1) % static_cast<size_t>(count));
}

bool press_character(View& view, char character) {
  switch (character) {
    case 'q':
      return false;
    case 's':
      view.order = next(view.order, Order::kCount);
      return true;
    case 'd':
      view.lines = next(view.lines, Lines::kCount);
      view.shows_detail = false;
      view.chosen = 0;
      return true;
    case 'p':
    case ' ':
      view.is_paused = !view.is_paused;
      return true;
    case '/':
      view.is_typing = true;
      view.filter.clear();
      return true;
    case 'h':
    case '?':
      view.shows_help = !view.shows_help;
      view.page_first = 0;
      return true;
    default:
      return true;
  }
}

std::string count_of(size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

/// Each process that uses a device has an entry of its own.
size_t distinct_devices(const Observation& seen) {
  std::set<std::string_view> names;
  for (const auto& entry : seen.devices) names.insert(entry.device);
  return names.size();
}

std::string title(const View& view, const Looks& looks, size_t rows) {
  std::string text =
      fmt::format("urxe top: {}, {} by {}", count_of(distinct_devices(looks.now), "device"),
                  count_of(rows, "line"), kOrders[static_cast<size_t>(view.order)]);
  if (!view.filter.empty() || view.is_typing) {
    text += fmt::format(", with \"{}{}\"", view.filter, view.is_typing ? "_" : "");
  }
  if (looks.now.unreadable != 0) {
    text += fmt::format(", {} of other versions left out", looks.now.unreadable);
  }
  return view.is_paused ? text + " (paused)" : text;
}

/// Keeps the chosen line among those that there are, and on the screen.
void scroll(View& view, size_t rows, size_t room) {
  view.chosen = std::min(view.chosen, rows == 0 ? 0 : rows - 1);
  view.first = std::min({view.first, view.chosen, rows > room ? rows - room : 0});
  if (view.chosen >= view.first + room) view.first = view.chosen + 1 - room;
}

void add_table(View& view, const std::vector<Row>& rows, const Size& size, std::vector<Line>& out) {
  const size_t room = size.lines > kLinesAround ? size.lines - kLinesAround : 1;
  scroll(view, rows.size(), room);
  out.push_back({headings(view.lines, size.columns), Style::kHeading});
  const size_t end = std::min(rows.size(), view.first + room);
  for (size_t i = view.first; i < end; ++i) {
    const Style style = rows[i].has_failed ? Style::kError : Style::kPlain;
    out.push_back({cells(rows[i], size.columns), i == view.chosen ? Style::kChosen : style});
  }
  if (rows.empty()) {
    out.push_back({"No queue pair: nothing runs under `urxe run`, or the filter hides it.", {}});
  }
}

/// Text that may be longer than the screen.
void add_page(View& view, const std::vector<Line>& page, const Size& size, std::vector<Line>& out) {
  const size_t room = size.lines > kLinesAroundPage ? size.lines - kLinesAroundPage : 1;
  view.page_first = std::min(view.page_first, page.size() > room ? page.size() - room : 0);
  const size_t end = std::min(page.size(), view.page_first + room);
  out.insert(out.end(), page.begin() + static_cast<ptrdiff_t>(view.page_first),
             page.begin() + static_cast<ptrdiff_t>(end));
}

std::vector<Line> help_page() {
  std::vector<Line> page;
  page.reserve(kHelp.size());
  for (const std::string_view help : kHelp) page.push_back({std::string(help), {}});
  return page;
}

void fit(std::vector<Line>& lines, const Size& size) {
  if (lines.size() > size.lines) lines.resize(size.lines);
  for (Line& line : lines) {
    if (line.text.size() > size.columns) line.text.resize(size.columns);
  }
}

/// The page of the row that was chosen when it was asked for.
std::vector<Line> detail_page(View& view, const std::vector<Row>& rows, const Looks& looks,
                              size_t columns) {
  view.chosen = std::min(view.chosen, rows.size() - 1);
  if (view.detail_of.empty()) view.detail_of = name_of(rows[view.chosen], view.lines);
  const auto row = std::ranges::find_if(
      rows, [&](const Row& one) { return name_of(one, view.lines) == view.detail_of; });
  if (row == rows.end()) return {{"It is not there any more. Enter: back to the table", {}}};
  view.chosen = static_cast<size_t>(row - rows.begin());
  std::vector<Line> page;
  add_detail(*row, looks, columns, page);
  return page;
}

/// Beyond the end is the end, which compose() knows.
void move(size_t& line, Key::Kind key) {
  switch (key) {
    case Key::Kind::kUp:
      line -= std::min<size_t>(line, 1);
      return;
    case Key::Kind::kDown:
      ++line;
      return;
    case Key::Kind::kPageUp:
      line -= std::min(line, kPage);
      return;
    case Key::Kind::kPageDown:
      line += kPage;
      return;
    case Key::Kind::kHome:
      line = 0;
      return;
    case Key::Kind::kEnd:
      line = SIZE_MAX / 2;
      return;
    default:
      return;
  }
}

}  // namespace

bool press(View& view, const Key& key) {
  if (view.is_typing) {
    type(view, key);
    return true;
  }
  size_t& line = view.shows_help || view.shows_detail ? view.page_first : view.chosen;
  switch (key.kind) {
    case Key::Kind::kCharacter:
      return press_character(view, key.character);
    case Key::Kind::kEnter:
      view.shows_detail = !view.shows_detail;
      view.detail_of.clear();
      view.page_first = 0;
      return true;
    case Key::Kind::kEscape:
      view.shows_detail = view.shows_help = false;
      return true;
    default:
      move(line, key.kind);
      return true;
  }
}

std::vector<Line> compose(View& view, const Looks& looks, const Size& size) {
  const std::vector<Row> rows = make_rows(view, looks);
  std::vector<Line> lines{{title(view, looks, rows.size()), Style::kTitle}};
  if (view.shows_help) {
    add_page(view, help_page(), size, lines);
  } else if (view.shows_detail && !rows.empty()) {
    add_page(view, detail_page(view, rows, looks, size.columns), size, lines);
  } else {
    add_table(view, rows, size, lines);
  }
  if (lines.size() + 1 <= size.lines) {
    lines.resize(size.lines - 1);
    lines.push_back(
        {"q end  h help  s order  / filter  d sums  p pause  Enter detail", Style::kTitle});
  }
  fit(lines, size);
  return lines;
}

}  // namespace urxe::top

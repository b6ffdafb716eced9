// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "provider/observation/stat_reader.h"

namespace urxe::top {

/// What the lines are ordered by. The largest come first, except for names and numbers.
enum class Order : uint8_t { kTraffic, kMessages, kResent, kRoundTrip, kProgram, kProcess, kCount };

/// What there is a line for. The last two are sums of queue pairs.
enum class Lines : uint8_t { kQueuePairs, kProcesses, kDevices, kCount };

/// What the user has chosen to see.
struct View {
  Order order = Order::kTraffic;
  std::string filter;      ///< only lines that contain it
  bool is_typing = false;  ///< the filter is being typed
  bool is_paused = false;
  bool shows_detail = false;  ///< of the chosen line, instead of the table
  std::string detail_of;      ///< that line's name_of(), also when others come before it
  Lines lines = Lines::kQueuePairs;
  bool shows_help = false;
  size_t chosen = 0;      ///< line of the table
  size_t first = 0;       ///< line at the top of the screen
  size_t page_first = 0;  ///< the same of the details or the help
};

/// A key, as the terminal's library tells it.
struct Key {
  enum class Kind : uint8_t {
    kCharacter,
    kUp,
    kDown,
    kPageUp,
    kPageDown,
    kHome,
    kEnd,
    kEnter,
    kEscape,
    kBackspace,
    kOther,
  };
  Kind kind = Kind::kOther;
  char character = 0;  ///< of kCharacter
};

/// Does what the key asks for. False: to end.
bool press(View& view, const Key& key);

/// Two looks at the processes; rates are between them.
struct Looks {
  Observation now;
  Observation before;
};

enum class Style : uint8_t { kPlain, kTitle, kHeading, kChosen, kError };

struct Line {
  std::string text;
  Style style = Style::kPlain;
};

struct Size {
  size_t lines = 24;
  size_t columns = 80;
};

/// The screen: as many lines as it has at most, none longer than it is wide. Keeps `view` within
/// what there is.
std::vector<Line> compose(View& view, const Looks& looks, const Size& size);

}  // namespace urxe::top

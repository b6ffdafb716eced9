// SPDX-License-Identifier: BSD-2-Clause
#include "tools/drill/wire/line_channel.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

#include "packet/host/clock.h"

namespace urxe::drill {
namespace {

constexpr Duration kSendLimit = seconds(10);

}  // namespace

/// False: the deadline has passed.
bool LineChannel::wait_for(short what, Instant deadline) {
  for (;;) {
    const int64_t left = (deadline - clock_now()).ns;
    pollfd entries[] = {{socket_.get(), what, 0}, {watched_, POLLIN, 0}};  // -1 is ignored
    const int limit = left <= 0 ? 0 : static_cast<int>(left / 1'000'000 + 1);
    const int ready = poll(entries, std::size(entries), limit);
    if (ready < 0 && errno != EINTR) return false;
    if (ready > 0 && entries[1].revents != 0) when_readable_();
    if (ready > 0 && entries[0].revents != 0) return true;
    if (left <= 0) return false;
  }
}

bool LineChannel::send(std::string_view line) {
  const Instant deadline = clock_now() + kSendLimit;
  std::string text(line);
  text += '\n';
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t sent =
        ::send(socket_.get(), text.data() + done, text.size() - done, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      done += static_cast<size_t>(sent);
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN || !wait_for(POLLOUT, deadline)) return false;
  }
  return true;
}

bool LineChannel::fill(Instant deadline) {
  char bytes[4096];
  for (;;) {
    if (!wait_for(POLLIN, deadline)) return false;
    const ssize_t got = recv(socket_.get(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (got > 0) {
      buffer_.append(bytes, static_cast<size_t>(got));
      return true;
    }
    if (got == 0 || (errno != EINTR && errno != EAGAIN)) return false;
  }
}

std::optional<std::string> LineChannel::line(Duration limit) {
  const Instant deadline = clock_now() + limit;
  for (size_t searched = 0;;) {
    const size_t end = buffer_.find('\n', searched);
    if (std::min(end, buffer_.size()) > kMaxLine) return std::nullopt;
    if (end != std::string::npos) {
      std::string line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      return line;
    }
    searched = buffer_.size();
    if (!fill(deadline)) return std::nullopt;
  }
}

std::optional<std::string> LineChannel::bytes(size_t count, Duration limit) {
  const Instant deadline = clock_now() + limit;
  while (buffer_.size() < count) {
    if (!fill(deadline)) return std::nullopt;
  }
  std::string bytes = buffer_.substr(0, count);
  buffer_.erase(0, count);
  return bytes;
}

}  // namespace urxe::drill

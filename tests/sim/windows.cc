// SPDX-License-Identifier: BSD-2-Clause
// Memory windows: bound by the owner, used by the peer, invalidated by either.
#include <algorithm>

#include "tests/sim/failure.h"
#include "tests/sim/side.h"

namespace urxe::sim {

using State = RemoteArea::Window::State;

/// Binds the own window, or takes it back while the peer has nothing outstanding through it.
bool Side::draw_local(Operation& op, SendRequest& request) {
  // A window is for the queue pair that binds it, and XRC's initiator answers to nobody.
  if (is_xrc()) return false;
  RemoteArea::Window& window = area_.window;
  // The model's state follows the completion.
  request.flags |= IBV_SEND_SIGNALED;
  if (window.state == State::kFree) {
    op.kind = Kind::kBind;
    request.opcode = IBV_WR_BIND_MW;
    BindRequest& bind = request.bind;
    bind.window = window.window->rkey;
    bind.new_key = window.key = RKey(ibv_inc_rkey(window.key.value()));
    bind.region = area_.writable->lkey;
    bind.va = area_.writable->iova;
    bind.length = area_.writable->length;
    bind.access = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
    window.base = 0;
    if (random_.percent(50)) {
      bind.access |= IBV_ACCESS_ZERO_BASED;
      window.base = bind.va;
    }
    window.state = State::kBinding;
    return true;
  }
  if (window.state == State::kBound && window.users == 0) {
    op.kind = Kind::kInvalidate;
    request.opcode = IBV_WR_LOCAL_INV;
    request.invalidate = window.key;
    window.state = State::kInvalidating;
    return true;
  }
  request.flags &= ~unsigned{IBV_SEND_SIGNALED};
  return false;
}

/// Reaches the peer's writable area through its window at times.
void Side::draw_window(Operation& op, SendRequest& request) {
  RemoteArea::Window& window = peer_->area_.window;
  if (window.state != State::kBound || !random_.percent(50)) return;
  op.by_window = true;
  ++window.users;
  request.rkey = window.key;
  request.remote_addr -= window.base;
}

/// Has a SEND take back the peer's window. WRITEs before it are executed before it; READs through
/// the window must have been answered.
bool Side::draw_invalidate(SendRequest& request) {
  RemoteArea::Window& window = peer_->area_.window;
  if (window.state != State::kBound || !random_.percent(30)) return false;
  const bool reads = std::any_of(sends_.begin(), sends_.end(), [](const Operation& op) {
    return op.kind == Kind::kRead && op.by_window;
  });
  if (reads) request.flags |= IBV_SEND_FENCE;
  request.invalidate = window.key;
  window.state = State::kInvalidating;
  return true;
}

void Side::note_invalidated(const Message& message, const ibv_wc& wc) {
  const bool invalidates = message.opcode == IBV_WR_SEND_WITH_INV;
  require(((wc.wc_flags & IBV_WC_WITH_INV) != 0) == invalidates,
          [&] { return name(wc) + "wrong flags"; });
  if (!invalidates) return;
  require(wc.invalidated_rkey == message.invalidate.value(),
          [&] { return name(wc) + "wrong invalidated_rkey"; });
  area_.window.state = State::kFree;
}

/// At the end of a run without failures the window is as the model has it.
void Side::check_window() const {
  if (failed_ || peer_->failed_) return;
  const RemoteArea::Window& window = area_.window;
  require(
      window.users == 0 && window.state != State::kBinding && window.state != State::kInvalidating,
      [&] { return text("qp 0x%x: its window is still in use", qp_.qpn.value()); });
  require((window.window->region != nullptr) == (window.state == State::kBound) &&
              (window.state == State::kFree || window.window->rkey == window.key),
          [&] { return text("qp 0x%x: its window is not as expected", qp_.qpn.value()); });
}

}  // namespace urxe::sim

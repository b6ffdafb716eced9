// SPDX-License-Identifier: BSD-2-Clause
#include "transport/path/read_window.h"

#include "transport/queue_pair/queue_pair.h"

namespace urxe {

ReadWindow::Admission ReadWindow::admit(ChannelAdapter& ca, QueuePair& qp) {
  if (!has_room()) {
    if (called_ == &qp) called_ = nullptr;  // it stays in line
    waiting_.push_back(qp);
    return Admission::kNoRoom;
  }
  if (called_ == nullptr) called_ = waiting_.front();
  if (called_ == nullptr || called_ == &qp) {
    called_ = nullptr;
    waiting_.remove(qp);
    return Admission::kGranted;
  }
  waiting_.push_back(qp);
  ca.active.push_back(*called_);
  return Admission::kNotYet;
}

void ReadWindow::give_back(ChannelAdapter& ca, uint32_t room) {
  if (room == 0) return;
  outstanding_ -= room;
  call_next(ca);
}

void ReadWindow::call_next(ChannelAdapter& ca) {
  if (called_ != nullptr || !has_room()) return;
  called_ = waiting_.front();
  if (called_ != nullptr) ca.active.push_back(*called_);
}

void ReadWindow::end_turn(ChannelAdapter& ca, QueuePair& qp) {
  if (called_ == &qp) {
    called_ = nullptr;
    waiting_.remove(qp);
  }
  call_next(ca);
}

void ReadWindow::leave_line(ChannelAdapter& ca, QueuePair& qp) {
  waiting_.remove(qp);
  if (called_ == &qp) called_ = nullptr;
  call_next(ca);
}

}  // namespace urxe

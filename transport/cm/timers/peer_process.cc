// SPDX-License-Identifier: BSD-2-Clause
#include "transport/cm/timers/peer_process.h"

#include <algorithm>
#include <utility>

namespace urxe {
namespace {

PeerProcess::Key key_of(const Communication& c) {
  return {c.flow.source.bytes, c.flow.destination.bytes, c.remote_ca_guid,
          c.remote_id.value() >> kCommIdIndexBits};
}

}  // namespace

PeerProcess& PeerProcessTable::link(Communication& c) {
  if (c.peer_process != nullptr) return *c.peer_process;
  const PeerProcess::Key key = key_of(c);
  PeerProcess& process = processes_[key];
  process.key = key;
  process.members.push_back(c);
  ++process.size;
  c.peer_process = &process;
  return process;
}

void PeerProcessTable::unlink(Communication& c) {
  PeerProcess* process = std::exchange(c.peer_process, nullptr);
  if (process == nullptr) return;
  process->members.remove(c);
  --process->size;
  process->suspects = std::min(process->suspects, process->size);
  if (process->size > 0) return;
  deadlines.remove(*process);
  processes_.erase(PeerProcess::Key(process->key));
}

}  // namespace urxe

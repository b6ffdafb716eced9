// SPDX-License-Identifier: BSD-2-Clause
#include "tests/interop/replay/adapter.h"

#include <algorithm>

namespace urxe::replay {
namespace {

DeviceConfig config_of(const Gid& gid) {
  DeviceConfig config;
  config.gids = {gid};
  config.keeps_requests = false;  // soft-RoCE drops them
  return config;
}

}  // namespace

Adapter::Adapter(const Gid& gid) : device_(config_of(gid)), pd_(device_.alloc_pd().value()) {}

void Adapter::run_until(Instant time) {
  for (auto deadline = device_.next_deadline(); deadline && *deadline <= time;
       deadline = device_.next_deadline()) {
    now_ = std::max(now_, *deadline);
    transmit();
  }
  now_ = std::max(now_, time);
}

void Adapter::receive(const RxPacket& packet) {
  device_.receive(packet, now_);
  transmit();
}

void Adapter::transmit() {
  device_.advance(now_);
  for (bool more = true; more;) {
    batch_.clear();
    more = device_.transmit(batch_, now_, AckPolicy::kAll);
    for (const TxBatch::Message& message : batch_.messages()) {
      keep({batch_.bytes(message), message.flow, batch_.identification(0)});
    }
  }
}

void Adapter::keep(const RxPacket& packet) {
  const auto& bytes = bytes_.emplace_back(packet.bytes.begin(), packet.bytes.end());
  Frame frame;
  frame.number = sent_.size() + 1;
  frame.time = now_;
  frame.packet = {bytes, packet.flow, packet.ipv4_identification};
  const auto view = parse(frame.packet);
  if (view) {
    frame.view = *view;
    sent_.push_back(frame);
  } else {
    errors_.push_back("sent an invalid packet: " + std::string(drop_reason_name(view.error())));
  }
}

}  // namespace urxe::replay

// SPDX-License-Identifier: BSD-2-Clause
#include "provider/runtime/events/event_sink.h"

#include <atomic>

namespace urxe {
namespace {

constinit const EventSink kNoEvents;
constinit const CommunicationSink kNoCommunication;
constinit const ManagementSink kNoManagement;
constinit std::atomic<const EventSink*> events{&kNoEvents};
constinit std::atomic<const CommunicationSink*> communication{&kNoCommunication};
constinit std::atomic<const ManagementSink*> management{&kNoManagement};

}  // namespace

void register_event_sink(const EventSink& sink) noexcept {
  events.store(&sink, std::memory_order_release);
}
void register_communication_sink(const CommunicationSink& sink) noexcept {
  communication.store(&sink, std::memory_order_release);
}

void register_management_sink(const ManagementSink& sink) noexcept {
  management.store(&sink, std::memory_order_release);
}

const EventSink& event_sink() noexcept {
  return *events.load(std::memory_order_acquire);
}
const CommunicationSink& communication_sink() noexcept {
  return *communication.load(std::memory_order_acquire);
}
const ManagementSink& management_sink() noexcept {
  return *management.load(std::memory_order_acquire);
}

}  // namespace urxe

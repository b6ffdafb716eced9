// SPDX-License-Identifier: BSD-2-Clause
// What a device that runs tells others of itself, by files that they read.
#include "provider/runtime/progress/progress.h"

namespace urxe {

void Progress::publish_counters(Instant now) {
  last_published_ = now;
  if (!engine_) return;
  EngineCounters totals = engine_->totals();
  frames_.add_losses(totals);
  publication_.reports.tell_memory_packets(totals.memory_sent_packets +
                                           totals.memory_received_packets);
  publication_.counters.publish(device_.counters(), totals, device_.cm().counters(),
                                device_.mads().drops());
}

/// Another number if something may have happened to a queue pair.
uint64_t Progress::changes() const {
  const Counters& counters = device_.counters();
  return turns_ + counters.sent_packets + counters.received_packets + counters.failures;
}

/// Not all of many queue pairs' at once. What is not told now is told in time, even if nothing else
/// happens: also of those that have changed since they were told of, while others were.
void Progress::publish_reports(Instant now) {
  reports_are_due_ = publication_.reports.is_open();
  if (!reports_are_due_ || now - last_reports_ < kPublishInterval) return;
  last_reports_ = now;
  if (publication_.reports.begins_anew()) round_began_with_ = changes();
  const bool ends = publication_.reports.publish(device_, now);
  reports_are_due_ = !ends || changes() != round_began_with_;
}

}  // namespace urxe

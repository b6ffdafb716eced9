// SPDX-License-Identifier: BSD-2-Clause
#include "tools/analyze/trace_json.h"

#include <algorithm>

namespace urxe::analyze {
namespace {

/// time, duration, least PSN, PSNs behind it, packets
Json points_json(const PsnTrace& trace, int64_t start_ns, size_t most) {
  const PsnTrace reduced = trace.reduced(most);
  Json numbers = Json::array();
  for (const PsnTrace::Point& point : reduced.points()) {
    numbers.push_back(point.first_ns - start_ns);
    numbers.push_back(point.last_ns - point.first_ns);
    numbers.push_back(point.least);
    numbers.push_back(point.most - point.least);
    numbers.push_back(point.packets);
  }
  return {{"packets_per_point", reduced.packets_per_point()}, {"points", std::move(numbers)}};
}

/// time, PSN, frame
Json marks_json(const FlowTrace::Marks& marks, int64_t start_ns) {
  Json numbers = Json::array();
  for (const Mark& mark : marks.kept()) {
    numbers.push_back(mark.time_ns - start_ns);
    numbers.push_back(mark.psn);
    numbers.push_back(mark.frame);
  }
  return {{"seen", marks.seen()}, {"every", marks.every()}, {"marks", std::move(numbers)}};
}

Json all_marks_json(const FlowTrace& trace, int64_t start_ns) {
  Json json = Json::object();
  for (size_t i = 0; i < kFlowEvents; ++i) {
    const auto event = static_cast<FlowEvent>(i);
    if (trace.marks(event).seen() == 0) continue;
    json[std::string(flow_event_name(event))] = marks_json(trace.marks(event), start_ns);
  }
  return json;
}

void append_span(Json& numbers, const MessageSpan& span, int64_t start_ns, int64_t duration_ns) {
  numbers.push_back(static_cast<unsigned>(span.kind));
  numbers.push_back(span.start_ns - start_ns);
  numbers.push_back(duration_ns);
  numbers.push_back(span.first);
  numbers.push_back(span.bytes);
  numbers.push_back(span.frame);
  numbers.push_back(span.failed ? 1 : 0);
}

/// kind, time, duration (-1: no answer), first PSN, bytes, frame, 1 if it failed
Json messages_json(const MessageQueue& messages, int64_t start_ns) {
  constexpr size_t kMostOpen = 200;
  constexpr int64_t kOpen = -1;
  Json numbers = Json::array();
  for (const MessageSpan& span : messages.spans().kept()) {
    append_span(numbers, span, start_ns, span.end_ns - span.start_ns);
  }
  const auto& open = messages.outstanding();
  for (size_t i = 0; i < std::min(open.size(), kMostOpen); ++i) {
    const Message& m = open[i];
    append_span(numbers, {m.kind, false, m.frame, m.start_ns, 0, m.first, m.bytes}, start_ns,
                kOpen);
  }
  return {{"seen", messages.spans().seen()},
          {"every", messages.spans().every()},
          {"open", open.size()},
          {"spans", std::move(numbers)}};
}

/// least, most, count
Json buckets_json(const LogHistogram& histogram) {
  Json numbers = Json::array();
  for (const LogHistogram::Bucket& bucket : histogram.buckets()) {
    numbers.push_back(bucket.least);
    numbers.push_back(bucket.most);
    numbers.push_back(bucket.count);
  }
  return numbers;
}

Json latencies_json(const MessageQueue& messages) {
  Json json = Json::object();
  for (size_t i = 0; i < kMessageKinds; ++i) {
    const LogHistogram& latency = messages.counts().at(i).latency;
    if (latency.count() == 0) continue;
    json[std::string(message_kind_name(static_cast<MessageKind>(i)))] = buckets_json(latency);
  }
  return json;
}

}  // namespace

Json trace_json(const RequestFlow& flow, int64_t start_ns, size_t most_points) {
  const FlowTrace& trace = flow.trace();
  return {{"psn_origin", flow.trace_origin().value()},
          {"requests", points_json(trace.requests(), start_ns, most_points)},
          {"responses", points_json(trace.responses(), start_ns, most_points)},
          {"events", all_marks_json(trace, start_ns)},
          {"messages", messages_json(flow.messages(), start_ns)},
          {"latencies", latencies_json(flow.messages())}};
}

}  // namespace urxe::analyze

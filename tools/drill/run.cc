// SPDX-License-Identifier: BSD-2-Clause
#include "tools/drill/run.h"

#include <fmt/format.h>

#include <algorithm>

#include "tools/drill/cm/cm_stage.h"
#include "tools/drill/qp_attributes.h"
#include "tools/drill/virtual_stage.h"

namespace urxe::drill {
namespace {

class Run {
 public:
  explicit Run(Stage& stage) : stage_(stage) {}
  std::optional<Failure> run(const Script& script);

 private:
  using Result = std::optional<Failure>;
  Result fail(std::string expected, std::string came, std::vector<Difference> fields = {}) const {
    // A script may have no statements at all.
    return Failure{statement_ != nullptr ? statement_->line : 1, std::move(expected),
                   std::move(came), std::move(fields), false};
  }
  Result step();
  Result act();
  Result packet_out();
  Result completion();
  Result event();
  Result state();
  Result memory();
  Result nothing();
  void drop_repeats();
  [[nodiscard]] bool matches(const SentPacket& packet) const;
  /// Nothing may wait that no statement has expected.
  Result nothing_left(std::string_view expected, bool all);
  [[nodiscard]] std::string show(const SentPacket& packet) const;
  [[nodiscard]] Instant at(Duration time) const {
    return (statement_->when->absolute ? start_ : last_) + time;
  }

  Stage& stage_;
  const Statement* statement_ = nullptr;
  Instant start_ = stage_.now();
  Instant last_ = stage_.now();  ///< of the statement before
};

std::string Run::show(const SentPacket& packet) const {
  return fmt::format("{} at {} ns", stage_.show(packet), (packet.when - start_).ns);
}

std::string show(const ibv_wc& wc) {
  return fmt::format("completion id {} status {} len {}", wc.wr_id, ibv_wc_status_str(wc.status),
                     wc.byte_len);
}

void Run::drop_repeats() {
  while (!stage_.sent.empty() && stage_.sent.front().is_repeat) stage_.sent.pop_front();
}

Run::Result Run::nothing_left(std::string_view expected, bool all) {
  drop_repeats();
  if (!stage_.sent.empty()) return fail(std::string(expected), show(stage_.sent.front()));
  if (!all) return std::nullopt;
  if (!stage_.completions.empty()) {
    return fail(std::string(expected), drill::show(stage_.completions.front()));
  }
  if (!stage_.events.empty()) {
    return fail(std::string(expected), stage_.event_name(stage_.events.front()));
  }
  return std::nullopt;
}

bool Run::matches(const SentPacket& packet) const {
  const Comparison comparison = stage_.compare(*statement_, packet);
  return comparison && comparison->empty();
}

Run::Result Run::packet_out() {
  const bool is_optional = statement_->find("optional") != nullptr;
  const Instant base = !statement_->when            ? stage_.now()
                       : statement_->when->absolute ? start_
                                                    : last_;
  const Window window = stage_.window(statement_->when, base);
  stage_.pass_until(window.last, true);
  while (!stage_.sent.empty() && stage_.sent.front().is_repeat && !matches(stage_.sent.front())) {
    stage_.sent.pop_front();
    stage_.pass_until(window.last, true);
  }
  if (stage_.sent.empty() && is_optional) return std::nullopt;
  if (stage_.sent.empty()) return fail(statement_->source, "no packet");
  const SentPacket packet = stage_.sent.front();
  const Comparison comparison = stage_.compare(*statement_, packet);
  if (!comparison) return fail("a valid packet", comparison.error());
  std::vector<Difference> fields = *comparison;
  // Then it is for the next statement.
  if (!fields.empty() && is_optional) return std::nullopt;
  stage_.sent.pop_front();
  if (statement_->when && (packet.when < window.first || packet.when > window.last)) {
    fields.push_back(
        {"time", fmt::format("{}..{} ns", (window.first - start_).ns, (window.last - start_).ns),
         fmt::format("{} ns", (packet.when - start_).ns)});
  }
  if (!fields.empty()) return fail(statement_->source, show(packet), std::move(fields));
  last_ = packet.when;
  return std::nullopt;
}

Run::Result Run::completion() {
  stage_.await([this] { return !stage_.completions.empty(); });
  if (stage_.completions.empty()) return fail(statement_->source, "no completion");
  const ibv_wc wc = stage_.completions.front();
  stage_.completions.pop_front();
  std::vector<Difference> fields;
  const auto compare = [&](std::string_view name, uint64_t expected, uint64_t came) {
    if (expected == came) return;
    fields.push_back({std::string(name), fmt::format("{}", expected), fmt::format("{}", came)});
  };
  if (wc.status != statement_->subject_id) {
    fields.push_back({"status", statement_->subject, ibv_wc_status_str(wc.status)});
  }
  if (statement_->find("id") != nullptr) compare("id", statement_->number("id"), wc.wr_id);
  if (statement_->find("len") != nullptr) compare("len", statement_->number("len"), wc.byte_len);
  if (statement_->find("imm") != nullptr) {
    compare("imm", statement_->number("imm"), __builtin_bswap32(wc.imm_data));
  }
  if (!fields.empty()) return fail(statement_->source, drill::show(wc), std::move(fields));
  return std::nullopt;
}

Run::Result Run::event() {
  stage_.await([this] { return !stage_.events.empty(); });
  if (stage_.events.empty()) return fail(statement_->source, "no event");
  const uint64_t came = stage_.events.front();
  stage_.events.pop_front();
  if (stage_.is_event(came, statement_->subject_id)) return std::nullopt;
  return fail(statement_->source, stage_.event_name(came));
}

Run::Result Run::state() {
  ibv_qp_state came{};
  stage_.await([&] { return (came = stage_.state()) == statement_->subject_id; });
  if (came == statement_->subject_id) return std::nullopt;
  return fail(statement_->source, fmt::format("state {}", static_cast<int>(came)));
}

Run::Result Run::memory() {
  const Word* data = statement_->find("data");
  if (data == nullptr) return fail("data= behind memory", "none");
  const size_t offset = statement_->number("offset");
  const size_t base = statement_->subject == "local" ? kReceiveOffset : 0;
  const size_t length = data->text == "count" ? 256 : data->text.size() / 2;
  const std::vector<uint8_t> wanted = pattern(data->text, length);
  std::optional<std::vector<uint8_t>> bytes;
  stage_.await([&] {
    bytes = stage_.memory(statement_->subject, base + offset, length);
    return !bytes || *bytes == wanted;
  });
  if (!bytes) return fail(statement_->source, "the region is shorter");
  for (size_t i = 0; i < length; ++i) {
    if ((*bytes)[i] == wanted[i]) continue;
    return fail(statement_->source, "other bytes",
                {{fmt::format("byte {}", offset + i), fmt::format("{:02x}", wanted[i]),
                  fmt::format("{:02x}", (*bytes)[i])}});
  }
  return std::nullopt;
}

Run::Result Run::act() {
  // Before it is done: what follows from it cannot come earlier than that much later.
  last_ = stage_.now();
  const Outcome outcome = stage_.act(*statement_);
  if (outcome.kind == Outcome::Kind::kDone) return std::nullopt;
  return Failure{statement_->line,
                 statement_->source,
                 outcome.why,
                 {},
                 outcome.kind == Outcome::Kind::kImpossible};
}

Run::Result Run::nothing() {
  const Instant end = std::max(at(statement_->when->earliest), stage_.now() + stage_.quiet());
  stage_.pass_until(end, false);
  last_ = stage_.now();
  return nothing_left(statement_->source, true);
}

Run::Result Run::step() {
  const Verb verb = statement_->verb;
  if (verb == Verb::kOut || verb == Verb::kMessageOut) return packet_out();
  const bool is_check = verb == Verb::kCompletion || verb == Verb::kEvent ||
                        verb == Verb::kCmEvent || verb == Verb::kState || verb == Verb::kMemory;
  if (verb == Verb::kNothing) return nothing();
  if (statement_->when) {
    const Instant end = at(statement_->when->earliest);
    verb == Verb::kCmEvent ? stage_.await_event(end) : stage_.pass_until(end, false);
    last_ = stage_.now();
  }
  if (is_check) stage_.settle();
  // A check may stand before or behind a packet of the same instant.
  if (!is_check) {
    if (auto failure = nothing_left("no packet before this line", false)) return failure;
  }
  switch (verb) {
    case Verb::kCompletion:
      return completion();
    case Verb::kEvent:
    case Verb::kCmEvent:
      return event();
    case Verb::kState:
      return state();
    case Verb::kMemory:
      return memory();
    default:
      return act();
  }
}

std::optional<Failure> Run::run(const Script& script) {
  for (const Statement& statement : script.statements) {
    statement_ = &statement;
    if (auto failure = step()) return failure;
  }
  stage_.pass_until(stage_.now() + stage_.quiet(), false);
  return nothing_left("the end of the script", true);
}

}  // namespace

std::optional<Failure> run_script(const Script& script, Stage& stage) {
  return Run(stage).run(script);
}

std::optional<Failure> run_script(const Script& script) {
  if (script.is_cm) {
    CmStage stage;
    return run_script(script, stage);
  }
  VirtualStage stage;
  return run_script(script, stage);
}

}  // namespace urxe::drill

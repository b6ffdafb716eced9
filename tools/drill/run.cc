// SPDX-License-Identifier: BSD-2-Clause
#include "tools/drill/run.h"

#include <fmt/format.h>

#include <algorithm>

#include "packet/wire/text/format.h"
#include "tools/drill/stage.h"

namespace urxe::drill {
namespace {

class Run {
 public:
  std::optional<Failure> run(const Script& script);

 private:
  using Result = std::optional<Failure>;
  Result fail(std::string expected, std::string came, std::vector<Difference> fields = {}) const {
    return Failure{statement_->line, std::move(expected), std::move(came), std::move(fields)};
  }
  Result step();
  Result act();
  Result packet_out();
  Result completion();
  Result event();
  Result state();
  Result memory();
  /// Nothing may wait that no statement has expected.
  Result nothing_left(std::string_view expected, bool all);
  [[nodiscard]] std::string show(const SentPacket& packet) const;
  [[nodiscard]] Instant at(Duration time) const {
    return (statement_->when->absolute ? start_ : last_) + time;
  }

  Stage stage_;
  const Statement* statement_ = nullptr;
  Instant start_ = stage_.now;
  Instant last_ = stage_.now;  ///< of the statement before
};

std::string Run::show(const SentPacket& packet) const {
  const auto view = parse({packet.bytes, packet.flow, uint16_t{0}});
  const std::string text = view ? format(*view) : std::string(drop_reason_name(view.error()));
  return fmt::format("{} at {} ns", text, (packet.when - start_).ns);
}

std::string show(const ibv_wc& wc) {
  return fmt::format("completion id {} status {} len {}", wc.wr_id, ibv_wc_status_str(wc.status),
                     wc.byte_len);
}

Run::Result Run::nothing_left(std::string_view expected, bool all) {
  if (!stage_.sent.empty()) return fail(std::string(expected), show(stage_.sent.front()));
  if (!all) return std::nullopt;
  if (!stage_.completions.empty()) {
    return fail(std::string(expected), drill::show(stage_.completions.front()));
  }
  if (!stage_.events.empty()) {
    return fail(std::string(expected), ibv_event_type_str(stage_.events.front()));
  }
  return std::nullopt;
}

Run::Result Run::packet_out() {
  const Instant first = statement_->when ? at(statement_->when->earliest) : stage_.now;
  const Instant last = statement_->when ? at(statement_->when->latest) : stage_.now;
  stage_.pass_until(last, true);
  if (stage_.sent.empty()) return fail(statement_->source, "no packet");
  const SentPacket packet = stage_.sent.front();
  stage_.sent.pop_front();
  const auto view = parse({packet.bytes, packet.flow, uint16_t{0}});
  if (!view) return fail("a valid packet", std::string(drop_reason_name(view.error())));
  auto fields =
      differences(*statement_, *view, [&](const Word& word) { return stage_.key_of(word); });
  if (statement_->when && (packet.when < first || packet.when > last)) {
    fields.push_back({"time", fmt::format("{}..{} ns", (first - start_).ns, (last - start_).ns),
                      fmt::format("{} ns", (packet.when - start_).ns)});
  }
  if (!fields.empty()) return fail(statement_->source, show(packet), std::move(fields));
  return std::nullopt;
}

Run::Result Run::completion() {
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
  if (stage_.events.empty()) return fail(statement_->source, "no event");
  const ibv_event_type came = stage_.events.front();
  stage_.events.pop_front();
  if (came == statement_->subject_id) return std::nullopt;
  return fail(statement_->source, ibv_event_type_str(came));
}

Run::Result Run::state() {
  if (stage_.state() == statement_->subject_id) return std::nullopt;
  return fail(statement_->source, fmt::format("state {}", static_cast<int>(stage_.state())));
}

Run::Result Run::memory() {
  const std::vector<uint8_t>& bytes = stage_.memory(statement_->subject);
  const Word* data = statement_->find("data");
  if (data == nullptr) return fail("data= behind memory", "none");
  const size_t base = statement_->subject == "local" ? kReceiveOffset : 0;
  const size_t offset = base + statement_->number("offset");
  const size_t length = data->text == "count" ? 256 : data->text.size() / 2;
  const std::vector<uint8_t> wanted = pattern(data->text, length);
  if (offset + length > bytes.size()) return fail(statement_->source, "the region is shorter");
  for (size_t i = 0; i < length; ++i) {
    if (bytes[offset + i] == wanted[i]) continue;
    return fail(statement_->source, "other bytes",
                {{fmt::format("byte {}", offset - base + i), fmt::format("{:02x}", wanted[i]),
                  fmt::format("{:02x}", bytes[offset + i])}});
  }
  return std::nullopt;
}

Run::Result Run::act() {
  bool done = true;
  switch (statement_->verb) {
    case Verb::kQp:
      done = stage_.make_qp(*statement_);
      break;
    case Verb::kRegion:
      done = stage_.add_region(*statement_);
      break;
    case Verb::kPost:
      done = stage_.post(*statement_);
      break;
    case Verb::kReceive:
      done = stage_.receive(*statement_);
      break;
    case Verb::kModify:
      done = stage_.modify(*statement_);
      break;
    default:
      stage_.packet_in(*statement_);
  }
  if (done) return std::nullopt;
  return fail(statement_->source, "refused");
}

Run::Result Run::step() {
  const Verb verb = statement_->verb;
  if (verb == Verb::kOut) return packet_out();
  const bool is_check = verb == Verb::kCompletion || verb == Verb::kEvent || verb == Verb::kState ||
                        verb == Verb::kMemory;
  if (statement_->when) stage_.pass_until(at(statement_->when->earliest), false);
  if (verb == Verb::kNothing) return nothing_left(statement_->source, true);
  if (is_check) stage_.settle();
  // A check may stand before or behind a packet of the same instant.
  if (!is_check) {
    if (auto failure = nothing_left("no packet before this line", false)) return failure;
  }
  switch (verb) {
    case Verb::kCompletion:
      return completion();
    case Verb::kEvent:
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
    last_ = stage_.now;
  }
  stage_.settle();
  return nothing_left("the end of the script", true);
}

}  // namespace

std::optional<Failure> run_script(const Script& script) {
  return Run().run(script);
}

}  // namespace urxe::drill

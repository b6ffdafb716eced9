// SPDX-License-Identifier: BSD-2-Clause
// Makes plans: chooses the messages and places their pieces in the arenas.
#include <algorithm>
#include <numeric>

#include "plan.h"

namespace rc_verify {
namespace {

constexpr uint64_t kMaxGap = 64;
constexpr uint64_t kAtomicSize = 8;

class PlanBuilder {
 public:
  PlanBuilder(PatternKey key, const PlanLimits& limits) : limits_(limits), choice_(key) {
    plan_.key = key;
  }

  Choice& choice() { return choice_; }
  uint32_t count() const { return static_cast<uint32_t>(plan_.messages.size()); }
  bool full() const {
    const uint32_t kept = limits_.closing_send ? 1 : 0;
    return count() + kept >= limits_.messages || used_ >= limits_.budget;
  }
  uint64_t room() const { return std::min(limits_.max_size, limits_.budget - used_); }

  void add(Operation operation, uint64_t size);
  // After a READ: a fenced SEND of what it brought.
  void add_echo_of_last();
  Plan finish();

 private:
  Message& append(Operation operation, uint64_t size);
  void place_atomic(Message& message);
  uint64_t fresh_counter();
  std::vector<Piece> place(uint64_t& cursor, uint64_t length, uint32_t max_pieces);
  std::vector<Piece> place_receive(uint64_t length);
  std::vector<uint64_t> random_cuts(uint64_t length, uint32_t max_pieces);

  PlanLimits limits_;
  Choice choice_;
  Plan plan_;
  uint64_t used_ = 0;
  uint64_t local_at_ = 0;
  uint64_t remote_at_ = 0;
};

Message& PlanBuilder::append(Operation operation, uint64_t size) {
  Message message;
  message.operation = operation;
  message.length = size;
  message.content = count();
  message.signaled = !choice_.one_in(3);
  message.fenced = choice_.one_in(8) && limits_.fences;
  if (has_immediate(operation)) message.immediate = static_cast<uint32_t>(choice_.bits());
  if (takes_receive(operation)) message.solicited = choice_.one_in(4);
  used_ += size;
  plan_.messages.push_back(message);
  return plan_.messages.back();
}

void PlanBuilder::add(Operation operation, uint64_t size) {
  Message& message = append(operation, is_atomic(operation) ? kAtomicSize : size);
  if (is_atomic(operation)) {
    place_atomic(message);
    return;
  }
  message.in_line = operation != Operation::kRead && size <= limits_.max_inline &&
                    (choice_.one_in(2) || limits_.all_inline);
  message.local = place(local_at_, size, limits_.max_sge);
  message.remote = is_send(operation) ? place_receive(size) : place(remote_at_, size, 1);
}

void PlanBuilder::add_echo_of_last() {
  const uint32_t read = count() - 1;
  Message& message = append(Operation::kSend, plan_.messages[read].length);
  message.fenced = true;
  message.content = read;
  message.local = plan_.messages[read].local;
  message.remote = place_receive(message.length);
}

uint64_t PlanBuilder::fresh_counter() {
  remote_at_ = (remote_at_ + 2 * kAtomicSize) / kAtomicSize * kAtomicSize;
  const uint64_t value = choice_.bits();
  plan_.counters.push_back({remote_at_, value, value});
  remote_at_ += kAtomicSize;
  return plan_.counters.size() - 1;
}

void PlanBuilder::place_atomic(Message& message) {
  const bool reuse = !plan_.counters.empty() && !choice_.one_in(3);
  const uint64_t index = reuse ? choice_.below(plan_.counters.size()) : fresh_counter();
  Counter& counter = plan_.counters[index];
  local_at_ += 1 + choice_.below(kMaxGap);
  message.local = {{local_at_, 0, kAtomicSize}};
  local_at_ += kAtomicSize;
  message.remote = {{counter.arena_offset, 0, kAtomicSize}};
  message.original = counter.after;
  if (message.operation == Operation::kFetchAdd) {
    message.compare_add = choice_.bits();
    counter.after += message.compare_add;
    return;
  }
  const bool matches = !choice_.one_in(3);
  message.compare_add = matches ? counter.after : counter.after ^ (1ULL << choice_.below(64));
  message.swap = choice_.bits();
  if (matches) counter.after = message.swap;
}

std::vector<uint64_t> PlanBuilder::random_cuts(uint64_t length, uint32_t max_pieces) {
  uint64_t pieces = 1;
  if (choice_.one_in(3)) pieces = 1 + choice_.below(std::min<uint64_t>(max_pieces, length + 1));
  if (limits_.pieces > 0) pieces = std::min(limits_.pieces, max_pieces);
  pieces = std::clamp<uint64_t>(pieces, 1, std::max<uint64_t>(length, 1));
  std::vector<uint64_t> cuts = {0, length};
  while (cuts.size() < pieces + 1) {
    const uint64_t cut = 1 + choice_.below(length - 1);
    if (std::find(cuts.begin(), cuts.end(), cut) == cuts.end()) cuts.push_back(cut);
  }
  std::sort(cuts.begin(), cuts.end());
  return cuts;
}

// Splits the message at random and gives the pieces places in another order than that of their
// bytes.
std::vector<Piece> PlanBuilder::place(uint64_t& cursor, uint64_t length, uint32_t max_pieces) {
  const std::vector<uint64_t> cuts = random_cuts(length, max_pieces);
  std::vector<Piece> pieces(cuts.size() - 1);
  std::vector<size_t> order(pieces.size());
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[choice_.below(i)]);
  for (size_t index : order) {
    cursor += 1 + choice_.below(kMaxGap);
    pieces[index] = {cursor, cuts[index], cuts[index + 1] - cuts[index]};
    cursor += pieces[index].length;
  }
  return pieces;
}

std::vector<Piece> PlanBuilder::place_receive(uint64_t length) {
  const uint64_t spare = choice_.one_in(2) ? choice_.below(100) : 0;
  if (length + spare == 0 && choice_.one_in(2)) return {};
  return place(remote_at_, length + spare, limits_.max_sge);
}

Plan PlanBuilder::finish() {
  if (limits_.closing_send) add(Operation::kSend, 0);
  // The last completion tells the requester that everything before it is done.
  if (!plan_.messages.empty()) plan_.messages.back().signaled = true;
  plan_.local_size = local_at_ + kMaxGap;
  plan_.remote_size = remote_at_ + kMaxGap;
  return std::move(plan_);
}

std::vector<Operation> operations_of(const PlanLimits& limits) {
  std::vector<Operation> operations;
  for (Operation operation : kAllOperations)
    if (contains(limits, operation)) operations.push_back(operation);
  return operations;
}

uint64_t random_size(Choice& choice, uint32_t path_mtu, uint64_t room) {
  switch (choice.below(4)) {
    case 0:
      return choice.below(std::min<uint64_t>(room, 300) + 1);
    case 1:
      return choice.below(std::min<uint64_t>(room, 20ULL * path_mtu) + 1);
    default:
      break;
  }
  const auto sizes = interesting_sizes(path_mtu, room);
  return sizes[choice.below(sizes.size())];
}

}  // namespace

std::vector<uint64_t> interesting_sizes(uint32_t path_mtu, uint64_t max_size) {
  std::vector<uint64_t> sizes = {0, 1, 2, 3, 4, 5, 7, 8, 9, 63, 64, 65};
  for (uint64_t packets : {1, 2, 3, 15, 16, 17, 64}) {
    const uint64_t whole = packets * path_mtu;
    for (uint64_t size : {whole - 1, whole, whole + 1, whole + 3}) sizes.push_back(size);
  }
  for (uint64_t size = 65536; size <= (4ULL << 20); size *= 4) {
    sizes.push_back(size);
    sizes.push_back(size + 5);
  }
  sizes.push_back(4ULL << 20);
  sizes.push_back(max_size);
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  std::erase_if(sizes, [max_size](uint64_t size) { return size > max_size; });
  return sizes;
}

bool contains(const PlanLimits& limits, Operation operation) {
  return (limits.operations >> static_cast<uint32_t>(operation) & 1) != 0;
}

Plan random_plan(PatternKey key, const PlanLimits& limits) {
  PlanBuilder builder(key, limits);
  const std::vector<Operation> operations = operations_of(limits);
  while (!builder.full()) {
    const Operation operation = operations[builder.choice().below(operations.size())];
    uint64_t size = random_size(builder.choice(), limits.path_mtu, builder.room());
    if (limits.no_empty) size = std::max<uint64_t>(size, 1);
    builder.add(operation, size);
    const bool echo = operation == Operation::kRead && contains(limits, Operation::kSend) &&
                      builder.choice().one_in(2);
    if (echo && limits.fences && !builder.full() && builder.room() >= size)
      builder.add_echo_of_last();
  }
  return builder.finish();
}

Plan size_plan(PatternKey key, const PlanLimits& limits, uint64_t size) {
  PlanBuilder builder(key, limits);
  for (Operation operation : operations_of(limits)) builder.add(operation, size);
  return builder.finish();
}

Plan single_plan(PatternKey key, const PlanLimits& limits, Operation operation, uint64_t size) {
  PlanBuilder builder(key, limits);
  builder.add(operation, size);
  return builder.finish();
}

}  // namespace rc_verify

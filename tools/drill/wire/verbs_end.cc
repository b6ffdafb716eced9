// SPDX-License-Identifier: BSD-2-Clause
#include "tools/drill/wire/verbs_end.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "tools/drill/packet_fields.h"
#include "tools/drill/vocabulary.h"
#include "transport/later_verbs.h"
#include "transport/queue_pair/qp_state.h"

namespace urxe::drill {
namespace {

constexpr size_t kPageBytes = 4096;
constexpr int kCompletions = 512;
constexpr uint32_t kRequests = 128;
/// One second: scripts that name no timeout do not want to see it on a slow peer either.
constexpr uint8_t kTimeout = 18;

Outcome refused(std::string_view call, int errno_value) {
  return {Outcome::Kind::kRefused, fmt::format("{}: {}", call, std::strerror(errno_value))};
}

/// Of a call that returns an errno value.
Outcome done_or_refused(std::string_view call, int errno_value) {
  return errno_value == 0 ? Outcome{} : refused(call, errno_value);
}

Outcome impossible(std::string why) {
  return {Outcome::Kind::kImpossible, std::move(why)};
}

bool is_atomic(ibv_wr_opcode opcode) {
  return opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

}  // namespace

VerbsEnd::~VerbsEnd() {
  if (qp_ != nullptr) ibv_destroy_qp(qp_);
  if (srq_ != nullptr) ibv_destroy_srq(srq_);
  if (ah_ != nullptr) ibv_destroy_ah(ah_);
  for (auto& [name, region] : regions_) {
    if (region.mr != nullptr) ibv_dereg_mr(region.mr);
  }
  if (cq_ != nullptr) ibv_destroy_cq(cq_);
  if (pd_ != nullptr) ibv_dealloc_pd(pd_);
  // Events of what is gone concern nobody.
  events(SIZE_MAX);
}

Outcome VerbsEnd::act(const Statement& statement) {
  if (statement.verb == Verb::kQp) return make_qp(statement);
  if (qp_ == nullptr) return {Outcome::Kind::kRefused, "there is no queue pair"};
  switch (statement.verb) {
    case Verb::kRegion:
      return add_region(statement);
    case Verb::kPost:
      return post(statement);
    case Verb::kReceive:
      return receive(statement);
    case Verb::kSrq:
      return set_limit(statement);
    case Verb::kModify:
      return modify(statement);
    default:
      return {Outcome::Kind::kRefused, "the statement is no verb"};
  }
}

Outcome VerbsEnd::make_base() {
  pd_ = ibv_alloc_pd(device_.context.get());
  if (pd_ == nullptr) return refused("ibv_alloc_pd", errno);
  cq_ = ibv_create_cq(device_.context.get(), kCompletions, nullptr, nullptr, 0);
  if (cq_ == nullptr) return refused("ibv_create_cq", errno);
  Outcome outcome = register_region("local", kLocalBytes, 0, IBV_ACCESS_LOCAL_WRITE);
  if (outcome.kind != Outcome::Kind::kDone) return outcome;
  Region& region = regions_["local"];
  const std::vector<uint8_t> bytes = pattern("count", kLocalBytes);
  std::copy(bytes.begin(), bytes.end(), region.bytes);
  return {};
}

Outcome VerbsEnd::check_limits(const Statement& statement) const {
  const ibv_mtu mtu = mtu_of(statement.number("mtu", 1024));
  if (mtu > device_.port.active_mtu) {
    return impossible(fmt::format("a path MTU of {}; the port has {}", 128U << mtu,
                                  128U << device_.port.active_mtu));
  }
  for (const auto& [key, most] : {std::pair{"rd_atomic", device_.limits.max_qp_init_rd_atom},
                                  std::pair{"dest_rd_atomic", device_.limits.max_qp_rd_atom},
                                  std::pair{"srq", device_.limits.max_srq}}) {
    if (statement.number(key) <= static_cast<uint64_t>(most)) continue;
    return impossible(fmt::format("{} of {}; the device has {}", key, statement.number(key), most));
  }
  const bool migrates = (device_.limits.device_cap_flags & IBV_DEVICE_AUTO_PATH_MIG) != 0;
  if (statement.number("alternate") != 0 && !migrates) {
    return impossible("path migration, which the device has not");
  }
  return {};
}

Outcome VerbsEnd::make_qp(const Statement& statement) {
  if (qp_ != nullptr || pd_ != nullptr) return {Outcome::Kind::kRefused, "one queue pair only"};
  Outcome fits = check_limits(statement);
  if (fits.kind != Outcome::Kind::kDone) return fits;
  Outcome base = make_base();
  if (base.kind != Outcome::Kind::kDone) return base;
  ibv_qp_init_attr init{};
  init.qp_type = type_of(statement);
  init.send_cq = init.recv_cq = cq_;
  init.sq_sig_all = 1;
  init.cap = {kRequests, kRequests, 1, 1, 0};
  if (statement.number("srq") != 0) {
    ibv_srq_init_attr shared{nullptr, {kRequests, 1, 0}};
    srq_ = ibv_create_srq(pd_, &shared);
    if (srq_ == nullptr) return refused("ibv_create_srq", errno);
    init.srq = srq_;
  }
  qp_ = ibv_create_qp(pd_, &init);
  if (qp_ == nullptr && errno == EOPNOTSUPP) {
    return impossible("queue pairs of this type, which the device has not");
  }
  if (qp_ == nullptr) return refused("ibv_create_qp", errno);
  return connect(statement);
}

Outcome VerbsEnd::connect(const Statement& statement) {
  ibv_qp_attr attr = attributes(statement, peer_, kTimeout);
  attr.ah_attr.grh.sgid_index = attr.alt_ah_attr.grh.sgid_index = device_.gid_index;
  qkey_ = attr.qkey;
  ibv_qp_state from = IBV_QPS_RESET;
  for (const ibv_qp_state to : {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS}) {
    attr.qp_state = to;
    const int mask = transition_masks(qp_->qp_type, from, to).required |
                     migration_mask(statement, to) | IBV_QP_STATE;
    if (const int wrong = ibv_modify_qp(qp_, &attr, mask); wrong != 0) {
      return refused("ibv_modify_qp", wrong);
    }
    from = to;
  }
  if (qp_->qp_type != IBV_QPT_UD) return {};
  ah_ = ibv_create_ah(pd_, &attr.ah_attr);
  return ah_ == nullptr ? refused("ibv_create_ah", errno) : Outcome{};
}

Outcome VerbsEnd::add_region(const Statement& statement) {
  const size_t length = std::max<size_t>(statement.number("length", 4096), 1);
  return register_region(statement.subject, length, statement.number("va", 0x100000),
                         static_cast<unsigned>(statement.number("access", kAllRights)));
}

Outcome VerbsEnd::register_region(const std::string& name, size_t length, uint64_t va,
                                  unsigned access) {
  if (regions_.size() == kMaxRegions) {
    return impossible(fmt::format("more than {} regions", kMaxRegions));
  }
  Region& region = regions_[name];
  if (region.mr != nullptr) return {Outcome::Kind::kRefused, "the region is there already"};
  region.length = length;
  region.pages.resize(length + 2 * kPageBytes);
  const auto begin = reinterpret_cast<uintptr_t>(region.pages.data());
  // Adapters want addresses on the wire and in memory to be at the same place of a page.
  region.bytes = region.pages.data() + (kPageBytes - begin % kPageBytes) + va % kPageBytes;
  region.mr = name == "local"
                  ? ibv_reg_mr(pd_, region.bytes, length, static_cast<int>(access))
                  : ibv_reg_mr_iova(pd_, region.bytes, length, va, static_cast<int>(access));
  if (region.mr != nullptr) return {};
  if ((access & kAccessFlushGlobal) != 0 && (errno == EOPNOTSUPP || errno == EINVAL)) {
    return impossible("memory that can be flushed, which the device has not");
  }
  return refused("ibv_reg_mr", errno);
}

ibv_sge VerbsEnd::local(size_t offset, uint64_t length) const {
  const Region& region = regions_.at("local");
  return {reinterpret_cast<uintptr_t>(region.bytes) + offset, static_cast<uint32_t>(length),
          region.mr->lkey};
}

Outcome VerbsEnd::post(const Statement& statement) {
  const auto opcode = static_cast<ibv_wr_opcode>(statement.subject_id);
  if (is_atomic(opcode) && device_.limits.atomic_cap == IBV_ATOMIC_NONE) {
    return impossible("atomics, which the device has not");
  }
  ibv_sge data = local(0, statement.number("len", is_atomic(opcode) ? 8 : 0));
  ibv_send_wr request{};
  request.wr_id = statement.number("id");
  request.opcode = opcode;
  request.sg_list = &data;
  request.num_sge = data.length == 0 ? 0 : 1;
  request.send_flags = statement.find("fence") != nullptr ? unsigned{IBV_SEND_FENCE} : 0U;
  if (opcode == IBV_WR_SEND_WITH_INV) {
    request.invalidate_rkey = static_cast<uint32_t>(statement.number("invalidate"));
  } else {
    request.imm_data = big_endian(statement.number("imm"));
  }
  const Word* word = statement.find("rkey");
  const uint32_t named = word == nullptr ? 0x77 : rkey(word->text);
  const uint32_t key = named != 0 ? named : static_cast<uint32_t>(word->number);
  const uint64_t va = statement.number("va", 0x5000);
  if (qp_->qp_type == IBV_QPT_UD) {
    request.wr.ud = {ah_, peer_.qpn, static_cast<uint32_t>(statement.number("qkey", qkey_))};
  } else if (is_atomic(opcode)) {
    const bool add = opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
    request.wr.atomic = {va, statement.number(add ? "add" : "compare"), statement.number("swap"),
                         key};
  } else {
    request.wr.rdma = {va, key};
  }
  ibv_send_wr* bad = nullptr;
  return done_or_refused("ibv_post_send", ibv_post_send(qp_, &request, &bad));
}

Outcome VerbsEnd::receive(const Statement& statement) {
  ibv_sge data = local(kReceiveOffset, statement.number("len", 4096));
  ibv_recv_wr request{};
  request.wr_id = statement.number("id");
  request.sg_list = &data;
  request.num_sge = data.length == 0 ? 0 : 1;
  ibv_recv_wr* bad = nullptr;
  if (srq_ != nullptr) {
    return done_or_refused("ibv_post_srq_recv", ibv_post_srq_recv(srq_, &request, &bad));
  }
  return done_or_refused("ibv_post_recv", ibv_post_recv(qp_, &request, &bad));
}

Outcome VerbsEnd::set_limit(const Statement& statement) {
  if (srq_ == nullptr) return {Outcome::Kind::kRefused, "there is no shared receive queue"};
  ibv_srq_attr attr{};
  attr.srq_limit = static_cast<uint32_t>(statement.number("limit"));
  return done_or_refused("ibv_modify_srq", ibv_modify_srq(srq_, &attr, IBV_SRQ_LIMIT));
}

Outcome VerbsEnd::modify(const Statement& statement) {
  ibv_qp_attr attr{};
  attr.qp_state = static_cast<ibv_qp_state>(statement.subject_id);
  return done_or_refused("ibv_modify_qp", ibv_modify_qp(qp_, &attr, IBV_QP_STATE));
}

uint32_t VerbsEnd::rkey(const std::string& region) const {
  const auto found = regions_.find(region);
  return found == regions_.end() || found->second.mr == nullptr ? 0 : found->second.mr->rkey;
}

std::vector<ibv_wc> VerbsEnd::completions(size_t limit) {
  std::vector<ibv_wc> taken;
  ibv_wc wc{};
  while (cq_ != nullptr && taken.size() < limit && ibv_poll_cq(cq_, 1, &wc) == 1) {
    taken.push_back(wc);
  }
  return taken;
}

std::vector<ibv_event_type> VerbsEnd::events(size_t limit) {
  std::vector<ibv_event_type> taken;
  ibv_async_event event{};
  while (taken.size() < limit && ibv_get_async_event(device_.context.get(), &event) == 0) {
    ibv_ack_async_event(&event);
    if (is_event_of_scripts(event.event_type)) taken.push_back(event.event_type);
  }
  return taken;
}

std::optional<ibv_qp_state> VerbsEnd::state() {
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  if (qp_ == nullptr || ibv_query_qp(qp_, &attr, IBV_QP_STATE, &init) != 0) return std::nullopt;
  return attr.qp_state;
}

std::optional<std::vector<uint8_t>> VerbsEnd::memory(const std::string& region, size_t offset,
                                                     size_t length) const {
  const auto found = regions_.find(region);
  if (found == regions_.end() || offset > found->second.length ||
      length > found->second.length - offset) {
    return std::nullopt;
  }
  const uint8_t* const begin = found->second.bytes + offset;
  return std::vector<uint8_t>(begin, begin + length);
}

}  // namespace urxe::drill

// SPDX-License-Identifier: BSD-2-Clause
#include "tools/drill/vocabulary.h"

#include <infiniband/verbs.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <span>
#include <string>

#include "packet/wire/aeth_syndrome.h"
#include "tools/drill/cm/words.h"
#include "transport/later_verbs.h"

namespace urxe::drill {
namespace {

struct Named {
  std::string_view name;
  uint64_t value;
};

constexpr Named kVerbs[] = {
    {"qp", static_cast<uint64_t>(Verb::kQp)},
    {"mr", static_cast<uint64_t>(Verb::kRegion)},
    {"post", static_cast<uint64_t>(Verb::kPost)},
    {"recv", static_cast<uint64_t>(Verb::kReceive)},
    {"srq", static_cast<uint64_t>(Verb::kSrq)},
    {"<", static_cast<uint64_t>(Verb::kIn)},
    {">", static_cast<uint64_t>(Verb::kOut)},
    {"wc", static_cast<uint64_t>(Verb::kCompletion)},
    {"event", static_cast<uint64_t>(Verb::kEvent)},
    {"state", static_cast<uint64_t>(Verb::kState)},
    {"modify", static_cast<uint64_t>(Verb::kModify)},
    {"memory", static_cast<uint64_t>(Verb::kMemory)},
    {"nothing", static_cast<uint64_t>(Verb::kNothing)},
    {"cm", static_cast<uint64_t>(Verb::kCm)},
    {"call", static_cast<uint64_t>(Verb::kCall)},
};
constexpr Named kStates[] = {{"RESET", IBV_QPS_RESET}, {"INIT", IBV_QPS_INIT}, {"RTR", IBV_QPS_RTR},
                             {"RTS", IBV_QPS_RTS},     {"SQD", IBV_QPS_SQD},   {"SQE", IBV_QPS_SQE},
                             {"ERR", IBV_QPS_ERR}};
constexpr Named kEvents[] = {{"QP_FATAL", IBV_EVENT_QP_FATAL},
                             {"QP_REQ_ERR", IBV_EVENT_QP_REQ_ERR},
                             {"QP_ACCESS_ERR", IBV_EVENT_QP_ACCESS_ERR},
                             {"COMM_EST", IBV_EVENT_COMM_EST},
                             {"SQ_DRAINED", IBV_EVENT_SQ_DRAINED},
                             {"PATH_MIG", IBV_EVENT_PATH_MIG},
                             {"PATH_MIG_ERR", IBV_EVENT_PATH_MIG_ERR},
                             {"SRQ_LIMIT_REACHED", IBV_EVENT_SRQ_LIMIT_REACHED},
                             {"QP_LAST_WQE_REACHED", IBV_EVENT_QP_LAST_WQE_REACHED}};
constexpr Named kRequests[] = {{"SEND", IBV_WR_SEND},
                               {"SEND_IMM", IBV_WR_SEND_WITH_IMM},
                               {"SEND_INVALIDATE", IBV_WR_SEND_WITH_INV},
                               {"WRITE", IBV_WR_RDMA_WRITE},
                               {"WRITE_IMM", IBV_WR_RDMA_WRITE_WITH_IMM},
                               {"READ", IBV_WR_RDMA_READ},
                               {"COMPARE_SWAP", IBV_WR_ATOMIC_CMP_AND_SWP},
                               {"FETCH_ADD", IBV_WR_ATOMIC_FETCH_AND_ADD}};
constexpr Named kStatuses[] = {{"SUCCESS", IBV_WC_SUCCESS},
                               {"LOC_LEN_ERR", IBV_WC_LOC_LEN_ERR},
                               {"LOC_QP_OP_ERR", IBV_WC_LOC_QP_OP_ERR},
                               {"LOC_PROT_ERR", IBV_WC_LOC_PROT_ERR},
                               {"WR_FLUSH_ERR", IBV_WC_WR_FLUSH_ERR},
                               {"MW_BIND_ERR", IBV_WC_MW_BIND_ERR},
                               {"BAD_RESP_ERR", IBV_WC_BAD_RESP_ERR},
                               {"LOC_ACCESS_ERR", IBV_WC_LOC_ACCESS_ERR},
                               {"REM_INV_REQ_ERR", IBV_WC_REM_INV_REQ_ERR},
                               {"REM_ACCESS_ERR", IBV_WC_REM_ACCESS_ERR},
                               {"REM_OP_ERR", IBV_WC_REM_OP_ERR},
                               {"RETRY_EXC_ERR", IBV_WC_RETRY_EXC_ERR},
                               {"RNR_RETRY_EXC_ERR", IBV_WC_RNR_RETRY_EXC_ERR}};
constexpr Named kNaks[] = {{"psn_sequence", nak_syndrome(NakCode::kPsnSequenceError)},
                           {"invalid_request", nak_syndrome(NakCode::kInvalidRequest)},
                           {"remote_access", nak_syndrome(NakCode::kRemoteAccessError)},
                           {"remote_operational", nak_syndrome(NakCode::kRemoteOperationalError)}};
constexpr Named kRights[] = {
    {"none", 0},
    {"local", IBV_ACCESS_LOCAL_WRITE},
    {"read", IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ},
    {"write", IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE},
    {"atomic", IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC},
    {"flush", IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | kAccessFlushGlobal},
    {"all", IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE |
                IBV_ACCESS_REMOTE_ATOMIC}};
constexpr Named kServices[] = {{"RC", static_cast<uint64_t>(Service::kRc)},
                               {"UC", static_cast<uint64_t>(Service::kUc)},
                               {"UD", static_cast<uint64_t>(Service::kUd)}};

std::optional<uint64_t> look_up(std::span<const Named> table, std::string_view name) {
  const auto found =
      std::find_if(table.begin(), table.end(), [&](const Named& row) { return row.name == name; });
  if (found == table.end()) return std::nullopt;
  return found->value;
}

/// "SEND_ONLY" of "RC SEND Only".
std::string spelled(std::string_view name) {
  std::string text(name.substr(std::min(name.size(), name.find(' ') + 1)));
  for (char& c : text) c = c == ' ' ? '_' : static_cast<char>(std::toupper(c));
  return text;
}

std::optional<uint64_t> opcode_of(Service service, std::string_view word) {
  for (unsigned operation = 0; operation < 32; ++operation) {
    const Opcode opcode(service, static_cast<Operation>(operation));
    const std::string_view name = opcode_info(opcode).name;
    if (!name.empty() && spelled(name) == word) return opcode.value;
  }
  return std::nullopt;
}

/// A list of keys with one blank around each.
bool lists(std::string_view keys, std::string_view key) {
  return keys.find(" " + std::string(key) + " ") != std::string_view::npos;
}

std::string_view numbers_of(Verb verb) {
  switch (verb) {
    case Verb::kQp:
      return " mtu timeout retry rnr_retry min_rnr_timer sq_psn rq_psn rd_atomic dest_rd_atomic "
             "qkey srq alternate ";
    case Verb::kRegion:
      return " va length ";
    case Verb::kPost:
      return " id len va imm invalidate swap compare add qkey fence ";
    case Verb::kReceive:
      return " id len ";
    case Verb::kSrq:
      return " limit ";
    case Verb::kIn:
      return " psn ack solicited migreq pkey qp placement selectivity va dma swap compare original "
             "imm invalidate qkey from msn rnr syndrome len pad tver ";
    case Verb::kOut:
      return " psn ack solicited migreq pkey qp placement selectivity va dma swap compare original "
             "imm invalidate qkey from msn rnr syndrome len optional ";
    case Verb::kCompletion:
      return " id len imm ";
    case Verb::kMemory:
      return " offset ";
    default:
      return "";
  }
}

}  // namespace

std::optional<Verb> verb_of(std::string_view word) {
  const auto value = look_up(kVerbs, word);
  if (!value) return std::nullopt;
  return static_cast<Verb>(*value);
}

Kind kind_of(Verb verb, std::string_view key) {
  const bool packet = verb == Verb::kIn || verb == Verb::kOut;
  if (lists(numbers_of(verb), key)) return Kind::kNumber;
  if (key == "rkey" && (packet || verb == Verb::kPost)) return Kind::kKey;
  if (key == "data" && (packet || verb == Verb::kMemory)) return Kind::kPattern;
  if (key == "credits" && packet) return Kind::kCredits;
  if (key == "nak" && packet) return Kind::kNak;
  if (key == "icrc" && verb == Verb::kIn) return Kind::kIcrc;
  if (key == "access" && (verb == Verb::kQp || verb == Verb::kRegion)) return Kind::kRights;
  if (key == "status" && verb == Verb::kCompletion) return Kind::kStatus;
  return cm_kind_of(verb, key);
}

std::optional<uint64_t> subject_of(Verb verb, Service service, std::string_view word) {
  switch (verb) {
    case Verb::kQp:
      return look_up(kServices, word);
    case Verb::kPost:
      return look_up(kRequests, word);
    case Verb::kIn:
    case Verb::kOut:
      return opcode_of(service, word);
    case Verb::kCompletion:
      return look_up(kStatuses, word);
    case Verb::kEvent:
      return look_up(kEvents, word);
    case Verb::kState:
    case Verb::kModify:
      return look_up(kStates, word);
    case Verb::kCall:
    case Verb::kMessageIn:
    case Verb::kMessageOut:
    case Verb::kCmEvent:
      return cm_subject_of(verb, word);
    default:
      return 0;
  }
}

std::string_view subject_name(Verb verb) {
  switch (verb) {
    case Verb::kQp:
      return "RC, UC or UD";
    case Verb::kPost:
      return "a work request such as SEND";
    case Verb::kIn:
    case Verb::kOut:
      return "an opcode of the queue pair's service, such as SEND_ONLY";
    case Verb::kCompletion:
      return "a status such as SUCCESS";
    case Verb::kEvent:
      return "an event such as QP_ACCESS_ERR";
    case Verb::kState:
    case Verb::kModify:
      return "a state such as RTS";
    case Verb::kRegion:
    case Verb::kMemory:
      return "the name of a region";
    case Verb::kCall:
      return "a call such as CONNECT";
    case Verb::kMessageIn:
    case Verb::kMessageOut:
      return "a message such as REQ";
    case Verb::kCmEvent:
      return "an event such as REQUEST";
    default:
      return "";
  }
}

bool is_flag(std::string_view key) {
  return lists(" ack solicited fence optional srq alternate ", key);
}

bool is_event_of_scripts(uint64_t event) {
  return std::any_of(std::begin(kEvents), std::end(kEvents),
                     [&](const Named& row) { return row.value == event; });
}

std::optional<uint64_t> parse_number(std::string_view word) {
  const bool hex = word.starts_with("0x");
  const std::string_view digits = hex ? word.substr(2) : word;
  uint64_t value = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, hex ? 16 : 10);
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

std::optional<uint64_t> value_of(Kind kind, std::string_view word) {
  switch (kind) {
    case Kind::kCredits: {
      if (word == "none") return kAckNoCredits;
      const auto credits = parse_number(word);
      if (!credits || *credits > 32768) return std::nullopt;
      const uint8_t code = credit_code(static_cast<uint32_t>(*credits));
      if (credits_from_code(code) != static_cast<uint32_t>(*credits)) return std::nullopt;
      return code;
    }
    case Kind::kNak:
      return look_up(kNaks, word);
    case Kind::kRights:
      return look_up(kRights, word);
    case Kind::kIcrc:
      return word == "bad" ? std::optional<uint64_t>(1) : std::nullopt;
    case Kind::kStatus:
      return look_up(kStatuses, word);
    case Kind::kCommId:
      return word == "ours" ? std::optional<uint64_t>(0) : parse_number(word);
    case Kind::kPattern: {
      const bool hex = word.size() % 2 == 0 && !word.empty() && word.size() <= 8192 &&
                       std::all_of(word.begin(), word.end(),
                                   [](unsigned char c) { return std::isxdigit(c) != 0; });
      return word == "count" || hex ? std::optional<uint64_t>(0) : std::nullopt;
    }
    default:
      return parse_number(word);
  }
}

std::string_view kind_name(Kind kind) {
  switch (kind) {
    case Kind::kKey:
      return "a number or the name of a region above";
    case Kind::kPattern:
      return "count, or bytes in hexadecimal";
    case Kind::kCredits:
      return "none, or a number that a credit code stands for (table 46)";
    case Kind::kNak:
      return "psn_sequence, invalid_request, remote_access or remote_operational";
    case Kind::kRights:
      return "none, local, read, write, atomic, flush or all";
    case Kind::kIcrc:
      return "bad";
    case Kind::kCommId:
      return "a number, or ours";
    default:
      return "a number in range";
  }
}

uint64_t largest(std::string_view key) {
  if (lists(" psn sq_psn rq_psn msn qp qpn from ", key)) return 0xffffff;
  if (lists(" imm qkey invalidate dma rkey local remote ", key)) return 0xffffffff;
  if (lists(" ack solicited migreq fence optional srq alternate ", key)) return 1;
  if (lists(" timeout min_rnr_timer rnr ", key)) return 31;
  if (lists(" retry rnr_retry ", key)) return 7;
  if (lists(" rd_atomic dest_rd_atomic limit ", key)) return 128;
  if (lists(" len length offset ", key)) return 65536;
  if (key == "mtu") return 4096;
  if (key == "pkey" || key == "reason") return 0xffff;
  if (key == "answered") return 2;
  if (key == "retries") return 15;
  if (key == "syndrome") return 0xff;
  if (key == "tver" || key == "placement") return 15;
  if (key == "pad" || key == "selectivity") return 3;
  return UINT64_MAX;
}

std::optional<Service> service_of(std::string_view word) {
  const auto value = look_up(kServices, word);
  if (!value) return std::nullopt;
  return static_cast<Service>(*value);
}

}  // namespace urxe::drill

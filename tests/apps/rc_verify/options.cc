// SPDX-License-Identifier: BSD-2-Clause
#include "options.h"

#include <getopt.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <span>

#include "failure.h"
#include "plan.h"
#include "scenarios.h"

namespace rc_verify {
namespace {

constexpr char kUsage[] =
    R"(urxe_rc_verify [options]         start a server
urxe_rc_verify [options] HOST    connect to the server at HOST and run the test

Moves patterned data by every operation of the RC or UC transport, in both directions at once, and checks
every byte and every completion on both sides. Exit code: 0 verified, 1 mismatch, 2 cannot run, 3 peer lost.

Both sides:
  -d, --device NAME        the RDMA device (default: the first)
  -g, --gid-index N        (0)
  -p, --port PORT          TCP port of the control connection (18600)
      --quiet              print nothing but failures
Client (the server follows):
      --seed N             (1)
      --mtu N              path MTU, 256 to 4096 (1024)
      --qps N              (4)
      --batches N          of the random scenario (20)
      --messages N         at most outstanding, per QP and direction (64)
      --max-size N         of a message, in bytes (4 MiB)
      --no-empty           no message of 0 bytes in the random scenario
      --budget N           bytes per batch, QP and direction (8 MiB)
      --events             sleep on the completion channel
      --timeout N          local ACK timeout code (14)
      --stall-seconds N    fail without progress for as long (60)
      --huge [N]           also one SEND, WRITE and READ of N bytes (2 GiB); needs twice that memory a side
      --transport rc|uc    (rc). UC has no retransmission: choose a budget that the network's queues hold
      --scenarios LIST     of solicited, sizes, counter, random, huge (these five); or one of
                           srq (queue pairs share a receive queue), rnr (the receiver is not ready at first),
                           refusals (requests that must fail)
      --operations LIST    of send, send_imm, write, write_imm, read, compare_swap, fetch_add (all)
      --one-way            only the client requests, not the server
      --inline N           all messages are inline, of at most N bytes
      --no-fence           no message is fenced, and none sends on what a READ has brought
      --pieces N           gather and scatter lists have N elements, or as many as both devices can
)";

[[noreturn]] void usage(int status) {
  std::fputs(kUsage, status == 0 ? stdout : stderr);
  std::exit(status);
}

enum LongOnly {
  kSeed = 256,
  kMtu,
  kQps,
  kBatches,
  kMessages,
  kMaxSize,
  kNoEmpty,
  kBudget,
  kEvents,
  kTimeout,
  kStall,
  kHugeSize,
  kQuiet,
  kTransport,
  kScenarios,
  kOperations,
  kOneWay,
  kInline,
  kNoFence,
  kPieces,
};

constexpr option kLongOptions[] = {
    {"device", required_argument, nullptr, 'd'},
    {"gid-index", required_argument, nullptr, 'g'},
    {"port", required_argument, nullptr, 'p'},
    {"help", no_argument, nullptr, 'h'},
    {"seed", required_argument, nullptr, kSeed},
    {"mtu", required_argument, nullptr, kMtu},
    {"qps", required_argument, nullptr, kQps},
    {"batches", required_argument, nullptr, kBatches},
    {"messages", required_argument, nullptr, kMessages},
    {"max-size", required_argument, nullptr, kMaxSize},
    {"no-empty", no_argument, nullptr, kNoEmpty},
    {"budget", required_argument, nullptr, kBudget},
    {"events", no_argument, nullptr, kEvents},
    {"timeout", required_argument, nullptr, kTimeout},
    {"stall-seconds", required_argument, nullptr, kStall},
    {"huge", optional_argument, nullptr, kHugeSize},
    {"quiet", no_argument, nullptr, kQuiet},
    {"transport", required_argument, nullptr, kTransport},
    {"scenarios", required_argument, nullptr, kScenarios},
    {"operations", required_argument, nullptr, kOperations},
    {"one-way", no_argument, nullptr, kOneWay},
    {"inline", required_argument, nullptr, kInline},
    {"no-fence", no_argument, nullptr, kNoFence},
    {"pieces", required_argument, nullptr, kPieces},
    {nullptr, 0, nullptr, 0},
};

uint64_t number(const char* text) {
  char* end = nullptr;
  const uint64_t value = std::strtoull(text, &end, 0);
  if (end == text || *end != '\0') usage(2);
  return value;
}

uint32_t number32(const char* text) {
  return static_cast<uint32_t>(number(text));
}

struct Name {
  const char* text;
  uint32_t bit;
};

constexpr uint32_t bit_of(Operation operation) {
  return 1U << static_cast<uint32_t>(operation);
}

constexpr Name kScenarioNames[] = {
    {"solicited", kSolicited},    {"sizes", kSizes},     {"counter", kCounter},
    {"random", kRandom},          {"huge", kHuge},       {"rnr", kNotReady},
    {"srq", kSharedReceiveQueue}, {"refusals", kRefused}};
constexpr Name kOperationNames[] = {
    {"send", bit_of(Operation::kSend)},          {"send_imm", bit_of(Operation::kSendImm)},
    {"write", bit_of(Operation::kWrite)},        {"write_imm", bit_of(Operation::kWriteImm)},
    {"read", bit_of(Operation::kRead)},          {"compare_swap", bit_of(Operation::kCompareSwap)},
    {"fetch_add", bit_of(Operation::kFetchAdd)},
};

// The bits of names with commas between them.
uint32_t bits(const std::string& text, std::span<const Name> names) {
  uint32_t found = 0;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    const auto name = std::find_if(names.begin(), names.end(), [&](const Name& candidate) {
      return text.compare(at, end - at, candidate.text) == 0;
    });
    if (name == names.end()) usage(2);
    found |= name->bit;
    at = end + 1;
  }
  return found;
}

Transport transport(const std::string& name) {
  if (name != "rc" && name != "uc") usage(2);
  return name == "rc" ? Transport::kReliable : Transport::kUnreliable;
}

// Returns whether it is one of the options that say what messages there are.
bool apply_choice(TestOptions& test, int name, const char* value) {
  switch (name) {
    case kTransport:
      test.transport = transport(value);
      return true;
    case kScenarios:
      test.scenarios = bits(value, kScenarioNames);
      return true;
    case kOperations:
      test.operations = bits(value, kOperationNames);
      return true;
    case kOneWay:
      test.one_way = 1;
      return true;
    case kInline:
      test.in_line = number32(value);
      return true;
    case kNoFence:
      test.no_fence = 1;
      return true;
    case kPieces:
      test.pieces = number32(value);
      return true;
    default:
      return false;
  }
}

void apply(Options& options, int name, const char* value) {
  TestOptions& test = options.test;
  if (apply_choice(test, name, value)) return;
  switch (name) {
    case 'd':
      options.device = value;
      break;
    case 'g':
      options.gid_index = number32(value);
      break;
    case 'p':
      options.port = static_cast<uint16_t>(number(value));
      break;
    case kSeed:
      test.seed = number(value);
      break;
    case kMtu:
      test.path_mtu = number32(value);
      break;
    case kQps:
      test.qps = number32(value);
      break;
    case kBatches:
      test.batches = number32(value);
      break;
    case kMessages:
      test.messages = number32(value);
      break;
    case kMaxSize:
      test.max_size = number(value);
      break;
    case kNoEmpty:
      test.no_empty = 1;
      break;
    case kBudget:
      test.budget = number(value);
      break;
    case kEvents:
      test.events = 1;
      break;
    case kTimeout:
      test.timeout = number32(value);
      break;
    case kStall:
      test.stall_seconds = number32(value);
      break;
    case kHugeSize:
      test.huge_size = value == nullptr ? 2ULL << 30 : number(value);
      break;
    case kQuiet:
      options.quiet = true;
      break;
    case 'h':
      usage(0);
    default:
      usage(2);
  }
}

constexpr uint32_t kUcOperations = bit_of(Operation::kSend) | bit_of(Operation::kSendImm) |
                                   bit_of(Operation::kWrite) | bit_of(Operation::kWriteImm);

// Two for each operation that takes a receive.
constexpr uint32_t kNotReadyQueuePairs = 6;

void keep_to_uc(TestOptions& test) {
  test.operations &= kUcOperations;
  test.scenarios &= ~uint32_t{kCounter};
}

void keep_to_inline(TestOptions& test) {
  test.operations &= kUcOperations;
  test.max_size = std::min<uint64_t>(test.max_size, test.in_line);
}

}  // namespace

Options parse_options(int argc, char** argv) {
  Options options;
  int name = 0;
  while ((name = ::getopt_long(argc, argv, "d:g:p:h", kLongOptions, nullptr)) != -1)
    apply(options, name, optarg);
  if (optind < argc) options.host = argv[optind++];
  if (optind < argc) usage(2);
  TestOptions& test = options.test;
  if (test.budget < test.max_size) test.budget = test.max_size;
  const bool mtu_known = test.path_mtu == 256 || test.path_mtu == 512 || test.path_mtu == 1024 ||
                         test.path_mtu == 2048 || test.path_mtu == 4096;
  // A size plan has one message of each operation, and UC's a closing one.
  if (!mtu_known || test.qps == 0 || test.messages < 8) usage(2);
  if (test.transport == Transport::kUnreliable) keep_to_uc(test);
  if (test.in_line > 0) keep_to_inline(test);
  const bool alone =
      (test.scenarios & kCommonScenarios) == 0 && std::has_single_bit(test.scenarios);
  if ((test.scenarios & ~kCommonScenarios) != 0 && !alone) usage(2);
  if (test.scenarios == kNotReady) test.qps = kNotReadyQueuePairs;
  if (test.scenarios == kRefused) test.qps = kRefusals;
  if (test.operations == 0) usage(2);
  return options;
}

}  // namespace rc_verify

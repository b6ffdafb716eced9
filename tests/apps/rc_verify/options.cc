// SPDX-License-Identifier: BSD-2-Clause
#include "options.h"

#include <getopt.h>

#include <cstdio>
#include <cstdlib>

#include "failure.h"

namespace rc_verify {
namespace {

constexpr char kUsage[] =
    R"(urxe_rc_verify [options]         start a server
urxe_rc_verify [options] HOST    connect to the server at HOST and run the test

Moves patterned data by every operation of the RC transport, in both directions at once, and checks
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
      --budget N           bytes per batch, QP and direction (8 MiB)
      --events             sleep on the completion channel
      --timeout N          local ACK timeout code (14)
      --stall-seconds N    fail without progress for as long (60)
      --random-only        leave out the other scenarios
      --huge [N]           also one SEND, WRITE and READ of N bytes (2 GiB); needs twice that memory a side
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
  kBudget,
  kEvents,
  kTimeout,
  kStall,
  kRandomOnly,
  kHuge,
  kQuiet,
};

const option kLongOptions[] = {
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
    {"budget", required_argument, nullptr, kBudget},
    {"events", no_argument, nullptr, kEvents},
    {"timeout", required_argument, nullptr, kTimeout},
    {"stall-seconds", required_argument, nullptr, kStall},
    {"random-only", no_argument, nullptr, kRandomOnly},
    {"huge", optional_argument, nullptr, kHuge},
    {"quiet", no_argument, nullptr, kQuiet},
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

void apply(Options& options, int name, const char* value) {
  TestOptions& test = options.test;
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
    case kRandomOnly:
      test.random_only = 1;
      break;
    case kHuge:
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
  // A size plan has one message of each operation.
  if (!mtu_known || test.qps == 0 || test.messages < 8) usage(2);
  return options;
}

}  // namespace rc_verify

// SPDX-License-Identifier: BSD-2-Clause
#include "options.h"

#include <getopt.h>

#include <cstdio>
#include <cstdlib>

namespace ud_verify {
namespace {

constexpr char kUsage[] =
    R"(urxe_ud_verify [options]         start a server
urxe_ud_verify [options] HOST    connect to the server at HOST and run the test

Sends datagrams in both directions and checks every byte, every completion, the GRH in the receive buffer and the
address that ibv_init_ah_from_wc makes of it: answers go there. Needs a network that loses nothing.
Exit code: 0 verified, 1 mismatch, 2 cannot run, 3 peer lost.

  -d, --device NAME        the RDMA device (default: the first)
  -g, --gid-index N        (0)
  -p, --port PORT          TCP port of the control connection (18700)
      --inline N           inline data to ask the device for (220 bytes)
      --stall-seconds N    fail without progress for as long (60)
Client (the server follows):
      --largest N          payload of the largest datagram, at most the path MTU (1024)
      --controlled-qkey    test only that a client's send whose Q_Key has the highest bit set carries the queue pair's
)";

[[noreturn]] void usage(int status) {
  std::fputs(kUsage, status == 0 ? stdout : stderr);
  std::exit(status);
}

enum LongOnly { kInline = 256, kStall, kLargest, kControlledQKey };

const option kLongOptions[] = {
    {"device", required_argument, nullptr, 'd'},
    {"gid-index", required_argument, nullptr, 'g'},
    {"port", required_argument, nullptr, 'p'},
    {"help", no_argument, nullptr, 'h'},
    {"inline", required_argument, nullptr, kInline},
    {"stall-seconds", required_argument, nullptr, kStall},
    {"largest", required_argument, nullptr, kLargest},
    {"controlled-qkey", no_argument, nullptr, kControlledQKey},
    {nullptr, 0, nullptr, 0},
};

uint32_t number(const char* text) {
  char* end = nullptr;
  const unsigned long value = std::strtoul(text, &end, 0);
  if (end == text || *end != '\0') usage(2);
  return static_cast<uint32_t>(value);
}

void apply(Options& options, int name, const char* value) {
  switch (name) {
    case 'd':
      options.device = value;
      break;
    case 'g':
      options.gid_index = number(value);
      break;
    case 'p':
      options.port = static_cast<uint16_t>(number(value));
      break;
    case kInline:
      options.in_line = number(value);
      break;
    case kStall:
      options.stall_seconds = number(value);
      break;
    case kLargest:
      options.largest = number(value);
      break;
    case kControlledQKey:
      options.controlled_qkey = true;
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
  if (optind < argc || options.largest < 4 || options.largest > 4096) usage(2);
  return options;
}

}  // namespace ud_verify

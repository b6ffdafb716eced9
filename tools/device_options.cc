// SPDX-License-Identifier: BSD-2-Clause
#include "tools/device_options.h"

namespace urxe {
namespace {

constexpr const char* kEngineHelp =
    "How packets get to the network: udp (sockets, no privilege), raw (frames of an Ethernet "
    "interface, faster, needs CAP_NET_RAW), dpdk (ports of DPDK, see --dpdk-args), auto (the "
    "default: udp)";
constexpr const char* kDpdkHelp =
    "For --engine dpdk, in one word: arguments of DPDK's environment (EAL), and behind -- words "
    "about its port: [port=NAME] address=A/BITS,... gateway=A mtu=N";
constexpr const char* kDeviceHelp =
    "Present interface IFACE as device NAME (urxe_IFACE if left out); only the interfaces so named "
    "are presented. Repeatable";
}  // namespace

void add_device_option(CLI::App* command, std::vector<std::string>& devices) {
  command->add_option("--device", devices, kDeviceHelp)
      ->type_name("[NAME=]IFACE")
      ->allow_extra_args(false);
}

void add_engine_options(CLI::App* command, std::optional<std::string>& engine,
                        std::optional<std::string>& dpdk_arguments) {
  command->add_option("--engine", engine, kEngineHelp)->type_name("ENGINE");
  command->add_option(kDpdkOption, dpdk_arguments, kDpdkHelp)->type_name("ARGS");
}

}  // namespace urxe

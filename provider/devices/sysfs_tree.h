// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "provider/devices/device_file.h"
#include "provider/devices/real_devices.h"

namespace urxe {

/// A directory tree before it is written. Keys are paths relative to its root; directories are
/// implied.
struct TreeContent {
  std::map<std::string, std::string> files;
  std::map<std::string, std::string> state;  ///< files that change while the tree is in use
  std::map<std::string, std::string> links;  ///< target by path
  std::map<std::string, size_t> tables;  ///< files of zeros that processes write to: bytes by path
  std::vector<std::string> directories;  ///< those that may be empty
};

/// Gives each device the number of a uverbs node that no real device has.
void assign_uverbs_numbers(std::vector<DeviceDescription>& devices, const RealDevices& real);

/// The tree that provider/presence shows:
///   sys/class/infiniband/D, sys/class/infiniband_verbs/uverbsN   links to sys/devices/urxe/...,
///                                                                absolute links to real devices
///   sys/class/infiniband_mad/umadN                               the same, one of each port
///   sys/devices/urxe/ADDRESS/                                    what D/device leads to
///   sys/class/misc/rdma_cm                                       the connection manager
///   dev/infiniband/uverbsN, umadN and rdma_cm                    links to /dev/null
///   devices/D, devices/D.counters                                for the provider
///   lock, users                                                  see tree_update.h
/// A counter's file holds "@<column>"; one that holds "!" fails to be read, with EINVAL.
TreeContent describe_tree(const std::vector<DeviceDescription>& devices, const RealDevices& real);

/// The text of sys/class/infiniband/D/node_desc.
std::string node_description(const std::string& ifname);

/// The files of sys/class/infiniband/D/ports/1 that change: the text by the path below that.
std::map<std::string, std::string> describe_port_state(const DeviceDescription& device);

}  // namespace urxe

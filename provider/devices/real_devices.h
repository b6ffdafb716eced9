// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <vector>

namespace urxe {

/// The RDMA devices of the machine's kernel, which stay visible beside urxe's. Names are sorted.
struct RealDevices {
  std::string root;                  ///< "" for the machine's own /sys and /dev
  std::vector<std::string> devices;  ///< in sys/class/infiniband
  std::vector<std::string> verbs;    ///< directories in sys/class/infiniband_verbs
  std::vector<std::string> nodes;    ///< in dev/infiniband
  std::string abi_version;           ///< sys/class/infiniband_verbs/abi_version; may be empty
  std::vector<std::string> mads{};   ///< directories in sys/class/infiniband_mad
  std::string mad_abi_version{};     ///< sys/class/infiniband_mad/abi_version; may be empty

  /// Whether there is a uverbs<number> in sysfs or /dev.
  [[nodiscard]] bool has_uverbs(unsigned number) const;
  /// The same for umad<number>.
  [[nodiscard]] bool has_umad(unsigned number) const;
};

/// `root` is put before /sys and /dev; tests have a made-up machine there.
RealDevices find_real_devices(const std::string& root);

}  // namespace urxe

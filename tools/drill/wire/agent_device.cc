// SPDX-License-Identifier: BSD-2-Clause
#include "tools/drill/wire/agent_device.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace urxe::drill {
namespace {

constexpr size_t kMaxGids = 256;

using DeviceList = std::unique_ptr<ibv_device*, void (*)(ibv_device**)>;

Gid gid_of(const ibv_gid& raw) {
  return Gid::from_ipv6(raw.raw);
}

/// The entry to use, of those of the port; nullopt: there is none.
std::optional<ibv_gid_entry> choose_gid(ibv_context* context, std::optional<unsigned> wanted) {
  std::array<ibv_gid_entry, kMaxGids> entries{};
  const ssize_t count = ibv_query_gid_table(context, entries.data(), entries.size(), 0);
  std::optional<ibv_gid_entry> best;
  for (ssize_t i = 0; i < count; ++i) {
    const ibv_gid_entry& entry = entries[static_cast<size_t>(i)];
    if (entry.port_num != kIbPort || entry.gid_type != IBV_GID_TYPE_ROCE_V2) continue;
    if (wanted) {
      if (entry.gid_index == *wanted) return entry;
      continue;
    }
    const Gid gid = gid_of(entry.gid);
    if (gid.is_ipv4()) return entry;
    if (!best && !gid.is_ipv6_link_local()) best = entry;
  }
  return best;
}

ibv_device* find_device(const DeviceList& list, int count, const std::string& name) {
  for (int i = 0; i < count; ++i) {
    ibv_device* const device = list.get()[i];
    if (name.empty() || name == ibv_get_device_name(device)) return device;
  }
  return nullptr;
}

Unexpected<std::string> failure(std::string what) {
  return Unexpected<std::string>(std::move(what));
}

}  // namespace

Expected<AgentDevice, std::string> open_device(const std::string& name,
                                               std::optional<unsigned> gid_index) {
  int count = 0;
  const DeviceList list(ibv_get_device_list(&count), &ibv_free_device_list);
  ibv_device* const device = list == nullptr ? nullptr : find_device(list, count, name);
  if (device == nullptr) {
    return failure(
        fmt::format("no RDMA device{}{}. What to do: `ibv_devices` lists them; for one "
                    "of urxe, `urxe run -- urxe drill --agent`",
                    name.empty() ? "" : " ", name));
  }
  AgentDevice opened;
  opened.name = ibv_get_device_name(device);
  opened.context.reset(ibv_open_device(device));
  if (opened.context == nullptr) {
    return failure(fmt::format("{}: cannot be opened: {}", opened.name, std::strerror(errno)));
  }
  const auto entry = choose_gid(opened.context.get(), gid_index);
  if (!entry) {
    return failure(
        fmt::format("{}: port 1 has no such GID of type RoCE v2. What to do: look at "
                    "`ibv_devinfo -v`, and name one with --gid-index",
                    opened.name));
  }
  opened.gid_index = static_cast<uint8_t>(entry->gid_index);
  opened.gid = gid_of(entry->gid);
  if (ibv_query_port(opened.context.get(), kIbPort, &opened.port) != 0 ||
      ibv_query_device(opened.context.get(), &opened.limits) != 0) {
    return failure(fmt::format("{}: cannot be queried", opened.name));
  }
  // Events are looked for, not waited for.
  const int flags = fcntl(opened.context->async_fd, F_GETFL);
  if (flags < 0 || fcntl(opened.context->async_fd, F_SETFL, flags | O_NONBLOCK) != 0) {
    return failure(fmt::format("{}: events: {}", opened.name, std::strerror(errno)));
  }
  return opened;
}

}  // namespace urxe::drill

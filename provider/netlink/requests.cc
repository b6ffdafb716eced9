// SPDX-License-Identifier: BSD-2-Clause
#include "provider/netlink/requests.h"

#include <algorithm>
#include <cerrno>

#include "provider/netlink/device_messages.h"

namespace urxe::netlink {
namespace {

constexpr std::string_view kNoSuchDevice = "urxe has no RDMA device with this index";
constexpr std::string_view kNoSuchPort = "urxe's devices have port 1 only";
constexpr std::string_view kNoSuchResource =
    "no process of this user has published such a resource";
constexpr std::string_view kNoDeviceNamed = "the request names no RDMA device";
constexpr std::string_view kNoCounters = "the device's counters cannot be read";
constexpr std::string_view kNotChangeable =
    "urxe's devices follow their network interfaces and cannot be changed; see urxe-run(1)";
constexpr std::string_view kUnknown = "urxe's devices have no answer to this request";

/// A request and what it is about.
struct Call {
  const Request& request;
  uint32_t port = 0;
  const Sources& sources;

  [[nodiscard]] MessageWriter begin() const { return begin_message(request, port); }
  [[nodiscard]] MessageWriter begin(const DeviceDescription& device) const {
    MessageWriter writer = begin();
    add_device(writer, device);
    return writer;
  }
};

using Handler = Answer (*)(const Call&, const DeviceDescription&);

Answer device_information(const Call& call, const DeviceDescription& device) {
  MessageWriter writer = call.begin(device);
  add_device_information(writer, device);
  return Answer::of(writer);
}

Answer port_information(const Call& call, const DeviceDescription& device) {
  MessageWriter writer = call.begin(device);
  add_port_information(writer, device);
  return Answer::of(writer);
}

Answer counters(const Call& call, const DeviceDescription& device, CounterFacts facts) {
  const auto sums = call.sources.counters(device.name);
  if (!sums) return Answer::failure(EIO, kNoCounters);
  Answer all;
  for (size_t from = 0; from < kHardwareCounterNames.size();) {
    MessageWriter writer = call.begin(device);
    from = add_counters(writer, *sums, facts, from);
    all.messages.push_back(writer.finish());
  }
  return all;
}

/// Counters are bound to no queue pairs or regions, automatically or otherwise.
Answer bound_counters(const Call& call, const DeviceDescription& device) {
  if (call.request.is_dump()) return {};
  MessageWriter writer = call.begin(device);
  writer.add_u32(RDMA_NLDEV_ATTR_PORT_INDEX, kPort);
  writer.add_u32(RDMA_NLDEV_ATTR_STAT_MODE, RDMA_COUNTER_MODE_NONE);
  return Answer::of(writer);
}

Answer statistics(const Call& call, const DeviceDescription& device) {
  if (call.request.has(RDMA_NLDEV_ATTR_STAT_RES)) return bound_counters(call, device);
  return counters(call, device, CounterFacts::kValues);
}

Answer statistics_status(const Call& call, const DeviceDescription& device) {
  return counters(call, device, CounterFacts::kNumbering);
}

Answer summary(const Call& call, const DeviceDescription& device) {
  MessageWriter writer = call.begin(device);
  add_summary(writer, call.sources.observe(), device);
  return Answer::of(writer);
}

/// All, in as many messages as it takes.
Answer table_of(const Call& call, const DeviceDescription& device, const ResourceKind& kind,
                const std::vector<Resource>& resources) {
  Answer all;
  for (size_t next = 0; next < resources.size();) {
    MessageWriter writer = call.begin(device);
    const size_t table = writer.begin_nest(kind.table);
    for (; next < resources.size(); ++next) {
      const size_t entry = writer.begin_nest(kind.entry);
      resources[next].entry(writer);
      writer.end_nest(entry);
      if (writer.size() <= kLongestMessage) continue;
      writer.drop_nest(entry);
      break;
    }
    writer.end_nest(table);
    all.messages.push_back(writer.finish());
  }
  return all;
}

Answer resources(const Call& call, const DeviceDescription& device, const ResourceKind& kind,
                 const std::vector<Resource>& all) {
  if (call.request.is_dump()) return table_of(call, device, kind, all);
  const auto number = call.request.number(kind.number);
  const auto found = std::ranges::find(all, number, &Resource::number);
  if (!number || found == all.end()) return Answer::failure(ENOENT, kNoSuchResource);
  MessageWriter writer = call.begin(device);
  found->entry(writer);
  return Answer::of(writer);
}

using Collect = std::vector<Resource>(const Observation&, const DeviceDescription&);

/// Answers with what `collect` finds in the processes.
template <const ResourceKind& kind, Collect& collect>
Answer resources_of(const Call& call, const DeviceDescription& device) {
  const Observation seen = call.sources.observe();
  return resources(call, device, kind, collect(seen, device));
}

enum class Devices : uint8_t {
  kNamed,  ///< the request must name one
  kAny,    ///< a dump that names none is about all
};

struct Command {
  uint16_t number;
  Handler handler;
  Devices devices = Devices::kNamed;
  bool needs_port = false;
};

constexpr Command kCommands[] = {
    {RDMA_NLDEV_CMD_GET, device_information, Devices::kAny},
    {RDMA_NLDEV_CMD_PORT_GET, port_information, Devices::kNamed, true},
    {RDMA_NLDEV_CMD_RES_GET, summary, Devices::kAny},
    {RDMA_NLDEV_CMD_RES_QP_GET, resources_of<kQueuePairs, queue_pairs_of>},
    {RDMA_NLDEV_CMD_RES_CQ_GET, resources_of<kCompletionQueues, completion_queues_of>},
    {RDMA_NLDEV_CMD_RES_MR_GET, resources_of<kRegions, regions_of>},
    {RDMA_NLDEV_CMD_RES_PD_GET, resources_of<kDomains, domains_of>},
    {RDMA_NLDEV_CMD_RES_SRQ_GET, resources_of<kSharedReceiveQueues, shared_receive_queues_of>},
    {RDMA_NLDEV_CMD_RES_CTX_GET, resources_of<kContexts, contexts_of>},
    {RDMA_NLDEV_CMD_RES_CM_ID_GET, resources_of<kCmIds, cm_ids_of>},
    {RDMA_NLDEV_CMD_STAT_GET, statistics, Devices::kNamed, true},
    {RDMA_NLDEV_CMD_STAT_GET_STATUS, statistics_status, Devices::kNamed, true},
};

constexpr uint16_t kChanges[] = {RDMA_NLDEV_CMD_SET,
                                 RDMA_NLDEV_CMD_NEWLINK,
                                 RDMA_NLDEV_CMD_DELLINK,
                                 RDMA_NLDEV_CMD_SYS_SET,
                                 RDMA_NLDEV_CMD_STAT_SET,
                                 RDMA_NLDEV_CMD_STAT_DEL,
                                 kNewDevice,
                                 kDeleteDevice};

/// A port that the request names must exist; the kernel's commands of a port dump all ports if it
/// names none.
bool has_port(const Command& command, const Request& request) {
  const auto port = request.number(RDMA_NLDEV_ATTR_PORT_INDEX);
  return port ? *port == kPort : !command.needs_port || request.is_dump();
}

Answer about_all(const Command& command, const Call& call) {
  Answer all;
  for (const DeviceDescription& device : call.sources.devices) {
    Answer one = command.handler(call, device);
    if (one.errno_value != 0) return one;
    for (Bytes& message : one.messages) all.messages.push_back(std::move(message));
  }
  return all;
}

Answer carry_out(const Command& command, const Call& call) {
  const auto index = call.request.number(RDMA_NLDEV_ATTR_DEV_INDEX);
  if (!index && call.request.is_dump() && command.devices == Devices::kAny) {
    return about_all(command, call);
  }
  if (!index) return Answer::failure(EINVAL, kNoDeviceNamed);
  const auto found = std::ranges::find(call.sources.devices, *index, device_index);
  if (found == call.sources.devices.end()) return Answer::failure(EINVAL, kNoSuchDevice);
  if (!has_port(command, call.request)) return Answer::failure(EINVAL, kNoSuchPort);
  return command.handler(call, *found);
}

Answer system_information(const Call& call) {
  MessageWriter writer = call.begin();
  add_system_information(writer);
  return Answer::of(writer);
}

}  // namespace

bool is_for_our_device(const Request& request) {
  const auto index = request.number(RDMA_NLDEV_ATTR_DEV_INDEX);
  return index && *index >= kFirstDeviceIndex;
}

Answer answer(const Request& request, uint32_t port, const Sources& sources) {
  const Call call{request, port, sources};
  const auto number = static_cast<uint16_t>(RDMA_NL_GET_OP(request.header.nlmsg_type));
  if (number == RDMA_NLDEV_CMD_SYS_GET) return system_information(call);
  if (std::ranges::find(kChanges, number) != std::end(kChanges)) {
    return Answer::failure(EOPNOTSUPP, kNotChangeable);
  }
  const auto* const command = std::ranges::find(kCommands, number, &Command::number);
  if (command == std::end(kCommands)) return Answer::failure(EOPNOTSUPP, kUnknown);
  return carry_out(*command, call);
}

}  // namespace urxe::netlink

// SPDX-License-Identifier: BSD-2-Clause
#include "provider/runtime/device/lane.h"

#include <unistd.h>

#include <cerrno>
#include <utility>

#include "packet/engine/engine_choice.h"
#include "packet/host/clock.h"
#include "packet/host/random.h"
#include "provider/devices/device_tree.h"
#include "provider/devices/identity.h"
#include "provider/devices/path_mtu.h"
#include "provider/runtime/device/config.h"

namespace urxe {
namespace {

/// Most losses are of full queues on this host, whose peers respond sooner than this.
constexpr Duration kFirstRetry = milliseconds(250);
/// How often an idle connection probes its peer, to learn that the peer's process was killed.
/// Another process on the peer's host reports it, or that host's kernel.
constexpr Duration kProbeInterval = seconds(2);
/// From the second unanswered probe on, urxe looks at the port of the peer's host, too.
constexpr uint32_t kQuietAfter = 2;
/// Otherwise a peer counts as dead after 25 s of silence. That outlasts a short stop in a debugger,
/// a busy host and a link that is down for a while. If half of all packets are lost each way, so
/// many probes in a row fail once in ten thousand years. While the port is looked at, the interval
/// is 10 to 42 ms longer.
constexpr Duration kProbeAgain = milliseconds(250);
constexpr uint32_t kProbeLimit = 90;

/// QP1 of each lane has a source port of its own, so each lane begins its search for a free one
/// elsewhere.
uint16_t wanted_source_port(uint32_t slot) {
  constexpr uint32_t kApart = 31;
  return source_port_by(slot * kApart);
}

}  // namespace

LaneFiles open_lane_files(const std::string& device) {
  return {open_counter_file(device_tree(), device), stat_wanted() ? make_stat_file() : StatFile()};
}

Lane::Lane(const DeviceConfig& config, RuntimeDevice& owner, LaneFiles files)
    : number_(0), files_(std::move(files)), device_(config), progress_(device_, owner) {}

Lane::Lane(Lane& first, uint32_t number, LaneFiles files)
    : number_(number), files_(std::move(files)), device_(first.device_), progress_(device_) {}

Lane::~Lane() {
  if (files_.reports.fd) unlink(files_.reports.path.c_str());
}

Expected<void, EngineError> Lane::start(const DeviceDescription& description) {
  if (is_started()) return {};
  if (!slot_) {
    auto slot = number_ == 0 ? Slot::acquire() : Slot::acquire_spare();
    if (!slot) return Unexpected<EngineError>(std::move(slot.error()));
    slot_.emplace(*std::move(slot));
  }
  sharing_.emplace(*slot_, description.ifindex);
  if (auto alone = slot_->directory().check_alone(); !alone) return alone;
  auto engine = make_engine(description);
  if (!engine) return Unexpected<EngineError>(std::move(engine.error()));
  const EnginePromises promises = (*engine)->promises();
  if (!promises.lossless && promises.receive_buffer != 0) {
    device_.set_receive_buffer(promises.receive_buffer);
  }
  configure_cm(description.node_guid);
  const EngineKind kind =
      engine_for(engine_choice().value_or(EngineChoice::kAuto), description.ifindex);
  auto started = progress_.start(*std::move(engine));
  if (!started) return Unexpected<EngineError>({started.error().value, {}});
  // Not before: a start that fails is tried again, with these files.
  progress_.publish(
      {CounterTable(files_.counters, slot_->number()),
       StatWriter(std::move(files_.reports), description.name, engine_name(kind), clock_now()),
       description.name, explain_wanted()});
  files_.counters.reset();
  return {};
}

void Lane::configure_cm(uint64_t ca_guid) {
  CmConfig config;
  config.ca_guid = ca_guid;
  config.id_prefix = slot_->number();
  config.id_secret = random_secret();
  config.first_retry = kFirstRetry;
  // On Linux the kernel tells the peers of a killed program. Here its peers have to probe.
  config.probe_interval = kProbeInterval;
  config.probe_again = kProbeAgain;
  config.probe_limit = kProbeLimit;
  config.quiet_after = kQuietAfter;
  config.probe_guid_mask = kNodeGuidMask;
  config.probe_guid_value = kNodeGuidValue;
  device_.cm().configure(config);
  device_.mads().configure({.id_prefix = slot_->number(), .id_secret = random_secret()});
}

Expected<void, EngineError> Lane::open_address(const Gid& local) {
  return open(local, true);
}

Expected<void, EngineError> Lane::open(const Gid& local, bool asked_for) {
  if (auto alone = sharing_->follow_user(local); !alone) return alone;
  PacketEngine& engine = *progress_.engine();
  if (auto opened = engine.open_address(local); !opened) return opened;
  addresses_.open(local, asked_for);
  if (engine.is_joining()) progress_.wait_for_joining();
  if (device_.gsi_source_port(local)) return {};
  auto port = engine.claim_source_port(local, wanted_source_port(slot_->number()));
  if (!port) return Unexpected<EngineError>(std::move(port.error()));
  device_.set_gsi_source_port(local, *port);
  return {};
}

Expected<void, EngineError> Lane::open_addresses() {
  opens_addresses_ = true;
  lacks_addresses_ = false;
  unopened_.reset();
  std::optional<EngineError> first;
  bool any = false;
  for (const Gid& gid : device_.config().gids) {
    if (gid.is_zero()) continue;
    auto opened = open(gid, false);
    any = any || opened;
    if (opened) continue;
    lacks_addresses_ = true;
    if (opened.error().errno_value != EADDRNOTAVAIL && !unopened_) unopened_ = opened.error();
    if (!first) first = std::move(opened.error());
  }
  if (!any && first) return Unexpected<EngineError>(*std::move(first));
  return {};
}

void Lane::follow(const DeviceDescription& now, bool has_new_addresses) {
  device_.set_active_mtu(path_mtu_for(now.mtu));
  device_.set_interface_mtu(now.mtu);
  if (!has_new_addresses) return;
  device_.set_gids(now.gids);
  if (!is_started()) return;
  close_lost_addresses();
  lacks_addresses_ = true;
  open_missing();
}

void Lane::open_missing() {
  if (!is_started()) return;
  for (const Gid& gid : addresses_.returned(device_.config().gids)) (void)open_address(gid);
  if (opens_addresses_ && lacks_addresses_) (void)open_addresses();
}

void Lane::close_lost_addresses() {
  for (;;) {
    const Gid lost = addresses_.take_lost(device_.config().gids);
    if (lost.is_zero()) return;
    PacketEngine& engine = *progress_.engine();
    if (const auto port = device_.gsi_source_port(lost)) {
      engine.release_source_port(lost, *port);
      device_.forget_gsi_source_port(lost);
    }
    engine.close_address(lost);
  }
}

Expected<uint16_t, EngineError> Lane::claim_source_port(const Gid& local, uint16_t wanted) {
  auto port = progress_.engine()->claim_source_port(local, wanted);
  if (port) addresses_.claim(local);
  return port;
}

void Lane::release_source_port(const Gid& local, uint16_t port) {
  progress_.engine()->release_source_port(local, port);
  addresses_.release(local);
  close_lost_addresses();
}

void Lane::after_fork_in_child() {
  files_.reports.fd.reset();
  progress_.after_fork_in_child();
  sharing_.reset();
  slot_.reset();
}

}  // namespace urxe

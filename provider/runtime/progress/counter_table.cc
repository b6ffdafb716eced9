// SPDX-License-Identifier: BSD-2-Clause
#include "provider/runtime/progress/counter_table.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <atomic>
#include <utility>

#include "provider/devices/counter_names.h"

namespace urxe {
namespace {

constexpr size_t kRowBytes = kCounterColumns * sizeof(uint64_t);

/// The row's space is allocated first: on a full file system this must fail, not a write to the
/// row, which would be SIGBUS.
uint64_t* map_table(int fd, uint32_t row) {
  struct stat status {};
  void* memory = MAP_FAILED;
  if (fstat(fd, &status) == 0 && status.st_size >= static_cast<off_t>(kCounterTableBytes) &&
      posix_fallocate(fd, static_cast<off_t>(row * kRowBytes), kRowBytes) == 0) {
    memory = mmap(nullptr, kCounterTableBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  }
  return memory != MAP_FAILED ? static_cast<uint64_t*>(memory) : nullptr;
}

/// Packets dropped because they are malformed, and not because of the state of the device.
uint64_t broken_packets(const Counters& c) {
  uint64_t sum = 0;
  for (size_t reason = 0; reason <= static_cast<size_t>(DropReason::kBadIcrc); ++reason) {
    sum += c.drops[reason];
  }
  return sum;
}

}  // namespace

FileDescriptor open_counter_file(const std::string& tree, const std::string& device) {
  if (tree.empty()) return {};
  const std::string path = tree + "/devices/" + device + ".counters";
  return FileDescriptor(open(path.c_str(), O_RDWR | O_CLOEXEC));
}

CounterTable::CounterTable(const FileDescriptor& file, uint32_t row) {
  if (!file || row >= kCounterRows) return;
  table_ = map_table(file.get(), row);
  if (table_ == nullptr) return;
  row_ = table_ + static_cast<size_t>(row) * kCounterColumns;
  before_.assign(row_, row_ + kCounterColumns);
}

CounterTable::~CounterTable() {
  if (table_ != nullptr) munmap(table_, kCounterTableBytes);
}

CounterTable::CounterTable(CounterTable&& other) noexcept
    : table_(std::exchange(other.table_, nullptr)),
      row_(std::exchange(other.row_, nullptr)),
      before_(std::move(other.before_)) {}

CounterTable& CounterTable::operator=(CounterTable&& other) noexcept {
  std::swap(table_, other.table_);
  std::swap(row_, other.row_);
  std::swap(before_, other.before_);
  return *this;
}

void CounterTable::add(size_t column, uint64_t value) {
  std::atomic_ref(row_[column]).store(before_[column] + value, std::memory_order_relaxed);
}

void CounterTable::add_cm(const CmCounters& cm, const MadAgents::Drops& agent_drops) {
  static_assert(kCmCounterGroups.size() == 4);
  size_t column = cm_counter_column(0);
  for (const auto* group : {&cm.sent, &cm.retries, &cm.received, &cm.duplicates}) {
    for (const uint64_t value : *group) add(column++, value);
  }
  for (size_t reason = 0; reason < cm.drops.size(); ++reason) {
    add(drop_counter_column(static_cast<MadDropReason>(reason)),
        cm.drops[reason] + agent_drops[reason]);
  }
}

void CounterTable::add_failures(const Counters& c) {
  add(counter_column("sq_num_lle"), c.failed_sends[IBV_WC_LOC_LEN_ERR]);
  add(counter_column("sq_num_lqpoe"), c.failed_sends[IBV_WC_LOC_QP_OP_ERR]);
  add(counter_column("sq_num_lpe"), c.failed_sends[IBV_WC_LOC_PROT_ERR]);
  add(counter_column("sq_num_wrfe"), c.failed_sends[IBV_WC_WR_FLUSH_ERR]);
  add(counter_column("sq_num_mwbe"), c.failed_sends[IBV_WC_MW_BIND_ERR]);
  add(counter_column("sq_num_bre"), c.failed_sends[IBV_WC_BAD_RESP_ERR]);
  add(counter_column("sq_num_rire"), c.failed_sends[IBV_WC_REM_INV_REQ_ERR]);
  add(counter_column("sq_num_rae"), c.failed_sends[IBV_WC_REM_ACCESS_ERR]);
  add(counter_column("sq_num_roe"), c.failed_sends[IBV_WC_REM_OP_ERR]);
  add(counter_column("sq_num_tree"), c.failed_sends[IBV_WC_RETRY_EXC_ERR]);
  add(counter_column("sq_num_rree"), c.failed_sends[IBV_WC_RNR_RETRY_EXC_ERR]);
  add(counter_column("rq_num_lle"), c.failed_receives[IBV_WC_LOC_LEN_ERR]);
  add(counter_column("rq_num_lpe"), c.failed_receives[IBV_WC_LOC_PROT_ERR]);
  add(counter_column("rq_num_wrfe"), c.failed_receives[IBV_WC_WR_FLUSH_ERR]);
  add(counter_column("rq_num_lae"), c.failed_receives[IBV_WC_LOC_ACCESS_ERR]);
  const auto sent = [&](NakCode code) { return c.naks_sent[static_cast<size_t>(code)]; };
  add(counter_column("rq_num_rire"), sent(NakCode::kInvalidRequest));
  add(counter_column("rq_num_rae"), sent(NakCode::kRemoteAccessError));
  add(counter_column("rq_num_roe"), sent(NakCode::kRemoteOperationalError));
}

void CounterTable::add_faults(const EngineCounters& engine) {
  add(counter_column("fault_tx_lost"), engine.outgoing_faults.lost);
  add(counter_column("fault_tx_duplicated"), engine.outgoing_faults.duplicated);
  add(counter_column("fault_tx_reordered"), engine.outgoing_faults.reordered);
  add(counter_column("fault_tx_corrupted"), engine.outgoing_faults.corrupted);
  add(counter_column("fault_rx_lost"), engine.incoming_faults.lost);
  add(counter_column("fault_rx_duplicated"), engine.incoming_faults.duplicated);
  add(counter_column("fault_rx_reordered"), engine.incoming_faults.reordered);
  add(counter_column("fault_rx_corrupted"), engine.incoming_faults.corrupted);
}

void CounterTable::publish(const Counters& c, const EngineCounters& engine, const CmCounters& cm,
                           const MadAgents::Drops& agent_drops) {
  if (row_ == nullptr) return;
  add(counter_column("port_xmit_data"), c.sent_bytes / 4);
  add(counter_column("port_rcv_data"), c.received_bytes / 4);
  add(counter_column("port_xmit_packets"), c.sent_packets);
  add(counter_column("port_rcv_packets"), c.received_packets);
  add(counter_column("unicast_xmit_packets"), c.sent_packets - c.multicast_packets_sent);
  add(counter_column("unicast_rcv_packets"), c.received_packets - c.multicast_packets_received);
  add(counter_column("multicast_xmit_packets"), c.multicast_packets_sent);
  add(counter_column("multicast_rcv_packets"), c.multicast_packets_received);
  add(counter_column("sent_pkts"), c.sent_packets);
  add(counter_column("rcvd_pkts"), c.received_packets);
  add(counter_column("duplicate_request"), c.duplicate_requests);
  add(counter_column("out_of_seq_request"), c.out_of_sequence_requests);
  add(counter_column("out_of_sequence"), c.out_of_sequence_requests);
  add(counter_column("held_requests"), c.held_requests);
  add(counter_column("held_responses"), c.held_responses);
  add(counter_column("selective_repairs"), c.repairs);
  add(counter_column("rcvd_rnr_err"), c.rnr_naks_received);
  add(counter_column("rnr_nak_retry_err"), c.rnr_naks_received);
  add(counter_column("send_rnr_err"), c.rnr_naks_sent);
  add(counter_column("rcvd_seq_err"), c.sequence_naks_received);
  add(counter_column("packet_seq_err"), c.sequence_naks_received);
  add(counter_column("implied_nak_seq_err"), c.implied_naks);
  add(counter_column("local_ack_timeout_err"), c.ack_timeouts);
  add(counter_column("retry_exceeded_err"), c.retries_exceeded);
  add(counter_column("retry_rnr_exceeded_err"), c.rnr_retries_exceeded);
  add(counter_column("completer_retry_err"), c.retransmitted_packets);
  add(counter_column("rdma_sends"), c.sends);
  add(counter_column("rdma_recvs"), c.receives);
  add(counter_column("ack_deferred"), c.acks_deferred);
  add(counter_column("rx_read_requests"), c.read_requests);
  add(counter_column("rx_write_requests"), c.write_requests);
  add(counter_column("rx_atomic_requests"), c.atomic_requests);
  add(counter_column("rx_flush_requests"), c.flush_requests);
  add(counter_column("rp_cnp_handled"), c.cnps_handled);
  add(counter_column("np_cnp_sent"), c.cnps_sent);
  add(counter_column("np_ecn_marked_roce_packets"), c.ecn_marked_packets);
  add(counter_column("send_err"), engine.send_lost);
  add(counter_column("port_xmit_discards"), engine.send_lost);
  add(counter_column("excessive_buffer_overrun_errors"), engine.receive_lost);
  add(counter_column("forwarded_pkts"), engine.forwarded);
  add(counter_column("uncopied_mads"), engine.not_copied);
  add(counter_column("shm_sent_pkts"), engine.memory_sent_packets);
  add(counter_column("shm_rcvd_pkts"), engine.memory_received_packets);
  add(counter_column("shm_sent_bytes"), engine.memory_sent_bytes);
  add(counter_column("shm_rcvd_bytes"), engine.memory_received_bytes);
  add(counter_column("raw_sent_pkts"), engine.frame_sent_packets);
  add(counter_column("raw_rcvd_pkts"), engine.frame_received_packets);
  add(counter_column("raw_qp_sent_frames"), c.frames_sent);
  add(counter_column("raw_qp_rcvd_frames"), c.frames_received);
  add(counter_column("raw_qp_dropped_frames"), c.frames_dropped);
  add_cm(cm, agent_drops);
  add_failures(c);
  add_faults(engine);
  for (size_t reason = 0; reason < c.drops.size(); ++reason) {
    add(drop_counter_column(static_cast<DropReason>(reason)), c.drops[reason]);
  }
  add(counter_column("drop_not_owner"), engine.not_owner);
  add(counter_column("port_rcv_errors"), broken_packets(c));
}

}  // namespace urxe

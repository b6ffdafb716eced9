// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "packet/engine/engine.h"
#include "packet/host/file_descriptor.h"
#include "transport/cm/connection_manager.h"
#include "transport/device/counters.h"
#include "transport/mad/mad_agents.h"

namespace urxe {

/// The file of a device's counter table, or an empty descriptor. A process that becomes another
/// user cannot open it any more.
FileDescriptor open_counter_file(const std::string& tree, const std::string& device);

/// This process's row in the counter table of a device (see counter_names.h). It adds to the counts
/// of earlier owners of the row. Not thread-safe.
class CounterTable {
 public:
  CounterTable() = default;
  /// If the table cannot be opened, or the file system has no room for the row, nothing is counted;
  /// traffic does not depend on it.
  CounterTable(const std::string& tree, const std::string& device, uint32_t row)
      : CounterTable(open_counter_file(tree, device), row) {}
  CounterTable(const FileDescriptor& file, uint32_t row);
  ~CounterTable();
  CounterTable(CounterTable&& other) noexcept;
  CounterTable& operator=(CounterTable&& other) noexcept;
  CounterTable(const CounterTable&) = delete;
  CounterTable& operator=(const CounterTable&) = delete;

  /// Writes the counts since the table was opened into the row.
  void publish(const Counters& counters, const EngineCounters& engine, const CmCounters& cm,
               const MadAgents::Drops& agent_drops = {});

 private:
  void add(size_t column, uint64_t value);
  void add_cm(const CmCounters& cm, const MadAgents::Drops& agent_drops);
  void add_failures(const Counters& counters);
  void add_faults(const EngineCounters& engine);

  uint64_t* table_ = nullptr;
  uint64_t* row_ = nullptr;
  std::vector<uint64_t> before_;
};

}  // namespace urxe

// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdio>
#include <mutex>
#include <string>
#include <vector>

namespace urxe {

/// Takes what DPDK logs, by whatever thread. Until keep() is over, the lines are kept; afterwards
/// they are handed on. Never destroyed: DPDK's threads may log to the end of the process.
class EalLog {
 public:
  using Print = void (*)(const char* line);

  static EalLog& instance();
  /// Makes DPDK log here. False: there is no memory for that.
  bool attach();

  void keep();
  /// Ends keep(), and returns the first lines in one, without what names the part of DPDK.
  std::string take();
  /// Hands further lines on; null: to nobody.
  void set_print(Print print);

 private:
  static ssize_t write_cookie(void* cookie, const char* text, size_t size);
  void write(const char* text, size_t size);
  void end_line();

  std::mutex mutex_;
  bool attached_ = false;
  bool keeps_ = false;
  Print print_ = nullptr;
  std::string line_;
  std::vector<std::string> kept_;
};

}  // namespace urxe

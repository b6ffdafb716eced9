// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/transport/bench.h"

namespace urxe::test {

/// For requests that are answered by a READ response without data: ATOMIC WRITE and FLUSH.
struct EmptyResponseBench : Bench {
  using Bench::Bench;

  void receive_answer(uint32_t psn, const std::vector<uint8_t>& payload = {},
                      Operation operation = Operation::kReadResponseOnly);
};

/// Expect: the request with PSN kRqPsn was executed, and answered so.
void expect_empty_response(Bench& bench, const std::string& what);

}  // namespace urxe::test

// SPDX-License-Identifier: BSD-2-Clause
#include "tests/interop/replay/operation.h"

namespace urxe::replay {

bool is_send(Operation operation) {
  return operation <= Operation::kSendOnlyImm || has_invalidate(operation);
}
bool is_write(Operation operation) {
  return operation >= Operation::kWriteFirst && operation <= Operation::kWriteOnlyImm;
}
bool is_atomic(Operation operation) {
  return operation == Operation::kCompareSwap || operation == Operation::kFetchAdd;
}
bool has_immediate(Operation operation) {
  return operation == Operation::kSendLastImm || operation == Operation::kSendOnlyImm ||
         operation == Operation::kWriteLastImm || operation == Operation::kWriteOnlyImm;
}
bool has_invalidate(Operation operation) {
  return operation == Operation::kSendLastInvalidate || operation == Operation::kSendOnlyInvalidate;
}
bool has_own_response(Operation operation) {
  return operation == Operation::kReadRequest || is_atomic(operation);
}
bool needs_receive(Operation operation) {
  return is_send(operation) || (is_write(operation) && has_immediate(operation));
}
bool is_read_response(Operation operation) {
  return operation >= Operation::kReadResponseFirst && operation <= Operation::kReadResponseOnly;
}
bool is_data_response(Operation operation) {
  return is_read_response(operation) || operation == Operation::kAtomicAcknowledge;
}

}  // namespace urxe::replay

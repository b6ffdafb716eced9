// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string_view>

#include "transport/observation/qp_report.h"

namespace urxe {

// What users call the values of a report. Values that have no name are "?".

std::string_view type_name(uint8_t type);             ///< of ibv_qp_type: "RC"
std::string_view state_name(uint8_t state);           ///< of ibv_qp_state: "RTS"
std::string_view wait_name(WaitReason reason);        ///< one word, "" for kNothing
std::string_view reason_name(ErrorReason reason);     ///< one word, "" for kNone
std::string_view check_name(Check check);             ///< one word, "" for kNone
std::string_view status_name(uint32_t status);        ///< of ibv_wc_status: "RETRY_EXC_ERR"
std::string_view work_request_name(uint32_t opcode);  ///< of ibv_wr_opcode: "RDMA_WRITE"

}  // namespace urxe

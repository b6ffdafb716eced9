// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <span>

#include "transport/queues/work_queue.h"

namespace urxe {

// Filling an element of a send queue: the steps that ibv_post_send() and the builders of an
// ibv_qp_ex share. The device sees the element when the queue publishes it. The caller holds the
// poster's lock. The functions return 0 or an errno; an element with an error must not be
// published.

/// Whether a queue pair in that state takes requests on its send queue.
bool takes_sends(ibv_qp_state state);

/// Whether the operation has a scatter/gather list.
bool has_data(ibv_wr_opcode opcode);

/// Whether a packet goes out for it.
bool is_remote(ibv_wr_opcode opcode);

/// Starts the element at `position`: a request without data or operands.
SendWqe& begin_request(SendQueue& queue, uint32_t position, uint64_t wr_id, ibv_wr_opcode opcode,
                       unsigned flags);

/// Gives it a scatter/gather list. EINVAL: longer than the queue takes.
int set_list(SendQueue& queue, uint32_t position, std::span<const ibv_sge> list);

/// Copies its data now. EINVAL: more than the queue takes, or an operation without inline data.
int set_inline_data(SendQueue& queue, uint32_t position, std::span<const ibv_sge> list);
int set_inline_data(SendQueue& queue, uint32_t position, std::span<const ibv_data_buf> list);

/// Says what a FLUSH places, and how much memory of its address it is about. EINVAL: reserved
/// values, or a range that is too long for a packet to name.
int set_flush(SendWqe& wqe, const Feth& flush, size_t length);

/// Makes it bind a window of type 2; those of type 1 are bound by ibv_bind_mw() alone. EINVAL.
int set_bind(SendWqe& wqe, ibv_mw* mw, uint32_t rkey, const ibv_mw_bind_info& info);

}  // namespace urxe

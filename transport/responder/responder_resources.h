// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "transport/responder/responder_state.h"

namespace urxe {

// The ring of the READs and atomics that a responder has taken (IBTA vol. 1, 9.4.3, 9.4.5).

/// Whether add_resource() will succeed.
[[nodiscard]] bool has_room_for_resource(ResponderState& resp);
/// Adds a pending resource; nullptr: as many are pending as the queue pair takes.
ResponderResource* add_resource(ResponderState& resp);
/// The oldest pending one; nullptr: none.
ResponderResource* first_pending(ResponderState& resp);
/// Whether a READ through this key has not been answered for the first time.
[[nodiscard]] bool is_being_read(ResponderState& resp, RKey rkey);
/// The resource that has the response `psn`; nullptr: it is not kept any more.
ResponderResource* find_resource(ResponderState& resp, Psn psn);
/// Makes `again` pending from response `index`. Later resources that are partly sent start again,
/// since the requester takes responses only in order; not if it asks for a part only: it keeps what
/// has come behind that.
void execute_again(ResponderState& resp, ResponderResource& again, uint32_t index,
                   uint32_t reply_length, uint32_t mtu);
/// All responses of this execution have been sent.
void finish_pending(ResponderState& resp, ResponderResource& done);

}  // namespace urxe

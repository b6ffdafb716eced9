// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>

#include <memory>

#include "provider/runtime/events/event_socket.h"

namespace urxe {

class RuntimeDevice;

// Completion channels. libibverbs asks the kernel for one by a write() to the context's device
// node. The presence object passes this write to the provider.

/// From now on writes to `cmd_fd` make channels of `device`, until remove_channel_source(). A
/// thread that reads such a channel drives the device while it waits. Throws std::bad_alloc.
void add_channel_source(int cmd_fd, std::weak_ptr<RuntimeDevice> device);
void remove_channel_source(int cmd_fd);

/// The channel behind the application's handle; null if it is not one of ours.
std::shared_ptr<EventSocket> find_channel(const ibv_comp_channel* channel);

/// To be called when a completion queue of a channel was destroyed: programs usually close the
/// channel next. From time to time this closes our ends of the channels that the application has
/// closed. The caller holds no lock.
void note_destroyed_cq();

}  // namespace urxe

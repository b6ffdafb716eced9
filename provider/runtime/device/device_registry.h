// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "packet/base/expected.h"
#include "provider/runtime/device/runtime_device.h"

namespace urxe {

// The devices that this process has open. They are RuntimeDevices, so the registry belongs to the
// runtime; which devices exist is known to provider/devices.

/// The device of that name: the one that this process has open already, or a new one. In the child
/// of a fork() the parent's devices are not found. Its events go to the sinks that are registered.
/// ENODEV, ENOMEM. Thread-safe.
Expected<std::shared_ptr<RuntimeDevice>, Errno> open_runtime_device(const std::string& name);

/// This process's devices, by name, as the tree describes them: up to date while one is open.
/// Thread-safe.
std::vector<DeviceDescription> list_runtime_devices();

/// Makes the registry if it does not exist yet. Handlers of fork() that are registered after this
/// call run before the registry's in the parent.
void prepare_runtime_devices();

/// Whether `name` is one of this process's devices, without opening it.
bool is_runtime_device(const std::string& name);

/// Sends what the peers of an exiting process should still get.
void finish_runtime_devices() noexcept;

}  // namespace urxe

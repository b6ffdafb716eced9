// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstdint>

/// The identity of urxe's devices, in sysfs and in ibv_query_device().
namespace urxe {

/// The vendor id is an IEEE OUI. urxe has none assigned, so this is "rxe" in ASCII, whose first
/// octet 0x72 has the locally-administered bit: the IEEE never assigns it. It is neither 0 nor
/// 0xffffff, from which some applications conclude that they run on the kernel's rxe, with its
/// limitations.
inline constexpr uint32_t kVendorId = 0x727865;
inline constexpr uint32_t kVendorPartId = 1;
inline constexpr uint32_t kHardwareVersion = 1;
inline constexpr const char* kFirmwareVersion = URXE_VERSION;
inline constexpr const char* kHcaType = "urxe";

/// The libibverbs that the provider serves (provider/verbs/abi/library.h).
inline constexpr const char* kServedLibraries =
    "rdma-core 36 to 65 (private ABIs 34, 57, 59, 64, 65)";
inline constexpr std::array kServedAbis{34, 57, 59, 64, 65};

/// Node GUIDs are EUI-64s of the vendor's: guid & mask == value tells ours from all others.
inline constexpr uint64_t kNodeGuidMask = uint64_t{0xffffff} << 40;
inline constexpr uint64_t kNodeGuidValue = uint64_t{kVendorId} << 40;

/// device/vendor and device/device in sysfs are PCI's 16-bit numbers.
inline constexpr uint16_t kSysfsVendor = kVendorId & 0xffff;
inline constexpr uint16_t kSysfsDevice = kVendorPartId;

}  // namespace urxe

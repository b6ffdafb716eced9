// SPDX-License-Identifier: BSD-2-Clause
// A library with data that can be registered.
__attribute__((visibility("default"), aligned(65536))) char urxe_rc_errors_data[16 * 65536];

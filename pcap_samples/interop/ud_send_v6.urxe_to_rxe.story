# SPDX-License-Identifier: BSD-2-Clause
# Datagrams of 0, 1, 64, 1023 and 1024 bytes over IPv6, from queue pair 10804659 to 95; two have an immediate, which is no
# payload.
exit 0
violation_count 0
capture.frames 5
capture.bad_icrc 0
capture.datagrams 5
capture.datagram_bytes 2112
connections []
cm []
capture.multicast 0

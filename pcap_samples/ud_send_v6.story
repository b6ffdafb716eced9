# SPDX-License-Identifier: BSD-2-Clause
# The same as ud_send_v4 over IPv6, to queue pair 273.
exit 0
violation_count 0
capture.frames 5
capture.bad_icrc 0
capture.datagrams 5
capture.datagram_bytes 1589
connections []
cm []
capture.multicast 0
capture.qp1 0
capture.duration_ns 56360000

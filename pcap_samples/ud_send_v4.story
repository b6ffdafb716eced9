# SPDX-License-Identifier: BSD-2-Clause
# Datagrams of 0, 1, 64, 500 and 1024 bytes to queue pair 18, those of 1 and 500 bytes with an immediate, which is no
# payload; nor are the DETH and the pad of the second one (3 bytes).
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
capture.duration_ns 83066000

# SPDX-License-Identifier: BSD-2-Clause
# Four datagrams of 100 bytes, each with an immediate, from queue pair 858 to the group 239.7.7.7: the destination is queue
# pair 0xffffff, and there is no connection. Counted from the DETHs.
exit 0
violation_count 0
capture.frames 4
capture.bad_icrc 0
capture.datagrams 4
capture.datagram_bytes 400
capture.multicast 4
connections []
cm []
capture.duration_ns 1606000

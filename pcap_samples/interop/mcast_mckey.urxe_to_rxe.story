# SPDX-License-Identifier: BSD-2-Clause
# Four datagrams of 100 bytes from urxe to the group 239.7.7.7, queue pair 0xffffff.
exit 0
violation_count 0
capture.frames 4
capture.bad_icrc 0
capture.datagrams 4
capture.datagram_bytes 400
capture.multicast 4
connections []
cm []

# SPDX-License-Identifier: BSD-2-Clause
# Path MTU 4096: SENDs and WRITEs of 0 to 3 x 4096 + 5 bytes, then five datagrams of 0, 1, 64, 500 and 4096 bytes. Frame 40 is
# the first packet of a WRITE again, 0.6 ms after frame 39, with an IPv4 identification of its own, so the requester sent it
# twice, although nothing asked for it; the responder answers it (frame 42, MSN 7) and the WRITE (frame 43, MSN 8).
exit 0
violation_count 0
capture.frames 53
capture.bad_icrc 0
capture.datagrams 5
capture.datagram_bytes 4661
connections.0.service "RC"
connections.0.learnt_from "psn"
connections.0.ends.0.qpn 17
connections.0.ends.1.qpn 17
connections.0.unmatched_responses 0
connections.0.directions.0.packets 14
connections.0.directions.0.bytes 32841
connections.0.directions.0.messages.send.sent 9
connections.0.directions.0.messages.send.answered 9
connections.0.directions.0.messages.send.bytes 32841
connections.0.directions.0.acks 9
connections.0.directions.1.packets 0
connections.1.service "RC"
connections.1.learnt_from "psn"
connections.1.ends.0.qpn 18
connections.1.ends.1.qpn 18
connections.1.directions.0.packets 15
connections.1.directions.0.bytes 36937
connections.1.directions.0.messages.write.sent 9
connections.1.directions.0.messages.write.answered 9
connections.1.directions.0.messages.write.bytes 32841
connections.1.directions.0.acks 10
connections.0.directions.0.repeats.timeout 0
connections.1.directions.0.repeats.timeout 1
connections.1.directions.0.timeouts 1
connections.1.directions.0.repeats.duplicate 0
connections.1.directions.0.lost_before 0
connections.1.directions.0.lost_after 0
connections.1.directions.0.repeated_responses 0
connections.1.directions.0.lost_messages 0

# SPDX-License-Identifier: BSD-2-Clause
# 25 % of urxe's packets are to come out of order; one does, frame 48: the first packet of a WRITE behind the other two. rxe sends
# a NAK for it and one for the next packet, which it had dropped; urxe sends what is behind (frames 54 to 57) again. No packet
# is missing.
exit 0
violation_count 0
capture.frames 76
capture.bad_icrc 0
connections.0.service "RC"
connections.0.learnt_from "psn"
connections.0.ends.0.qpn 8636176
connections.0.ends.1.qpn 36
connections.0.unmatched_responses 0
connections.0.directions.0.packets 44
connections.0.directions.0.bytes 24221
connections.0.directions.0.path_mtu 1024
connections.0.directions.0.messages.send.sent 5
connections.0.directions.0.messages.send.answered 5
connections.0.directions.0.messages.send.bytes 10245
connections.0.directions.0.messages.write.sent 5
connections.0.directions.0.messages.write.answered 5
connections.0.directions.0.messages.write.bytes 12500
connections.0.directions.0.messages.read.sent 5
connections.0.directions.0.messages.read.answered 5
connections.0.directions.0.messages.read.bytes 15000
connections.0.directions.0.messages.atomic.sent 5
connections.0.directions.0.messages.atomic.answered 5
connections.0.directions.0.acks 10
connections.0.directions.0.read_responses 15
connections.0.directions.0.atomic_acks 5
connections.0.directions.0.naks {"0": 2}
connections.0.directions.0.outstanding 0
connections.0.directions.1.packets 0
connections.0.directions.0.out_of_order 1
connections.0.directions.0.repeats.sequence_nak 4
connections.0.directions.0.repeats.timeout 0
connections.0.directions.0.repeats.duplicate 0
connections.0.directions.0.timeouts 0
connections.0.directions.0.lost_before 0
connections.0.directions.0.lost_after 0
connections.0.directions.0.never_seen 0
connections.0.directions.0.lost_messages 0

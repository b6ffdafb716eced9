# SPDX-License-Identifier: BSD-2-Clause
# 25 % of rxe's packets are held back. Counted by its IPv4 identifications: 17 frames have a lower one than a frame before (34,
# 35, 39 to 43, 45 to 47, 73, 78 to 80, 88 to 90). Frames 74, 81, 84 and 91 are sent again after NAKs. Frames 49 and 50 repeat a
# READ and an atomic 77 ms after everything before them was acknowledged: a time-out. No PSN is missing at the end.
exit 0
violation_count 0
capture.frames 95
capture.bad_icrc 0
connections.0.service "RC"
connections.0.learnt_from "psn"
connections.0.ends.0.qpn 38
connections.0.ends.1.qpn 8698132
connections.0.unmatched_responses 0
connections.0.directions.0.packets 58
connections.0.directions.0.bytes 30819
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
connections.0.directions.0.acks 9
connections.0.directions.0.read_responses 18
connections.0.directions.0.atomic_acks 5
connections.0.directions.0.naks {"0": 5}
connections.0.directions.0.outstanding 0
connections.0.directions.1.packets 0
connections.0.directions.0.out_of_order 17
connections.0.directions.0.repeats.sequence_nak 4
connections.0.directions.0.repeats.timeout 2
connections.0.directions.0.repeats.duplicate 0
connections.0.directions.0.timeouts 1
connections.0.directions.0.lost_before 0
connections.0.directions.0.lost_after 0
connections.0.directions.0.never_seen 0
connections.0.directions.0.lost_messages 0

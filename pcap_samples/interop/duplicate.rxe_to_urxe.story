# SPDX-License-Identifier: BSD-2-Clause
# 30 % of rxe's packets come twice: frames 3, 6, 8, 10, 24, 26, 35, 37, 39, 42, 46, 65, 67 and 74 have the same IPv4
# identification as a frame before. Frames 34 and 36 are no such copies: nothing was answered for 5.8 ms, and rxe sent the
# first two packets of a SEND again, with identifications of their own. urxe acknowledges by the READ responses and atomic ACKs
# alone, but for one ACK. Of two FETCH_ADDs that come twice it answers one twice (frame 31), and no READ.
exit 0
violation_count 0
capture.frames 78
capture.bad_icrc 0
connections.0.service "RC"
connections.0.learnt_from "psn"
connections.0.ends.0.qpn 102
connections.0.ends.1.qpn 11025897
connections.0.unmatched_responses 0
connections.0.directions.0.packets 56
connections.0.directions.0.bytes 33438
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
connections.0.directions.0.acks 1
connections.0.directions.0.read_responses 15
connections.0.directions.0.atomic_acks 6
connections.0.directions.0.naks {}
connections.0.directions.0.outstanding 0
connections.0.directions.1.packets 0
connections.0.directions.0.repeats.duplicate 14
connections.0.directions.0.repeats.timeout 2
connections.0.directions.0.timeouts 1
connections.0.directions.0.repeats.sequence_nak 0
connections.0.directions.0.repeats.implied_nak 0
connections.0.directions.0.answers_lost_after 0
connections.0.directions.0.repeated_responses 1
connections.0.directions.0.lost_before 0
connections.0.directions.0.lost_after 0
connections.0.directions.0.out_of_order 0
connections.0.directions.0.lost_messages 0

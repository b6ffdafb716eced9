# SPDX-License-Identifier: BSD-2-Clause
# SENDs of 10, 1024 and 3500 bytes to a shared receive queue of urxe's: its ACKs carry no credits. rxe pauses within the last
# message, 10.394 ms behind frame 5 and 38.026 ms behind frame 6: the requester's silences, as the message is not complete.
exit 0
violation_count 0
capture.frames 9
capture.bad_icrc 0
connections.0.service "RC"
connections.0.learnt_from "psn"
connections.0.ends.0.qpn 56
connections.0.ends.1.qpn 10161688
connections.0.unmatched_responses 0
connections.0.directions.0.packets 6
connections.0.directions.0.bytes 4534
connections.0.directions.0.messages.send.sent 3
connections.0.directions.0.messages.send.answered 3
connections.0.directions.0.messages.send.bytes 4534
connections.0.directions.0.messages.send.latency_ns.min 119000
connections.0.directions.0.messages.send.latency_ns.max 48902000
connections.0.directions.0.acks 3
connections.0.directions.0.outstanding 0
connections.0.directions.0.silences.count 2
connections.0.directions.1.packets 0
connections.0.directions.0.silences.longest.0.turn "requester"
connections.0.directions.0.silences.longest.0.duration_ns 10394000
connections.0.directions.0.silences.longest.1.turn "requester"
connections.0.directions.0.silences.longest.1.duration_ns 38026000
connections.0.directions.0.repeats.timeout 0

# SPDX-License-Identifier: BSD-2-Clause
# SENDs of 0, 1, 3, 64, 1023, 1024, 1025, 2048 and 3077 bytes at path MTU 1024: six packets "only", three messages of 2, 2 and
# 4 packets, an ACK each. Bytes without the pad, which is 3, 1, 1, 3 and 3 for the odd lengths. The first ACK came after
# 1.127 ms, each other one sooner than a millisecond.
exit 0
violation_count 0
capture.frames 23
capture.bad_icrc 0
connections.0.service "RC"
connections.0.learnt_from "psn"
connections.0.ends.0.qpn 811
connections.0.ends.1.qpn 251
connections.0.unmatched_responses 0
connections.0.directions.0.packets 14
connections.0.directions.0.bytes 8265
connections.0.directions.0.messages.send.sent 9
connections.0.directions.0.messages.send.answered 9
connections.0.directions.0.messages.send.bytes 8265
connections.0.directions.0.messages.send.latency_ns.min 331000
connections.0.directions.0.messages.send.latency_ns.max 1127000
connections.0.directions.0.acks 9
connections.0.directions.0.outstanding 0
connections.0.directions.0.silences.count 1
connections.0.directions.1.packets 0
connections.0.directions.0.silences.longest.0.duration_ns 1127000

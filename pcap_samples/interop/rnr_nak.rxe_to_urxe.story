# SPDX-License-Identifier: BSD-2-Clause
# Four RNR NAKs of urxe (syndrome 0x34: timer code 20, 10.24 ms); rxe waits 15.639 to 29.550 ms, and the fifth packet has its
# ACK, with MSN 1. Then the queue is empty: its credit count is 0.
exit 0
violation_count 0
capture.frames 10
capture.bad_icrc 0
connections.0.service "RC"
connections.0.learnt_from "psn"
connections.0.ends.0.qpn 32
connections.0.ends.1.qpn 8513060
connections.0.unmatched_responses 0
connections.0.directions.0.packets 5
connections.0.directions.0.bytes 500
connections.0.directions.0.messages.send.sent 1
connections.0.directions.0.messages.send.answered 1
connections.0.directions.0.messages.send.bytes 100
connections.0.directions.0.messages.send.latency_ns.min 82747000
connections.0.directions.0.messages.send.latency_ns.max 82747000
connections.0.directions.0.acks 1
connections.0.directions.0.rnr_naks 4
connections.0.directions.0.rnr_wait_ns.count 4
connections.0.directions.0.rnr_wait_ns.min 15639000
connections.0.directions.0.rnr_wait_ns.max 29550000
connections.0.directions.0.outstanding 0
connections.0.directions.0.silences.count 4
connections.0.directions.1.packets 0
connections.0.directions.0.repeats.rnr_nak 4
connections.0.directions.0.repeats.timeout 0
connections.0.directions.0.timeouts 0
connections.0.directions.0.lost_messages 0
connections.0.directions.0.turn "nobody"

# SPDX-License-Identifier: BSD-2-Clause
# WRITEs of 0, 1, 3, 64, 1023, 1024, 1025, 2048 and 3077 bytes at path MTU 1024, an ACK each. Bytes without the pad; they are
# the lengths of the RETHs, too. The first ACK came after 3.589 ms.
exit 0
violation_count 0
capture.frames 23
capture.bad_icrc 0
connections.0.service "RC"
connections.0.learnt_from "psn"
connections.0.ends.0.qpn 815
connections.0.ends.1.qpn 255
connections.0.unmatched_responses 0
connections.0.directions.0.packets 14
connections.0.directions.0.bytes 8265
connections.0.directions.0.messages.write.sent 9
connections.0.directions.0.messages.write.answered 9
connections.0.directions.0.messages.write.bytes 8265
connections.0.directions.0.messages.write.latency_ns.min 260000
connections.0.directions.0.messages.write.latency_ns.max 3589000
connections.0.directions.0.acks 9
connections.0.directions.0.outstanding 0
connections.0.directions.0.silences.count 1
connections.0.directions.1.packets 0
connections.0.directions.0.silences.longest.0.duration_ns 3589000

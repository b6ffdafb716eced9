# SPDX-License-Identifier: BSD-2-Clause
# 60 SENDs of 500 bytes, and 12 ACKs of urxe: it acknowledges what has come, up to 17 packets by one ACK (frame 36, MSN from 2 to
# 19). Counted by the PSNs of the ACKs.
exit 0
violation_count 0
capture.frames 72
capture.bad_icrc 0
connections.0.service "RC"
connections.0.learnt_from "psn"
connections.0.ends.0.qpn 44
connections.0.ends.1.qpn 9979741
connections.0.unmatched_responses 0
connections.0.directions.0.packets 60
connections.0.directions.0.bytes 30000
connections.0.directions.0.messages.send.sent 60
connections.0.directions.0.messages.send.answered 60
connections.0.directions.0.messages.send.bytes 30000
connections.0.directions.0.messages.send.latency_ns.min 20000
connections.0.directions.0.messages.send.latency_ns.max 1165000
connections.0.directions.0.acks 12
connections.0.directions.0.outstanding 0
connections.0.directions.0.silences.count 0
connections.0.directions.1.packets 0
connections.0.directions.0.lost_before 0
connections.0.directions.0.out_of_order 0

# SPDX-License-Identifier: BSD-2-Clause
# A WRITE of 100 bytes through a memory window, a SEND of 32 bytes that invalidates its key, and the WRITE again: NAK "remote
# access error" with MSN 2.
exit 1
violation_count 0
capture.frames 6
capture.bad_icrc 0
connections.0.service "RC"
connections.0.learnt_from "psn"
connections.0.ends.0.qpn 9420823
connections.0.ends.1.qpn 23
connections.0.unmatched_responses 0
connections.0.directions.0.packets 3
connections.0.directions.0.bytes 232
connections.0.directions.0.messages.write.sent 2
connections.0.directions.0.messages.write.answered 1
connections.0.directions.0.messages.write.failed 1
connections.0.directions.0.messages.write.bytes 200
connections.0.directions.0.messages.write.latency_ns.min 771000
connections.0.directions.0.messages.write.latency_ns.max 771000
connections.0.directions.0.messages.send.sent 1
connections.0.directions.0.messages.send.answered 1
connections.0.directions.0.messages.send.bytes 32
connections.0.directions.0.messages.send.latency_ns.min 342000
connections.0.directions.0.messages.send.latency_ns.max 342000
connections.0.directions.0.acks 2
connections.0.directions.0.naks {"2": 1}
connections.0.directions.0.error_naks [{"frame": 6, "code": 2, "psn": 5867971}]
connections.0.directions.0.outstanding 0
connections.0.directions.1.packets 0
connections.0.directions.0.turn "nobody"
connections.0.directions.0.lost_messages 0

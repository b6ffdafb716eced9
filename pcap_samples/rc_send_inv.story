# SPDX-License-Identifier: BSD-2-Clause
# A WRITE of 100 bytes through a memory window, a SEND that invalidates the window's key (0x8000900), and the same WRITE
# again: the NAK "remote access error" with MSN 2 in frame 6. So one of two WRITEs fails, and the SEND, with 100 bytes
# besides the key, is answered.
exit 1
violation_count 0
capture.frames 6
capture.bad_icrc 0
connections.0.service "RC"
connections.0.learnt_from "psn"
connections.0.ends.0.qpn 814
connections.0.ends.1.qpn 254
connections.0.unmatched_responses 0
connections.0.directions.0.packets 3
connections.0.directions.0.bytes 300
connections.0.directions.0.messages.write.sent 2
connections.0.directions.0.messages.write.answered 1
connections.0.directions.0.messages.write.failed 1
connections.0.directions.0.messages.write.bytes 200
connections.0.directions.0.messages.write.latency_ns.min 2767000
connections.0.directions.0.messages.write.latency_ns.max 2767000
connections.0.directions.0.messages.send.sent 1
connections.0.directions.0.messages.send.answered 1
connections.0.directions.0.messages.send.bytes 100
connections.0.directions.0.messages.send.latency_ns.min 802000
connections.0.directions.0.messages.send.latency_ns.max 802000
connections.0.directions.0.acks 2
connections.0.directions.0.naks {"2": 1}
connections.0.directions.0.error_naks [{"frame": 6, "code": 2, "psn": 7271829}]
connections.0.directions.0.outstanding 0
connections.0.directions.0.silences.count 1
connections.0.directions.1.packets 0
connections.0.directions.0.turn "nobody"
connections.0.directions.0.lost_messages 0
connections.0.directions.0.silences.longest.0.duration_ns 2767000

# SPDX-License-Identifier: BSD-2-Clause
# Path MTU 2048: SENDs of 0 to 3 x 2048 + 5 bytes, then, on another queue pair, READs of 0 to 8 x 2048 + 3 bytes and 4 of 5000
# bytes with 3 responses each. Lengths without the pad, and of READs from the RETHs.
exit 0
violation_count 0
capture.frames 63
capture.bad_icrc 0
connections.0.service "RC"
connections.0.learnt_from "psn"
connections.0.ends.0.qpn 20
connections.0.ends.1.qpn 20
connections.0.unmatched_responses 0
connections.0.directions.0.packets 14
connections.0.directions.0.bytes 16457
connections.0.directions.0.messages.send.sent 9
connections.0.directions.0.messages.send.answered 9
connections.0.directions.0.messages.send.bytes 16457
connections.0.directions.0.acks 9
connections.0.directions.1.packets 0
connections.1.service "RC"
connections.1.learnt_from "psn"
connections.1.ends.0.qpn 21
connections.1.ends.1.qpn 21
connections.1.directions.0.packets 11
connections.1.directions.0.path_mtu 2048
connections.1.directions.0.messages.read.sent 11
connections.1.directions.0.messages.read.answered 11
connections.1.directions.0.messages.read.bytes 44645
connections.1.directions.0.read_responses 29

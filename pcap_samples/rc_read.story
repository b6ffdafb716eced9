# SPDX-License-Identifier: BSD-2-Clause
# READs of 0, 1, 64, 1024, 1025, 2048 and 8195 bytes, one at a time, with 1, 1, 1, 1, 2, 2 and 9 responses, then 4 of 5000
# bytes at once with 5 responses each: 37 in all, by their AETHs and PSNs. Bytes are the lengths in the RETHs; a request has no
# payload. There is no ACK.
exit 0
violation_count 0
capture.frames 48
capture.bad_icrc 0
connections.0.service "RC"
connections.0.learnt_from "psn"
connections.0.ends.0.qpn 818
connections.0.ends.1.qpn 258
connections.0.unmatched_responses 0
connections.0.directions.0.packets 11
connections.0.directions.0.path_mtu 1024
connections.0.directions.0.messages.read.sent 11
connections.0.directions.0.messages.read.answered 11
connections.0.directions.0.messages.read.bytes 32357
connections.0.directions.0.messages.read.latency_ns.min 217000
connections.0.directions.0.messages.read.latency_ns.max 1192000
connections.0.directions.0.read_responses 37
connections.0.directions.0.outstanding 0
connections.0.directions.0.silences.count 0
connections.0.directions.1.packets 0
connections.0.directions.0.bytes 0
connections.0.directions.0.missing_responses 0
connections.0.directions.0.early_responses 0

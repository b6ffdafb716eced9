# SPDX-License-Identifier: BSD-2-Clause
# The same as rc_read over IPv6. The first response came after 6.752 ms; responses to the first of the 4 READs at once are on
# both sides of the other 3 requests (frames 26 to 33).
exit 0
violation_count 0
capture.frames 48
capture.bad_icrc 0
connections.0.service "RC"
connections.0.learnt_from "psn"
connections.0.ends.0.address "fd77::2"
connections.0.ends.1.address "fd77::3"
connections.0.ends.0.qpn 819
connections.0.ends.1.qpn 259
connections.0.unmatched_responses 0
connections.0.directions.0.packets 11
connections.0.directions.0.path_mtu 1024
connections.0.directions.0.messages.read.sent 11
connections.0.directions.0.messages.read.answered 11
connections.0.directions.0.messages.read.bytes 32357
connections.0.directions.0.messages.read.latency_ns.min 539000
connections.0.directions.0.messages.read.latency_ns.max 6752000
connections.0.directions.0.read_responses 37
connections.0.directions.0.outstanding 0
connections.0.directions.0.silences.count 1
connections.0.directions.1.packets 0
connections.0.directions.0.bytes 0
connections.0.directions.0.missing_responses 0
connections.0.directions.0.early_responses 0
connections.0.directions.0.silences.longest.0.duration_ns 6752000
connections.0.directions.0.silences.longest.0.turn "responder"

# SPDX-License-Identifier: BSD-2-Clause
# FETCH_ADD of 5 to 100, CMP_SWAP that hits, CMP_SWAP that misses, FETCH_ADD that wraps; each has its atomic ACK.
exit 0
violation_count 0
capture.frames 8
capture.bad_icrc 0
connections.0.service "RC"
connections.0.learnt_from "psn"
connections.0.ends.0.qpn 9808615
connections.0.ends.1.qpn 39
connections.0.unmatched_responses 0
connections.0.directions.0.packets 4
connections.0.directions.0.messages.atomic.sent 4
connections.0.directions.0.messages.atomic.answered 4
connections.0.directions.0.messages.atomic.latency_ns.min 203000
connections.0.directions.0.messages.atomic.latency_ns.max 1116000
connections.0.directions.0.atomic_acks 4
connections.0.directions.0.outstanding 0
connections.0.directions.0.silences.count 1
connections.0.directions.1.packets 0

# SPDX-License-Identifier: BSD-2-Clause
# FETCH_ADD of 5 to 1000, CMP_SWAP that hits, CMP_SWAP that misses, FETCH_ADD that wraps; each has its atomic ACK, and there is
# no other ACK. Atomics have no payload. The answers in frames 2 and 6 came after 1.853 and 2.247 ms, the others sooner than
# a millisecond.
exit 0
violation_count 0
capture.frames 8
capture.bad_icrc 0
connections.0.service "RC"
connections.0.learnt_from "psn"
connections.0.ends.0.qpn 820
connections.0.ends.1.qpn 260
connections.0.unmatched_responses 0
connections.0.directions.0.packets 4
connections.0.directions.0.messages.atomic.sent 4
connections.0.directions.0.messages.atomic.answered 4
connections.0.directions.0.messages.atomic.latency_ns.min 374000
connections.0.directions.0.messages.atomic.latency_ns.max 2247000
connections.0.directions.0.atomic_acks 4
connections.0.directions.0.outstanding 0
connections.0.directions.0.silences.count 2
connections.0.directions.1.packets 0
connections.0.directions.0.silences.longest.0.duration_ns 1853000
connections.0.directions.0.silences.longest.1.duration_ns 2247000
connections.0.directions.0.silences.longest.1.at_ns 13602000

# SPDX-License-Identifier: BSD-2-Clause
# WRITEs with immediate of 0, 7, 1024 and 2057 bytes, an ACK each. The lengths of the RETHs sum up to the payload, without the
# pad and the immediates.
exit 0
violation_count 0
capture.frames 10
capture.bad_icrc 0
connections.0.service "RC"
connections.0.learnt_from "psn"
connections.0.ends.0.qpn 817
connections.0.ends.1.qpn 257
connections.0.unmatched_responses 0
connections.0.directions.0.packets 6
connections.0.directions.0.bytes 3088
connections.0.directions.0.messages.write.sent 4
connections.0.directions.0.messages.write.answered 4
connections.0.directions.0.messages.write.bytes 3088
connections.0.directions.0.messages.write.latency_ns.min 216000
connections.0.directions.0.messages.write.latency_ns.max 444000
connections.0.directions.0.acks 4
connections.0.directions.0.outstanding 0
connections.0.directions.1.packets 0

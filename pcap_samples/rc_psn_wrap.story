# SPDX-License-Identifier: BSD-2-Clause
# Four SENDs and four READs, 3 packets each in turn, from PSN 0xfffffc: the READ at 0xffffff has its responses at 0xffffff, 0
# and 1. Nothing is lost at the wrap. Counted from BTH, RETH and AETH.
exit 0
violation_count 0
capture.frames 32
capture.bad_icrc 0
connections.0.service "RC"
connections.0.learnt_from "psn"
connections.0.ends.0.qpn 823
connections.0.ends.1.qpn 263
connections.0.unmatched_responses 0
connections.0.directions.0.packets 16
connections.0.directions.0.bytes 12288
connections.0.directions.0.path_mtu 1024
connections.0.directions.0.messages.send.sent 4
connections.0.directions.0.messages.send.answered 4
connections.0.directions.0.messages.send.bytes 12288
connections.0.directions.0.messages.send.latency_ns.min 495000
connections.0.directions.0.messages.send.latency_ns.max 663000
connections.0.directions.0.messages.read.sent 4
connections.0.directions.0.messages.read.answered 4
connections.0.directions.0.messages.read.bytes 12288
connections.0.directions.0.messages.read.latency_ns.min 428000
connections.0.directions.0.messages.read.latency_ns.max 636000
connections.0.directions.0.acks 4
connections.0.directions.0.read_responses 12
connections.0.directions.0.outstanding 0
connections.0.directions.1.packets 0
connections.0.directions.0.out_of_order 0
connections.0.directions.0.never_seen 0
connections.0.directions.0.stray_responses 0
connections.0.directions.0.early_responses 0
connections.0.directions.0.lost_before 0

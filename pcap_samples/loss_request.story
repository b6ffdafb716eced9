# SPDX-License-Identifier: BSD-2-Clause
# 15 % of the requester's packets are lost before the capture point. Counted by hand: gaps in the IPv4
# identifications of the requester inside a burst, and the PSNs that are missing there.
exit 0
violation_count 0
capture.bad_icrc 0
connections.0.directions.0.lost_before 8
connections.0.directions.0.lost_after 0
connections.0.directions.0.out_of_order 0
connections.0.directions.0.missed_by_capture 0
connections.0.directions.0.timeouts 4
connections.0.directions.0.repeats.sequence_nak 15
connections.0.directions.0.repeats.timeout 9
connections.0.directions.0.repeats.duplicate 0
connections.0.directions.0.naks {"0": 7}
connections.0.directions.0.lost_messages 0
connections.0.directions.0.outstanding 0
connections.0.directions.0.messages.send.answered 8
connections.0.directions.0.messages.write.answered 8
connections.0.directions.0.messages.read.answered 8
connections.0.directions.0.messages.atomic.answered 8

# SPDX-License-Identifier: BSD-2-Clause
# 15 % of urxe's packets are lost before the capture point. Counted by PSNs: of the first SEND two packets are missing before
# frame 1; the NAK in frame 7 brings them and six repeats (10 to 15). Two PSNs are missing between frames 37 and 38; after the
# NAK in frame 42 urxe goes back, but the first of the two is missing once more, and comes alone in frame 48. So 5 losses, which
# are not compared here: the one that is lost twice counts once. Four repeats follow this NAK (44 to 47). A last packet that is
# lost leaves no trace, as perhaps the FETCH_ADD of frame 96.
exit 0
violation_count 0
capture.frames 97
capture.bad_icrc 0
connections.0.service "RC"
connections.0.learnt_from "psn"
connections.0.ends.0.qpn 10866305
connections.0.ends.1.qpn 97
connections.0.unmatched_responses 0
connections.0.directions.0.packets 55
connections.0.directions.0.bytes 29222
connections.0.directions.0.path_mtu 1024
connections.0.directions.0.messages.send.sent 5
connections.0.directions.0.messages.send.answered 5
connections.0.directions.0.messages.send.bytes 10245
connections.0.directions.0.messages.write.sent 5
connections.0.directions.0.messages.write.answered 5
connections.0.directions.0.messages.write.bytes 12500
connections.0.directions.0.messages.read.sent 5
connections.0.directions.0.messages.read.answered 5
connections.0.directions.0.messages.read.bytes 15000
connections.0.directions.0.messages.atomic.sent 5
connections.0.directions.0.messages.atomic.answered 5
connections.0.directions.0.acks 20
connections.0.directions.0.read_responses 15
connections.0.directions.0.atomic_acks 5
connections.0.directions.0.naks {"0": 2}
connections.0.directions.0.outstanding 0
connections.0.directions.1.packets 0
connections.0.directions.0.lost_after 0
connections.0.directions.0.out_of_order 0
connections.0.directions.0.missed_by_capture 0
connections.0.directions.0.never_seen 0
connections.0.directions.0.repeats.duplicate 0
connections.0.directions.0.lost_messages 0

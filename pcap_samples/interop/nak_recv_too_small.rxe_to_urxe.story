# SPDX-License-Identifier: BSD-2-Clause
# A SEND of 1500 bytes into a smaller receive: urxe sends the NAK "invalid request" (syndrome 0x61), where rxe's is "remote
# operational error". It names the first PSN.
exit 1
violation_count 0
capture.frames 3
capture.bad_icrc 0
connections.0.service "RC"
connections.0.learnt_from "psn"
connections.0.ends.0.qpn 78
connections.0.ends.1.qpn 10381819
connections.0.unmatched_responses 0
connections.0.directions.0.packets 2
connections.0.directions.0.bytes 1500
connections.0.directions.0.messages.send.sent 1
connections.0.directions.0.messages.send.answered 0
connections.0.directions.0.messages.send.failed 1
connections.0.directions.0.messages.send.bytes 1500
connections.0.directions.0.naks {"1": 1}
connections.0.directions.0.error_naks [{"frame": 3, "code": 1, "psn": 2832760}]
connections.0.directions.0.outstanding 0
connections.0.directions.1.packets 0
connections.0.directions.0.turn "nobody"
connections.0.directions.0.lost_messages 0

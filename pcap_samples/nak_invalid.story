# SPDX-License-Identifier: BSD-2-Clause
# Three queue pairs that do not allow what is asked: a WRITE, a READ and a FETCH_ADD, each answered by the NAK "invalid
# request" (syndrome 0x61, MSN 0). Nothing is sent again. Frames and PSNs are read from BTH, RETH and AETH.
exit 1
violation_count 0
capture.frames 6
capture.bad_icrc 0
connections.0.service "RC"
connections.0.learnt_from "psn"
connections.0.ends.0.qpn 843
connections.0.ends.1.qpn 283
connections.0.unmatched_responses 0
connections.0.directions.0.packets 1
connections.0.directions.0.bytes 100
connections.0.directions.0.messages.write.sent 1
connections.0.directions.0.messages.write.answered 0
connections.0.directions.0.messages.write.failed 1
connections.0.directions.0.messages.write.bytes 100
connections.0.directions.0.naks {"1": 1}
connections.0.directions.0.error_naks [{"frame": 2, "code": 1, "psn": 1365448}]
connections.0.directions.0.outstanding 0
connections.0.directions.1.packets 0
connections.1.service "RC"
connections.1.learnt_from "psn"
connections.1.ends.0.qpn 844
connections.1.ends.1.qpn 284
connections.1.directions.0.packets 1
connections.1.directions.0.messages.read.sent 1
connections.1.directions.0.messages.read.answered 0
connections.1.directions.0.messages.read.failed 1
connections.1.directions.0.messages.read.bytes 100
connections.1.directions.0.naks {"1": 1}
connections.1.directions.0.error_naks [{"frame": 4, "code": 1, "psn": 3079703}]
connections.1.directions.0.outstanding 0
connections.2.service "RC"
connections.2.learnt_from "psn"
connections.2.ends.0.qpn 845
connections.2.ends.1.qpn 285
connections.2.directions.0.packets 1
connections.2.directions.0.messages.atomic.sent 1
connections.2.directions.0.messages.atomic.answered 0
connections.2.directions.0.messages.atomic.failed 1
connections.2.directions.0.naks {"1": 1}
connections.2.directions.0.error_naks [{"frame": 6, "code": 1, "psn": 9078522}]
connections.2.directions.0.outstanding 0

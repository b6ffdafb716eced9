# SPDX-License-Identifier: BSD-2-Clause
# Seven queue pairs, each with one request and its NAK "remote access error" (syndrome 0x62, MSN 0, so nothing was done): a
# WRITE and a READ with a key that does not exist, a READ and a WRITE of 3 packets beyond the end of the region, then a
# WRITE, a READ and a FETCH_ADD on a region without the right (its key is 0). The WRITE of 3 packets is refused at its first
# PSN, 4.046 ms after its last packet. Frames, PSNs and lengths are read from BTH, RETH and AETH.
exit 1
violation_count 0
capture.frames 16
capture.bad_icrc 0
connections.0.service "RC"
connections.0.learnt_from "psn"
connections.0.ends.0.qpn 836
connections.0.ends.1.qpn 276
connections.0.unmatched_responses 0
connections.0.directions.0.packets 1
connections.0.directions.0.bytes 100
connections.0.directions.0.messages.write.sent 1
connections.0.directions.0.messages.write.answered 0
connections.0.directions.0.messages.write.failed 1
connections.0.directions.0.messages.write.bytes 100
connections.0.directions.0.naks {"2": 1}
connections.0.directions.0.error_naks [{"frame": 2, "code": 2, "psn": 10420683}]
connections.0.directions.1.packets 0
connections.1.service "RC"
connections.1.learnt_from "psn"
connections.1.ends.0.qpn 837
connections.1.ends.1.qpn 277
connections.1.directions.0.packets 1
connections.1.directions.0.messages.read.sent 1
connections.1.directions.0.messages.read.answered 0
connections.1.directions.0.messages.read.failed 1
connections.1.directions.0.messages.read.bytes 100
connections.1.directions.0.naks {"2": 1}
connections.1.directions.0.error_naks [{"frame": 4, "code": 2, "psn": 1527877}]
connections.2.service "RC"
connections.2.learnt_from "psn"
connections.2.ends.0.qpn 838
connections.2.ends.1.qpn 278
connections.2.directions.0.packets 1
connections.2.directions.0.messages.read.sent 1
connections.2.directions.0.messages.read.answered 0
connections.2.directions.0.messages.read.failed 1
connections.2.directions.0.messages.read.bytes 100
connections.2.directions.0.naks {"2": 1}
connections.2.directions.0.error_naks [{"frame": 6, "code": 2, "psn": 163903}]
connections.3.service "RC"
connections.3.learnt_from "psn"
connections.3.ends.0.qpn 839
connections.3.ends.1.qpn 279
connections.3.directions.0.packets 3
connections.3.directions.0.bytes 3072
connections.3.directions.0.messages.write.sent 1
connections.3.directions.0.messages.write.answered 0
connections.3.directions.0.messages.write.failed 1
connections.3.directions.0.messages.write.bytes 3072
connections.3.directions.0.naks {"2": 1}
connections.3.directions.0.error_naks [{"frame": 10, "code": 2, "psn": 9412817}]
connections.4.service "RC"
connections.4.learnt_from "psn"
connections.4.ends.0.qpn 840
connections.4.ends.1.qpn 280
connections.4.directions.0.packets 1
connections.4.directions.0.bytes 100
connections.4.directions.0.messages.write.sent 1
connections.4.directions.0.messages.write.answered 0
connections.4.directions.0.messages.write.failed 1
connections.4.directions.0.messages.write.bytes 100
connections.4.directions.0.naks {"2": 1}
connections.4.directions.0.error_naks [{"frame": 12, "code": 2, "psn": 11710431}]
connections.5.service "RC"
connections.5.learnt_from "psn"
connections.5.ends.0.qpn 841
connections.5.ends.1.qpn 281
connections.5.directions.0.packets 1
connections.5.directions.0.messages.read.sent 1
connections.5.directions.0.messages.read.answered 0
connections.5.directions.0.messages.read.failed 1
connections.5.directions.0.messages.read.bytes 100
connections.5.directions.0.naks {"2": 1}
connections.5.directions.0.error_naks [{"frame": 14, "code": 2, "psn": 15178722}]
connections.6.service "RC"
connections.6.learnt_from "psn"
connections.6.ends.0.qpn 842
connections.6.ends.1.qpn 282
connections.6.directions.0.packets 1
connections.6.directions.0.messages.atomic.sent 1
connections.6.directions.0.messages.atomic.answered 0
connections.6.directions.0.messages.atomic.failed 1
connections.6.directions.0.naks {"2": 1}
connections.6.directions.0.error_naks [{"frame": 16, "code": 2, "psn": 4385726}]
connections.3.directions.0.silences.count 1
connections.3.directions.0.silences.longest.0.duration_ns 4046000
connections.6.directions.0.turn "nobody"

# SPDX-License-Identifier: BSD-2-Clause
# REQ, REP, RTU, three rounds of SEND, WRITE, READ, and DREQ.
exit 0
violation_count 0
connections.0.learnt_from "cm"
connections.0.unmatched_responses 0
cm.0.reject_reason null
cm.0.repeated 0

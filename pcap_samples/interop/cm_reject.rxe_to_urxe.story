# SPDX-License-Identifier: BSD-2-Clause
# A REQ of rxe to a port where nobody listens: urxe's REJ, reason 8, comes after the 0.1 s that a listener has to appear.
exit 0
violation_count 0
capture.frames 2
capture.bad_icrc 0
capture.qp1 2
connections []
cm.0.frame 1
cm.0.datagrams false
cm.0.active "10.99.0.2"
cm.0.passive "10.99.0.1"
cm.0.active_id 130794324
cm.0.service_id "0x1065d2d"
cm.0.active_qpn 107
cm.0.repeated 0
cm.0.at_ns.req 0
cm.0.at_ns.rep null
cm.0.at_ns.rtu null
cm.0.at_ns.rej 100875000
cm.0.at_ns.dreq null
cm.0.at_ns.drep null
cm.0.reject_reason 8

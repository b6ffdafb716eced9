# SPDX-License-Identifier: BSD-2-Clause
# SIDR_REQ and SIDR_REP (status 0, queue pair 11497202), then ten datagrams of 100 bytes each way.
exit 0
violation_count 0
capture.frames 22
capture.bad_icrc 0
capture.datagrams 20
capture.datagram_bytes 2000
capture.qp1 2
connections []
cm.0.frame 1
cm.0.datagrams true
cm.0.active "10.99.0.2"
cm.0.passive "10.99.0.1"
cm.0.active_id 365675348
cm.0.service_id "0x1111c06"
cm.0.passive_qpn 11497202
cm.0.repeated 0
cm.0.at_ns.req 0
cm.0.at_ns.rep 7404000
cm.0.reject_reason null

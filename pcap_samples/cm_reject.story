# SPDX-License-Identifier: BSD-2-Clause
# A REQ to a port nobody listens on (service id 0x1061f3f: port space TCP, port 7999) and its REJ, reason 8 (invalid service
# id); nothing else. Ids, queue pair number, reason and times are read from the two MADs, byte by byte.
exit 0
violation_count 0
capture.frames 2
capture.bad_icrc 0
capture.qp1 2
connections []
cm.0.frame 1
cm.0.datagrams false
cm.0.active "192.168.77.2"
cm.0.passive "192.168.77.3"
cm.0.active_id 21647652
cm.0.service_id "0x1061f3f"
cm.0.active_qpn 856
cm.0.repeated 0
cm.0.at_ns.req 0
cm.0.at_ns.rep null
cm.0.at_ns.rtu null
cm.0.at_ns.rej 2034000
cm.0.at_ns.dreq null
cm.0.at_ns.drep null
cm.0.reject_reason 8

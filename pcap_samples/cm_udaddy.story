# SPDX-License-Identifier: BSD-2-Clause
# SIDR, then ten datagrams each way.
exit 0
violation_count 0
connections []
capture.datagrams 20
capture.qp1 2
cm.0.datagrams true

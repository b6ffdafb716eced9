# SPDX-License-Identifier: BSD-2-Clause
# Seven queue pairs, each ended by a NAK.
exit 1
violation_count 0
connections.0.directions.0.naks {"2": 1}
connections.1.directions.0.naks {"2": 1}
connections.2.directions.0.naks {"2": 1}
connections.3.directions.0.naks {"2": 1}
connections.4.directions.0.naks {"2": 1}
connections.5.directions.0.naks {"2": 1}
connections.6.directions.0.naks {"2": 1}

#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# icrc_check_test.sh CHECKER SAMPLES: the exit status of the checker in each case.
checker=$1
samples=$2
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

expect() {
  want=$1
  what=$2
  shift 2
  "$checker" "$@" >"$work/out" 2>&1
  got=$?
  [ "$got" -eq "$want" ] && return
  echo "$what: status $got, wanted $want"
  cat "$work/out"
  exit 1
}

expect 0 "good captures" "$samples"/*.pcap

# The last byte of the file is the last byte of a frame's ICRC.
size=$(wc -c <"$samples/rc_send.pcap")
cp "$samples/rc_send.pcap" "$work/bad.pcap"
chmod u+w "$work/bad.pcap"
last=$(tail -c 1 "$samples/rc_send.pcap" | od -An -tu1 | tr -d ' ')
printf %b "\\0$(printf %o $(((last + 1) % 256)))" |
  dd of="$work/bad.pcap" bs=1 seek=$((size - 1)) conv=notrunc 2>/dev/null
expect 1 "a wrong ICRC" "$samples/rc_read.pcap" "$work/bad.pcap"
grep -q '22 ok, 1 bad' "$work/out" || { cat "$work/out"; exit 1; }

head -c $((size - 1)) "$samples/rc_send.pcap" >"$work/cut.pcap"
expect 2 "a file cut short" "$work/cut.pcap"
expect 1 "the gravest status counts" "$work/cut.pcap" "$work/bad.pcap" "$samples/rc_read.pcap"
expect 2 "no such file" "$work/none.pcap"
expect 2 "no file named"
head -c 24 "$samples/rc_send.pcap" >"$work/empty.pcap"
expect 3 "a capture without a RoCE frame" "$work/empty.pcap"

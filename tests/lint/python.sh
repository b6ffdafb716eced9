#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Runs flake8 over all Python programs: *.py, and the files whose first line says that Python runs them.
set -euo pipefail
cd "$(dirname "$0")/../.."
# Debian's Python has Debian's flake8; another one that comes first in PATH may not.
/usr/bin/python3 -m flake8 --version >/dev/null 2>&1 || { echo "no flake8: skipped"; exit 77; }
mapfile -t programs < <(
  find . \( -path ./build -o -path ./.git -o -path ./pcap_samples \) -prune -o -type f -print0 |
    LC_ALL=C xargs -0 awk 'FILENAME ~ /\.py$/ || (FNR == 1 && /^#!.*python3?$/) { print FILENAME } { nextfile }' | sort)
[ ${#programs[@]} -gt 0 ] || { echo "no Python program found" >&2; exit 1; }
# --isolated: the same wherever it runs. E731: a lambda that has a name is a short function. W503 and W504, about the
# place of an operator at a line's break, exclude each other.
/usr/bin/python3 -m flake8 --isolated --max-line-length=130 --extend-ignore=E731,W503,W504 "${programs[@]}"

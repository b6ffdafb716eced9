#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Runs shellcheck over all shell scripts: the files whose first line says that a shell runs them.
set -euo pipefail
cd "$(dirname "$0")/../.."
command -v shellcheck >/dev/null || { echo "no shellcheck: skipped"; exit 77; }
mapfile -t scripts < <(
  find . \( -path ./build -o -path ./.git -o -path ./pcap_samples \) -prune -o -type f -print0 |
    LC_ALL=C xargs -0 awk 'FNR == 1 && /^#!.*[\/ ](ba|da)?sh$/ { print FILENAME } { nextfile }' | sort)
[ ${#scripts[@]} -gt 0 ] || { echo "no shell script found" >&2; exit 1; }
for script in "${scripts[@]}"; do
  # busybox's shell, of which shellcheck knows nothing, is POSIX's with `local`, as dash is.
  if head -n 1 "$script" | grep -q busybox; then
    shellcheck --shell=dash "$script"
  else
    shellcheck "$script"
  fi
done

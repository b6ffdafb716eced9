#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Fails where a source file is not as .clang-format says, or lacks its licence line.
set -euo pipefail
cd "$(dirname "$0")/../.."
command -v clang-format >/dev/null || { echo "no clang-format: skipped"; exit 77; }
[[ $(clang-format --version) == *"version 14."* ]] || { echo "clang-format is not version 14, for which the code is written: skipped"; exit 77; }
mapfile -t sources < <(find packet transport provider tools tests \( -name '*.cc' -o -name '*.h' -o -name '*.c' \))
unlicensed=$(grep -L 'SPDX-License-Identifier: BSD-2-Clause' "${sources[@]}" || true)
if [ -n "$unlicensed" ]; then
  printf 'no SPDX line in:\n%s\n' "$unlicensed"
  exit 1
fi
clang-format --dry-run -Werror "${sources[@]}"

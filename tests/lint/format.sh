#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Fails where a source file is not as .clang-format says, or lacks its licence line.
set -euo pipefail
cd "$(dirname "$0")/../.."
mapfile -t sources < <(find packet transport provider tools tests \( -name '*.cc' -o -name '*.h' -o -name '*.c' \))
unlicensed=$(grep -L 'SPDX-License-Identifier: BSD-2-Clause' "${sources[@]}" || true)
if [ -n "$unlicensed" ]; then
  printf 'no SPDX line in:\n%s\n' "$unlicensed"
  exit 1
fi
command -v clang-format >/dev/null || { echo "no clang-format: skipped"; exit 77; }
[[ $(clang-format --version) == *"version 14."* ]] || { echo "the format is that of clang-format 14, which is not installed: skipped"; exit 77; }
clang-format --dry-run -Werror "${sources[@]}"

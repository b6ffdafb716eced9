#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Runs clang-tidy, as .clang-tidy says.
#
#   tests/lint/tidy.sh                     the product's source files that changed last, 8 at most
#   tests/lint/tidy.sh --all [FOLDER...]   all of them, or all in those folders
#
# Changed are the files of what is not committed and of the commits that origin/main lacks; if it lacks none, as in
# continuous integration, of the last 10 commits. A header stands for the source file that has its name. The latest
# changes come first. What goes beyond eight files is left to --all: a file takes about ten seconds.
set -euo pipefail
cd "$(dirname "$0")/../.."
commits=10
most=8
product=(packet transport provider tools)

# Prints the names of the changed files, the latest changes first.
changed() {
  local range=(-n "$commits")
  if base=$(git merge-base HEAD origin/main 2>/dev/null) && [ "$base" != "$(git rev-parse HEAD)" ]; then
    range=("$base..HEAD")
  fi
  git diff --name-only HEAD
  git ls-files --others --exclude-standard
  git log --format= --name-only --diff-filter=d "${range[@]}"
}

# Prints the source files among the names that it reads, each once.
sources() {
  local name file
  while read -r name; do
    [[ $name =~ ^($(IFS='|'; echo "${product[*]}"))/ ]] || continue
    for file in "$name" "${name%.h}.cc" "${name%.h}.c"; do
      if [[ $file =~ \.(cc|c)$ && -f $file ]]; then echo "$file"; fi
    done
  done | awk '!seen[$0]++'
}

command -v clang-tidy >/dev/null || { echo "no clang-tidy: skipped"; exit 77; }
[[ $(clang-tidy --version) == *"version 14."* ]] || { echo "the checks are those of clang-tidy 14, which is not installed: skipped"; exit 77; }
case "${1-}" in
  --all)
    shift
    [ $# -gt 0 ] || set -- "${product[@]}"
    mapfile -t files < <(find "$@" \( -name '*.cc' -o -name '*.c' \) | sort)
    ;;
  "")
    git rev-parse --git-dir >/dev/null 2>&1 || { echo "no git repository to see changes in: skipped"; exit 77; }
    mapfile -t files < <(changed | sources)
    if [ ${#files[@]} -gt $most ]; then
      echo "of ${#files[@]} changed files the $most latest"
      files=("${files[@]:0:$most}")
    fi
    ;;
  *) sed -n '3,11s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac
[ ${#files[@]} -gt 0 ] || { echo "nothing to look at"; exit 0; }

# clang cannot read g++'s precompiled headers, so the commands come from a configuration without them.
build=build/lint
mkdir -p $build
if ! cmake -S . -B $build -G Ninja -DCMAKE_EXPORT_COMPILE_COMMANDS=ON -DURXE_PRECOMPILED_HEADERS=OFF \
       >$build/configure.log 2>&1; then
  cat $build/configure.log
  exit 1
fi
failed=0
for file in "${files[@]}"; do
  echo "$file"
  clang-tidy -p $build --quiet "$file" 2>$build/stderr || { failed=1; grep -E 'error:|Error' $build/stderr || true; }
done
exit $failed

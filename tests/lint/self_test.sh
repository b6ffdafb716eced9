#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# self_test.sh format|shell|python|tidy|includes|lengths|names|portable|counters|links|labels|imports: the lint of that name passes a good
# sample and finds the fault in a bad one. The samples are in a temporary copy of the tree's outline.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir -p packet transport provider tools tests/lint
cp "$here"/* tests/lint
cp "$root"/.clang-* .

# expect STATUS WORDS COMMAND...: the command ends with that status, 0 or not, and prints the words.
expect() {
  local want=$1 words=$2 got=0
  shift 2
  "$@" >output 2>&1 || got=$?
  [ $got -ne 77 ] || { cat output; exit 77; }
  if [ $((got != 0)) -ne "$want" ] || { [ -n "$words" ] && ! grep -qF -- "$words" output; }; then
    echo "$*: status $got, wanted $want; and the words '$words' in:"
    cat output
    exit 1
  fi
  rm output
}

# source_file FILE LINE...: writes a source file, licence line first.
source_file() {
  local file=$1
  shift
  mkdir -p "$(dirname "$file")"
  printf '%s\n' '// SPDX-License-Identifier: BSD-2-Clause' "$@" >"$file"
}

case "$1" in
  format)
    source_file packet/good.h '#pragma once'
    expect 0 '' tests/lint/format.sh
    source_file packet/bad.cc 'int   three_spaces;'
    expect 1 packet/bad.cc tests/lint/format.sh
    echo '// no licence' >packet/bad.cc
    expect 1 'no SPDX line' tests/lint/format.sh
    ;;
  shell)
    expect 0 '' tests/lint/shell.sh
    printf '%s\n' '#!/bin/sh' "rm \$1" >tools/no_suffix
    expect 1 SC2086 tests/lint/shell.sh
    printf '%s\n' '#!/bin/busybox sh' "f() { local x=1; echo \"\$x\"; }; f" >tools/no_suffix
    expect 0 '' tests/lint/shell.sh
    ;;
  python)
    expect 0 '' tests/lint/python.sh
    printf '%s\n' 'import os' >tests/bad.py
    expect 1 'tests/bad.py:1:1: F401' tests/lint/python.sh
    printf '%s\n' '#!/usr/bin/env python3' 'print(undefined)' >tests/bad.py
    mv tests/bad.py tools/no_suffix
    expect 1 F821 tests/lint/python.sh
    ;;
  tidy)
    printf '%s\n' 'cmake_minimum_required(VERSION 3.25)' 'project(sample CXX)' \
      'add_library(sample packet/sample.cc packet/other.cc)' >CMakeLists.txt
    source_file packet/sample.cc 'int forty_two() { return 42; }'
    source_file packet/other.cc 'int forty_two() { return 42; }'
    expect 0 packet/other.cc tests/lint/tidy.sh --all
    git init -q . 2>/dev/null
    git -c core.safecrlf=false add packet
    git -c user.name=test -c user.email=test@localhost commit -q -m 'Add samples'
    source_file packet/sample.cc 'int FortyTwo() { return 42; }'
    expect 1 readability-identifier-naming tests/lint/tidy.sh
    expect 1 readability-identifier-naming tests/lint/tidy.sh --all packet
    ;;
  includes)
    (cd "$root" && find packet transport provider tools tests \( -name '*.h' -o -name '*.cc' -o -name '*.c' \) -print0 |
       xargs -0 cp --parents -t "$work")
    expect 0 '' tests/lint/check_includes .
    # Each line: a file, what it must not include, and the complaint.
    while read -r file header complaint; do
      mkdir -p "$(dirname "$file")"
      echo "#include $header" >>"$file"
      printf '%s\t%s\n' "$file" "$complaint" >>complaints
    done <<'END'
packet/base/bad.h "packet/wire/psn.h" packet/base may include only
packet/wire/bad.h "packet/engine/engine.h" packet/wire may include only
transport/device/bad.cc "packet/engine/engine.h" transport may include only packet/
transport/device/bad.cc <chrono> these system headers
packet/wire/bad.cc <sys/socket.h> these system headers
packet/engine/udp/bad.cc "packet/engine/raw/raw.h" packet/engine/udp may include only
packet/engine/memory/bad.cc "packet/engine/udp/udp.h" packet/engine/memory may include only
packet/engine/raw/bad.cc "packet/engine/shm/shm.h" packet/engine/raw may include only
packet/engine/shm/bad.h "packet/engine/raw/frame.h" packet/engine/shm may include only
packet/engine/frames/bad.h "packet/engine/udp/udp.h" packet/engine/frames may include only
packet/engine/dpdk/bad.cc "packet/engine/udp/udp.h" packet/engine/dpdk may include only
packet/engine/dpdk/bad.cc "packet/engine/dpdk/plugin/eal.h" only packet/engine/dpdk/plugin may include its headers
packet/engine/dpdk/link/bad.cc "packet/engine/dpdk/arguments.h" packet/engine/dpdk/link may include only
packet/engine/dpdk/link/bad.h <rte_mbuf.h> only packet/engine/dpdk/plugin may include DPDK
packet/engine/bad.cc "packet/engine/udp/udp.h" outside the engines
provider/runtime/bad.cc "packet/engine/raw/raw.h" outside the engines
tools/bad.cc "packet/engine/shm/shm.h" outside the engines
provider/presence/bad.c "packet/base/bytes.h" provider/presence may include only
provider/presence/bad.c <infiniband/verbs.h> these system headers
provider/verbs/bad.cc "tools/presentation.h" provider/verbs may include only
provider/cm/bad.cc "provider/verbs/qp.h" provider/cm may include only
tests/support/bad.cc "packet/wire/psn.h" tests/support may include only
tests/new_folder/bad.cc <vector> no rule of check_includes covers
END
    echo 'auto text = fmt::join(words, " ");' >>tools/joins.cc
    printf '%s\t%s\n' tools/joins.cc 'fmt::join without' >>complaints
    tests/lint/check_includes . >found 2>&1 && { echo "check_includes found nothing"; exit 1; }
    # The file is in the paragraph that the complaint begins.
    while IFS=$'\t' read -r file complaint; do
      awk -v RS= -v file="$file" -v complaint="$complaint" \
        'index($0, complaint) && index($0, "\n" file) { found = 1 } END { exit !found }' found ||
        { echo "not found: $complaint $file"; cat found; exit 1; }
    done <complaints
    ;;
  lengths)
    source_file packet/good.cc
    for _ in {2..320}; do echo '//'; done >>packet/good.cc
    expect 0 '' tests/lint/check_lengths .
    echo '//' >>packet/good.cc
    expect 1 packet/good.cc tests/lint/check_lengths .
    ;;
  names)
    touch packet/CMakeLists.txt
    printf '%s\n' 'namespace urxe {' 'inline constexpr int kSize = 1;' '}' >packet/good.h
    printf '%s\n' 'namespace urxe {' 'namespace {' 'constexpr int kOther = 1;' '}' '}' >packet/good.cc
    expect 0 '' tests/lint/check_names .
    printf '%s\n' 'namespace urxe::test {' 'namespace {' 'constexpr int kSize = 2;' '}' '}' >packet/bad.cc
    expect 1 'packet/bad.cc: kSize' tests/lint/check_names .
    echo 'urxe_compile_alone(bad.cc)' >packet/CMakeLists.txt
    expect 0 '' tests/lint/check_names .
    printf '%s\n' 'namespace urxe::test {' 'namespace {' 'constexpr int kOther = 2;' '}' '}' >packet/later.cc
    expect 1 'packet/later.cc: kOther' tests/lint/check_names .
    sed -i 's/urxe::test/urxe::test::later/' packet/later.cc
    expect 0 '' tests/lint/check_names .
    ;;
  portable)
    source_file packet/good.cc '#if defined(__x86_64__)' '__builtin_ia32_pause();' '#elif defined(__aarch64__)' 'asm volatile("yield");' \
      '#endif' '#if defined(SYS_poll)' 'syscall(SYS_poll);' '#endif' 'asm volatile("" ::: "memory");  // _mm_pause()' 'syscall(SYS_ppoll);' \
      '__asm__(".symver old_name,name@VERSION");'
    source_file tests/good.cc 'open("/usr/lib/x86_64-linux-gnu");'
    expect 0 '' tests/lint/check_portable .
    while read -r word line; do
      source_file packet/bad.cc "${line//\\n/$'\n'}"
      expect 1 "$word" tests/lint/check_portable .
    done <<'END'
packet/bad.cc:2: __builtin_ia32_pause();
_mm_pause _mm_pause();
immintrin.h int i; // a comment, and then \n#include <immintrin.h>
asm asm volatile("yield");
SYS_poll syscall(SYS_poll);
__NR_open syscall(__NR_open);
none #if defined(__x86_64__)\nint i;\n#endif
x86_64-linux-gnu open("/lib/x86_64-linux-gnu/libc.so.6");
END
    ;;
  counters)
    mkdir -p provider/devices
    printf '%s\n' 'inline constexpr auto kHardwareCounterNames = to_array({' '    "sent_pkts",' '    "drop_bad_icrc",  // why' '});' \
      >provider/devices/counter_names.h
    echo "\`sent_pkts\`, \`drop_bad_icrc\`" >provider/devices/README.md
    expect 0 '' tests/lint/check_counters .
    echo "\`sent_pkts_too\`, \`drop_bad_icrc\`" >provider/devices/README.md
    expect 1 'sent_pkts is not explained' tests/lint/check_counters .
    ;;
  links)
    mkdir build
    echo '[never read](nowhere.md)' >build/page.md
    cat >README.md <<'END'
# Top
## A `name`, twice
## A name twice
[one](packet/page.md#two-words) [two](#a-name-twice-1) [web](https://localhost/x) `[code](nowhere.md)`
```
[also code](nowhere.md)
```
| command | |
|---|---|
| `urxe run` | |
| `--shm`, `--no-shm` | |
END
    printf '%s\n' '# Two words' '[up](../README.md)' >packet/page.md
    cat >urxe <<'END'
#!/bin/sh
case $1 in
  run) printf '%s\n' '  -h,--help  Help' '  --shm,--no-shm{false}  As --other has it' ;;
  *) printf '%s\n' 'Subcommands:' '  run    Run a program' ;;
esac
END
    chmod +x urxe
    expect 0 '' tests/lint/check_links . ./urxe
    echo '[gone](nowhere.md)' >packet/page.md
    expect 1 'packet/page.md: nowhere.md: no such file' tests/lint/check_links .
    expect 1 'README.md: packet/page.md#two-words: no such heading' tests/lint/check_links .
    echo '# Two words' >packet/page.md
    sed -i 's/urxe run/urxe walk/; s/--no-shm/--now/' README.md
    for fault in '--now: not in --help' 'urxe walk: not in --help' 'no row of a table has --no-shm' \
      'no row of a table has urxe run'; do
      expect 1 "README.md: $fault" tests/lint/check_links . ./urxe
    done
    ;;
  labels)
    mkdir build
    echo 'add_test([=[sim.good]=] "true")
set_tests_properties([=[sim.good]=] PROPERTIES LABELS "sim")' >build/CTestTestfile.cmake
    expect 0 '' tests/lint/check_labels build
    cp build/CTestTestfile.cmake good
    echo 'add_test([=[sim.bad]=] "true")' >>build/CTestTestfile.cmake
    expect 1 'sim.bad: none of the labels' tests/lint/check_labels build
    echo 'set_tests_properties([=[sim.bad]=] PROPERTIES LABELS "sim;odd")' >>build/CTestTestfile.cmake
    expect 1 'sim.bad: unknown labels: odd' tests/lint/check_labels build
    cp good build/CTestTestfile.cmake
    echo 'add_test([=[bad]=] "true")
set_tests_properties([=[bad]=] PROPERTIES LABELS "sim")' >>build/CTestTestfile.cmake
    expect 1 'bad: a name without a prefix' tests/lint/check_labels build
    ;;
  imports)
    printf '%s\n' 'extern int other(void);' 'int call(void) { return other(); }' >sample.c
    cc -c sample.c && ar rc good.a sample.o
    expect 0 '' tests/lint/check_imports good.a
    printf '%s\n' '#include <time.h>' 'long call(void) { return time(0); }' >sample.c
    cc -c sample.c && ar rc bad.a sample.o
    expect 1 time tests/lint/check_imports good.a bad.a
    ;;
  *)
    echo "self_test.sh: no lint named $1" >&2
    exit 2
    ;;
esac

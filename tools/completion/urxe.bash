# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Completion of urxe's command line for bash.

_urxe_interfaces() {
  local path
  for path in /sys/class/net/*; do printf '%s\n' "${path##*/}"; done
}

# Devices as urxe names them, of which stat and top show queue pairs.
_urxe_device_names() {
  _urxe_interfaces | sed 's/^/urxe_/'
}

# Files, or folders with -d: names with blanks are quoted, and folders end with a slash.
_urxe_files() {
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen "$1" -- "$2")
}

# The word among those before the cursor at which the program begins, or 0.
_urxe_program_at() {
  local i
  for ((i = 2; i < COMP_CWORD; i++)); do
    case "${COMP_WORDS[i]}" in
      --) echo $((i + 1)); return ;;
      --device | --engine | --capture | --fault | --lanes | --dpdk-args | --nodes | --mtu | --loss | --delay | --rate | --topology)
        # Bash makes three words of --device=lo.
        if [ "${COMP_WORDS[i + 1]}" = "=" ]; then ((i += 2)); else ((i++)); fi
        # And several of loss=1% or of [fd00::1].
        while [ "${COMP_WORDS[i + 1]-}" = "=" ] || [ "${COMP_WORDS[i + 1]-}" = ":" ]; do ((i += 2)); done ;;
      -*) ;;
      *) echo "$i"; return ;;
    esac
  done
  echo 0
}

_urxe() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]-} at
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    mapfile -t COMPREPLY < <(compgen -W "run env devices doctor analyze stat top lab drill --help --version" -- "$word")
    return
  fi
  if [ "$command" = lab ] && [ "${COMP_WORDS[2]}" = exec ]; then
    at=3
    if [ "${COMP_WORDS[3]}" = --lab ] && [ "$COMP_CWORD" -gt 3 ]; then at=5; fi
    if [ "$COMP_CWORD" -eq "$at" ]; then
      mapfile -t COMPREPLY < <(compgen -W "${URXE_LAB//,/ } --lab" -- "$word")
    elif [ "$COMP_CWORD" -gt "$at" ]; then
      mapfile -t COMPREPLY < <(compgen -c -- "$word")
    fi
    return
  fi
  if [ "$command" = run ] || [ "$command" = lab ]; then
    at=$(_urxe_program_at)
    if [ "$at" -gt 0 ]; then
      if [ "$COMP_CWORD" -eq "$at" ]; then
        mapfile -t COMPREPLY < <(compgen -c -- "$word")
      else
        _urxe_files -f "$word"
      fi
      return
    fi
  fi
  if [ "$command" = analyze ]; then
    if [[ $word == -* ]]; then
      mapfile -t COMPREPLY < <(compgen -W "--json --html --help" -- "$word")
    else
      _urxe_files -f "$word"
    fi
    return
  fi
  if [ "$command" = drill ]; then
    if [ "$before" = --device ]; then
      mapfile -t COMPREPLY < <(compgen -W "$(_urxe_device_names)" -- "$word")
    elif [[ $word == -* ]]; then
      mapfile -t COMPREPLY < <(compgen -W "--verbose --json --peer --local --patience --agent --device --gid-index --listen --port --keep --help" -- "$word")
    else
      _urxe_files -f "$word"
    fi
    return
  fi
  case "$before" in
    --lanes) mapfile -t COMPREPLY < <(compgen -W "auto 1 2 3 4 5 6 7 8" -- "$word"); return ;;
    --engine) mapfile -t COMPREPLY < <(compgen -W "udp raw dpdk auto" -- "$word"); return ;;
    --capture | --topology) _urxe_files -f "$word"; return ;;
    --sysfs) _urxe_files -d "$word"; return ;;
    --program) mapfile -t COMPREPLY < <(compgen -c -- "$word"); return ;;
    --fault | --dpdk-args | --nodes | --mtu | --loss | --delay | --rate | --qp | --interval | --count) return ;;
    --by) mapfile -t COMPREPLY < <(compgen -W "process device" -- "$word"); return ;;
    --pid) mapfile -t COMPREPLY < <(compgen -W "$(ps -o pid= -u "$(id -u)")" -- "$word"); return ;;
    --device)
      if [ "$command" = stat ] || [ "$command" = top ]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_urxe_device_names)" -- "$word")
        return
      fi
      mapfile -t COMPREPLY < <(compgen -W "$(_urxe_interfaces | sed 's/.*/& urxe_&=&/')" -- "$word")
      return ;;
  esac
  local options="--device --engine --dpdk-args --help"
  case "$command" in
    run | env) options+=" --capture --fault --lanes --shm --no-shm --explain" ;;
    devices) options+=" --sysfs --interval" ;;
    doctor) options+=" --program --json" ;;
    top) options="--pid --device --all --interval --help" ;;
    stat) options="--pid --device --qp --all --interval --count --why --wide --cq --by --json --prometheus --help" ;;
    lab) options="--topology --nodes --mtu --loss --delay --rate --help" ;;
  esac
  if [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
  elif [ "$command" = run ]; then
    mapfile -t COMPREPLY < <(compgen -c -- "$word")
  elif [ "$command" = lab ]; then
    mapfile -t COMPREPLY < <(compgen -W exec -c -- "$word")
  elif [ "$command" = doctor ]; then
    mapfile -t COMPREPLY < <(compgen -A hostname -- "$word")
  fi
}

complete -F _urxe urxe

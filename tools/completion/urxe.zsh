#compdef urxe
# SPDX-License-Identifier: BSD-2-Clause
# Completion of urxe's command line for zsh.

_urxe() {
  local -a devices options
  devices=(
    '*--device[present an interface as a device]:[NAME=]IFACE:_urxe_devices'
    '--engine[how packets get to the network]:engine:(udp raw dpdk auto)'
    '--dpdk-args[arguments of DPDK and of its port]:arguments:'
    '--help[print help]'
  )
  options=(
    $devices
    '--capture[record the packets]:pcapng file:_files'
    '--fault[lose, duplicate, reorder or corrupt packets]:words:'
    '--lanes[threads that use a device at once]:lanes:(auto 1 2 3 4 5 6 7 8)'
    '(--no-shm)--shm[shared memory between programs of this host]'
    '(--shm)--no-shm[none]'
    '--explain[print why queue pairs failed]'
  )
  if (( CURRENT == 2 )); then
    _values 'command' 'run[run a program]' 'env[print the environment]' 'devices[list the devices]' \
      'doctor[look for what is in the way]' \
      'analyze[tell what happened in a capture]' 'stat[show the queue pairs of programs that run]' 'top[watch them]' 'lab[make several nodes on this machine]' \
      'drill[run packet scripts]'
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
    run) _arguments $options '*::program:_normal' ;;
    env) _arguments $options ;;
    devices) _arguments $devices '--sysfs[write the files in /sys to a folder]:folder:_files -/' '--interval[repeat]:seconds:' ;;
    doctor) _arguments $devices '--program[look into a program, too]:program:_command_names -e' '--json[print JSON]' \
      ':host:_hosts' ;;
    lab) _arguments '--topology[a file of nodes, switches and links]:file:_files' '--nodes[how many nodes]:number:' '--mtu[MTU of the links]:number:' \
      '--loss[packets that are lost]:P%:' '--delay[time that packets take]:time:' '--rate[bits a second]:rate:' '--help[print help]' '*::program:_normal' ;;
    top) _arguments '--pid[only this process]:pid:_pids' '--device[only this device]:device:_urxe_device_names' \
      '--all[those in other network namespaces, too]' '--interval[between two looks]:seconds:' '--help[print help]' ;;
    stat) _arguments '--pid[only this process]:pid:_pids' '--device[only this device]:device:_urxe_device_names' '--qp[only this queue pair]:number:' \
      '--all[those in other network namespaces, too]' '--interval[repeat]:seconds:' '--count[so many reports]:number:' \
      '--why[say why queue pairs failed]' '--wide[all columns]' '--cq[completion queues]' '--by[sums of queue pairs]:what:(process device)' \
      '--json[print JSON]' '--prometheus[print metrics]' '--help[print help]' ;;
    analyze) _arguments '--json[print JSON]' '--html[make a page for a browser]:new file:_files' '--help[print help]' ':capture:_files' ;;
    drill) _arguments '--verbose[name the scripts that pass, too]' '--json[print JSON]' '--help[print help]' \
      '--peer[run them on the wire]:agent:' '--local[send from]:address:' '--patience[wait so long]:milliseconds:' \
      '--agent[do the verbs]' '--device[the device]:device:_urxe_device_names' '--gid-index[the GID]:index:' \
      '--listen[the address to listen on]:address:' '--port[the port to listen on]:port:' '--keep[serve further clients]' \
      '*:script:_files' ;;
  esac
}

_urxe_devices() {
  local -a interfaces
  interfaces=(/sys/class/net/*(N:t))
  compadd -- $interfaces urxe_${^interfaces}=
}

_urxe_device_names() {
  local -a interfaces
  interfaces=(/sys/class/net/*(N:t))
  compadd -- urxe_${^interfaces}
}

_urxe "$@"

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Stock ibv_devices, ibv_devinfo and ibv_asyncwatch see urxe's devices; programs that use no RDMA see no change."""

import os
import re
import signal
import subprocess
import sys
import tempfile

import harness
from harness import Process


def run_under_urxe(*command, options=()):
    return Process(harness.urxe_run(list(command), options)).expect_success()


def devices():
    output = run_under_urxe("ibv_devices")
    rows = re.findall(r"^ +(\S+)\s+([0-9a-f]{16})$", output, re.M)
    harness.expect("urxe_lo" in dict(rows), f"no urxe_lo in:\n{output}")
    harness.expect(int(dict(rows)["urxe_lo"], 16) != 0, f"no node GUID in:\n{output}")


def devinfo():
    output = run_under_urxe("ibv_devinfo", "-v", "-d", "urxe_lo")
    values = dict(re.findall(r"^\s*(\S[^:\n]*):\s+(\S.*?)\s*$", output, re.M))
    number = lambda name: int(re.match(r"0x[0-9a-f]+|\d+", values[name])[0], 0)
    harness.expect(values["transport"].startswith("InfiniBand"), output)
    harness.expect(values["state"].startswith("PORT_ACTIVE"), output)
    harness.expect(values["link_layer"] == "Ethernet", output)
    harness.expect(number("vendor_id") not in (0, 0xFFFFFF), output)
    harness.expect(number("active_mtu") == 4096, output)
    harness.expect(number("max_sge") >= 32, output)
    harness.expect(number("max_msg_sz") >= 2**31, output)
    harness.expect(number("max_qp") > 0 and number("max_cq") > 0 and number("max_mr") > 0, output)
    harness.expect(number("num_comp_vectors") == os.sysconf("SC_NPROCESSORS_CONF"), output)
    harness.expect(not values["active_speed"].startswith("2.5"), output)
    harness.expect(re.search(r"^\s*PORT_ACTIVE_EVENT$", output, re.M), "the device tells when its port becomes active")
    harness.expect(number("port_cap_flags") == 0x04010000, f"a connection manager, and GIDs of IP addresses: {output}")
    gids = re.findall(r"GID\[\s*(\d+)\]:\s+(\S+?),? (RoCE v2)", output)
    harness.need_ipv6()
    harness.expect([gid for _, gid, _ in gids] == ["::ffff:127.0.0.1", "::1"], f"GIDs {gids} in:\n{output}")


def sysfs():
    base = "/sys/class/infiniband/urxe_lo"
    read = lambda path: run_under_urxe("cat", f"{base}/{path}").strip()
    harness.expect(read("ports/1/gid_attrs/types/0") == "RoCE v2", "the GID's type")
    harness.expect(read("ports/1/gid_attrs/ndevs/0") == "lo", "the GID's network device")
    harness.expect(read("ports/1/gids/0") == "0000:0000:0000:0000:0000:ffff:7f00:0001", "GID 0")
    harness.expect("urxe_lo" in run_under_urxe("ls", "/sys/class/infiniband").split(), "the directory")
    counters = run_under_urxe("ls", f"{base}/ports/1/counters").split()
    harness.expect("port_rcv_data" in counters, f"counters: {counters}")


def rename():
    output = run_under_urxe("ibv_devices", options=["--device", "mine=lo"])
    names = re.findall(r"^ +(\S+)\s+[0-9a-f]{16}$", output, re.M)
    harness.expect(names == ["mine"], f"names {names}")


def asyncwatch():
    # stdout is a file, so that what it prints stays in its buffer: what it has open shows that it waits.
    process = Process(harness.urxe_run(["stdbuf", "-o0", "ibv_asyncwatch", "-d", "urxe_lo"]))
    harness.wait_until(lambda: "Waiting" in process.output or "urxe_lo" in process.output or not process.running(),
                       "ibv_asyncwatch to start")
    if not process.running():
        process.show()
        harness.fail("ibv_asyncwatch ended")
    process.kill(signal.SIGTERM)
    harness.expect(process.wait() == -signal.SIGTERM, "ibv_asyncwatch did not end by the signal")


def without_runtime():
    """For programs that never load the provider: a sanitizer's run-time library is not of urxe."""
    env = harness.environment()
    env.pop("URXE_PRELOAD_FIRST", None)
    return env


def uninvolved():
    """Programs without RDMA print the same with and without urxe."""
    scripts = [
        # Without the times: the kernel does not keep those of sysfs.
        "ls -l --time-style=+ /sys/class/net",
        "echo one two | tr a-z A-Z | sort | wc -c",
        "stat -c '%n %s %F' /etc/passwd /dev/null /sys/class",
        "readlink -f /sys/class/net/lo; cat /sys/class/net/lo/mtu; ls /nonexistent; echo $?",
        "find /sys/class/net /etc/apt | sort",
        "python3 -c 'import os; print(sorted(os.listdir(\"/sys/class/net\")), os.stat(\"/dev/null\").st_rdev, "
        "open(\"/etc/passwd\").read())'",
    ]
    for script in scripts:
        plain = subprocess.run(["sh", "-c", script], capture_output=True, text=True)
        with_urxe = subprocess.run(harness.urxe_run(["sh", "-c", script]), capture_output=True, text=True,
                                   env=without_runtime())
        harness.expect(with_urxe.stdout == plain.stdout and with_urxe.stderr == plain.stderr,
                       f"{script}:\n{plain.stdout}{plain.stderr}\nbut under urxe:\n{with_urxe.stdout}{with_urxe.stderr}")


def order():
    """libibverbs has the devices in the order in which urxe lists them: many programs take the first."""
    if harness.shares_network():
        harness.skip("needs root, for interfaces")
    for number in (3, 1, 2):
        subprocess.run(["ip", "link", "add", f"v{number}", "type", "veth", "peer", "name", f"w{number}"], check=True)
        subprocess.run(["ip", "address", "add", f"10.9.{number}.1/24", "dev", f"v{number}"], check=True)
        for end in "vw":
            subprocess.run(["ip", "link", "set", f"{end}{number}", "up"], check=True)
    listed = subprocess.run([harness.binary("urxe"), "devices"], capture_output=True, text=True, check=True).stdout
    names = re.findall(r"^(urxe_\S+)", listed, re.M)
    seen = re.findall(r"^ +(\S+)\s+[0-9a-f]{16}$", run_under_urxe("ibv_devices"), re.M)
    harness.expect(len(names) >= 3 and seen == names, f"{seen} are not {names}")
    chosen = [word for name in reversed(names) for word in ("--device", name.removeprefix("urxe_"))]
    seen = re.findall(r"^ +(\S+)\s+[0-9a-f]{16}$", run_under_urxe("ibv_devices", options=chosen), re.M)
    harness.expect(seen == names[::-1], f"{seen} are not {names[::-1]}")


def other_user():
    """A program that has changed its user before it looks for devices is told why it sees none."""
    harness.need_programs("setpriv")
    if not harness.is_root():
        harness.skip("needs root, to change the user")
    changed = ["setpriv", f"--reuid={harness.NOBODY}", f"--regid={harness.NOBODY}", "--clear-groups"]
    done = subprocess.run(harness.urxe_run([*changed, "ibv_devices"]), capture_output=True, text=True, env=harness.environment())
    lines = [line for line in done.stderr.splitlines() if line.startswith("urxe: ")]
    harness.expect(len(lines) == 1 and "the devices belong to the user who started `urxe run`" in lines[0], done)
    gone = subprocess.run(harness.urxe_run(["env", "URXE_TREE=/nonexistent", "ibv_devices"]), capture_output=True, text=True,
                          env=harness.environment())
    lines = [line for line in gone.stderr.splitlines() if line.startswith("urxe: ")]
    harness.expect(len(lines) == 1 and "that describes the devices does not exist any more" in lines[0], gone)


def no_null_device():
    """A jail without /dev/null, which stands for the devices' nodes: programs see no device, and are told why."""
    harness.need_programs("unshare", "mount")
    if not harness.is_root():
        harness.skip("needs root, for mounts")
    script = 'mount -t tmpfs none /dev && mkdir /dev/shm && exec "$@"'
    done = subprocess.run(["unshare", "--mount", "sh", "-c", script, "sh", *harness.urxe_run(["ibv_devices"])],
                          capture_output=True, text=True, env=harness.environment())
    harness.expect("urxe_" not in done.stdout and "urxe: there is no /dev/null" in done.stderr, done)


def exit_codes():
    for code in (0, 7):
        process = Process(harness.urxe_run(["sh", "-c", f"exit {code}"]), env=without_runtime())
        harness.expect(process.wait() == code, "urxe run does not pass on the exit code")
    harness.expect(Process(harness.urxe_run(["/nonexistent"])).wait() == 127, "a program that is not there")


def printed_environment():
    """`urxe env` prints what `urxe run` sets, for a shell."""
    urxe = harness.binary("urxe")
    options = ["--no-shm", "--fault", "loss=1%", "--capture", os.path.join(tempfile.gettempdir(), "it's a file")]
    seen = subprocess.run([urxe, "run", *options, "env", "-0"], env=without_runtime(), check=True, capture_output=True)
    script = 'set -a; eval "$("$@")" && env -0'
    printed = subprocess.run(["sh", "-c", script, "sh", urxe, "env", *options], env=without_runtime(), check=True,
                             capture_output=True)
    variables = lambda text: {word for word in text.split(b"\0") if re.match(rb"URXE_|LD_PRELOAD|RDMAV", word)}
    harness.expect(variables(seen.stdout) == variables(printed.stdout),
                   f"{variables(seen.stdout)} are not {variables(printed.stdout)}")
    harness.expect(any(word.endswith(b"it's a file") for word in variables(printed.stdout)), "a quote got lost")
    wrong = subprocess.run([urxe, "env", "--engine", "nope"], env=without_runtime(), capture_output=True, check=False)
    harness.expect(wrong.returncode == 2 and not wrong.stdout, wrong)


CASES = {f.__name__: f for f in (devices, devinfo, sysfs, rename, asyncwatch, uninvolved, exit_codes, printed_environment,
                                 order, other_user, no_null_device)}


def test():
    harness.need_programs("ibv_devices", "ibv_devinfo", "ibv_asyncwatch", "stdbuf")
    harness.isolate()
    CASES[sys.argv[1]]()


harness.main(test)

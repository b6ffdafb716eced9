# SPDX-License-Identifier: BSD-2-Clause
"""What programs see under `urxe run`, asked from outside.

presence_test.py BUILD_DIRECTORY CLASS runs one class of tests; exit status 77 means that it needs root.
"""

import errno
import os
import re
import shutil
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import unittest

BUILD = "."
COUNTER_COLUMNS = 192

# libc's function; Python has its own, which follows links by name.
REALPATH = """
import ctypes
libc = ctypes.CDLL(None)
libc.realpath.restype = ctypes.c_char_p
def realpath(path):
    return libc.realpath(path.encode(), ctypes.create_string_buffer(4096)).decode()
"""


def urxe():
    return os.path.join(BUILD, "bin", "urxe")


def library(name):
    return os.path.join(BUILD, "lib", name)


def call(*command, **options):
    """Runs a command; text in and out."""
    options.setdefault("timeout", 60)
    return subprocess.run(command, capture_output=True, text=True, **options)


def run(*command, options=(), **others):
    """Runs a command under `urxe run` with those options."""
    return call(urxe(), "run", *options, "--", *command, **others)


# Only a `urxe` or a provider built with a sanitizer reads this. It may start behind a preloaded object,
# and the programs that it stays in are not ours to check for leaks. A child of fork(2) opens the devices anew, which
# starts threads.
SANITIZER = {"ASAN_OPTIONS": "verify_asan_link_order=0:detect_leaks=0", "TSAN_OPTIONS": "die_after_fork=0"}


def environment(**changes):
    return {**os.environ, **SANITIZER, **changes}


class Scratch(unittest.TestCase):
    """A test with a directory of its own."""

    def setUp(self):
        self.scratch = tempfile.mkdtemp(prefix="urxe-presence-")
        os.chmod(self.scratch, 0o755)
        self.addCleanup(shutil.rmtree, self.scratch)

    def output(self, *command, **options):
        """What the command prints under urxe; it must succeed."""
        result = run(*command, **options)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def write(self, path, text):
        path = os.path.join(self.scratch, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        return path


class RunTest(Scratch):
    """The command line, and that the program is the process."""

    def refused(self, *arguments, status=2):
        result = call(urxe(), *arguments)
        self.assertEqual(result.returncode, status, result.stderr)
        self.assertEqual(result.stdout, "")
        return result.stderr

    def test_arguments_refused(self):
        self.assertIn("no program given", self.refused("run"))
        self.assertIn("no program given", self.refused("run", "--"))
        self.assertIn("unknown option --bogus", self.refused("run", "--bogus", "true"))
        for words, what in ((("x=nope",), "there is no interface 'nope'"), (("a=",), "names no interface"),
                            (("x=lo", "x=lo"), "named twice"), (("a/b=lo",), "not a device name")):
            options = [word for device in words for word in ("--device", device)]
            self.assertIn(what, self.refused("run", *options, "true"))
            self.assertIn(what, self.refused("devices", *options))
        self.assertIn("there is no engine 'dpkd'", self.refused("run", "--engine", "dpkd", "true"))
        self.assertIn("no directory", self.refused("run", "--capture", "/no/such/file", "true"))

    def test_a_capture_file_of_another_kind_is_refused(self):
        """Not later, when the program connects a queue pair."""
        path = self.write("notes", "These are no packets.\n" * 100)
        self.assertIn("is not a capture made by urxe", self.refused("run", "--capture", path, "true"))
        with open(path) as file:
            self.assertTrue(file.read().startswith("These are no packets."))
        pipe = os.path.join(self.scratch, "pipe")
        os.mkfifo(pipe)
        for path in (pipe, "/dev/null"):
            self.assertIn("not a regular file", self.refused("run", "--capture", path, "true"))
        empty = self.write("empty", "")
        self.assertEqual(run("true", options=("--capture", empty)).returncode, 0)

    def test_exit_status_is_the_programs(self):
        self.assertEqual(run("sh", "-c", "exit 7").returncode, 7)
        self.assertEqual(run("sh", "-c", "kill -TERM $$").returncode, -signal.SIGTERM)

    def test_program_not_found_and_not_executable(self):
        result = run("no-such-program")
        self.assertEqual(result.returncode, 127)
        self.assertIn("cannot run 'no-such-program'", result.stderr)
        path = self.write("plain", "")
        self.assertEqual(run(path).returncode, 126)

    def test_dashes(self):
        self.assertEqual(call(urxe(), "run", "echo", "-n", "a", "--", "b").stdout, "a -- b")
        self.assertEqual(call(urxe(), "run", "--device", "x=lo", "echo", "--device").stdout,
                         "--device\n")
        self.assertEqual(run("echo", "--", "--capture").stdout, "-- --capture\n")

    def test_no_process_stays_between(self):
        with subprocess.Popen([urxe(), "run", "sh", "-c", "echo $$ $PPID"],
                              stdout=subprocess.PIPE, text=True) as process:
            pid, parent = process.stdout.read().split()
            self.assertEqual((int(pid), int(parent)), (process.pid, os.getpid()))

    def test_signals_reach_the_program(self):
        with subprocess.Popen([urxe(), "run", "sh", "-c",
                               "trap 'echo caught; exit 5' USR1; echo ready; while :; do sleep 0.01; done"],
                              stdout=subprocess.PIPE, text=True) as process:
            self.assertEqual(process.stdout.readline(), "ready\n")
            process.send_signal(signal.SIGUSR1)
            self.assertEqual(process.stdout.read(), "caught\n")
            self.assertEqual(process.wait(), 5)

    def test_no_descriptor_is_left_open(self):
        listing = ("sh", "-c", "ls /proc/$$/fd")
        self.assertEqual(self.output(*listing), call(*listing).stdout)

    def test_environment(self):
        lines = self.output("env", options=("--capture", "c.pcapng"), cwd=self.scratch,
                            env=environment(LD_PRELOAD="", RDMAV_DRIVERS="mine",
                                            URXE_PRELOAD_FIRST="")).splitlines()
        self.assertIn("LD_PRELOAD=" + library("liburxe-presence.so"), lines)
        self.assertIn(f"RDMAV_DRIVERS={library('liburxe')}:mine", lines)
        self.assertIn(f"URXE_CAPTURE={self.scratch}/c.pcapng", lines)

    def test_preload_keeps_others_and_order(self):
        other = library("libpresence_fake_netlink.so")
        lines = self.output("env", env=environment(LD_PRELOAD=other)).splitlines()
        self.assertIn(f"LD_PRELOAD={library('liburxe-presence.so')}:{other}", lines)
        lines = self.output("env", env=environment(URXE_PRELOAD_FIRST=other)).splitlines()
        self.assertIn(f"LD_PRELOAD={other}:{library('liburxe-unversioned.so')}:{library('liburxe-presence.so')}", lines)

    def test_drivers_of_the_other_variable_stay(self):
        plain = {k: v for k, v in os.environ.items() if k != "RDMAV_DRIVERS"}
        lines = self.output("env", env={**plain, "IBV_DRIVERS": "theirs"}).splitlines()
        self.assertIn(f"RDMAV_DRIVERS={library('liburxe')}:theirs", lines)

    def test_nested_run_presents_afresh(self):
        first = os.environ.get("URXE_TEST_PRELOAD_FIRST", "")
        names = self.output(urxe(), "run", "--device", "inner=lo", "--", "ls",
                            "/sys/class/infiniband", options=("--device", "outer=lo"),
                            env=environment(URXE_PRELOAD_FIRST=first))
        self.assertEqual(names, "inner\n")

    def test_missing_library(self):
        for made in ("built/lib", "installed/lib/urxe"):
            with self.subTest(made):
                libraries = os.path.join(self.scratch, made)
                programs = os.path.join(self.scratch, made.split("/", maxsplit=1)[0], "bin")
                os.makedirs(libraries)
                os.makedirs(programs)
                result = call(shutil.copy(urxe(), programs), "run", "true")
                self.assertEqual(result.returncode, 125)
                self.assertIn(f"cannot preload {libraries}/liburxe-presence.so", result.stderr)

    def test_directory_that_cannot_be_preloaded_from(self):
        place = self.scratch + "/my programs"
        for folder, name in (("bin", "urxe"), ("lib", "liburxe-presence.so")):
            os.makedirs(os.path.join(place, folder))
            shutil.copy(os.path.join(BUILD, folder, name), os.path.join(place, folder))
        result = call(place + "/bin/urxe", "run", "true")
        self.assertEqual(result.returncode, 125)
        self.assertIn("cannot be run from " + place, result.stderr)

    def test_devices_lists_what_run_presents(self):
        lines = [line for line in call(urxe(), "devices").stdout.splitlines()[1:] if not line.startswith("(")]
        listed = sorted(line.split()[0] for line in lines)
        self.assertEqual(listed, sorted(self.output("ls", "/sys/class/infiniband").split()))


class UntouchedTest(Scratch):
    """Programs that have nothing to do with RDMA behave as without urxe."""

    def same(self, *command, **options):
        plain = call(*command, **options)
        under = run(*command, **options)
        self.assertEqual((under.returncode, under.stdout, under.stderr),
                         (plain.returncode, plain.stdout, plain.stderr))
        return plain

    def test_every_call_on_other_paths(self):
        for probe in ("presence_call_probe", "presence_call_probe_fortified"):
            # Root may write to /sys/class/net/lo/mtu; nothing here does.
            result = self.same(os.path.join(BUILD, "bin", probe), self.scratch)
            self.assertEqual(result.returncode, 0)
            self.assertGreater(len(result.stdout.splitlines()), 500)

    def test_listings(self):
        # Without times: /sys/class/net changes with every network namespace that begins or ends.
        self.same("ls", "-l", "--time-style=+", "/sys/class/net")
        self.same("ls", "-la", "--time-style=+", "/sys/class", "/sys/devices")
        self.same("ls", "/dev", "/etc")
        self.same("ls", "-l", "/sys/class/nothing")
        self.same("find", "/sys/class/net/")
        self.same("stat", "-c", "%n %F %a %i %h", "/dev/null", "/sys/class", "/sys/class/net/lo")
        self.same("readlink", "-f", "/sys/class/net/lo")

    def test_pipeline(self):
        self.same("sh", "-c", "cat /etc/passwd | sort | wc -l; echo $?; ls /nowhere 2>&1")
        self.same("sh", "-c", "cd /sys/class/net && pwd -P && cat lo/mtu && echo x > lo/nothing")

    def test_python(self):
        self.same("/usr/bin/python3", "-c", """
import os
print(os.stat('/etc').st_ino, sorted(e.name for e in os.scandir('/etc')))
print(open('/etc/passwd').read(), os.path.realpath('/sys/class/net/lo'), os.access('/etc', os.W_OK))
print(os.path.exists('/sys/class/infiniband_nothing'), os.path.exists('/dev/infiniband_nothing'))
""")

    def test_needs_libc_only(self):
        headers = call("objdump", "-p", library("liburxe-presence.so")).stdout
        needed = [line.split()[1] for line in headers.splitlines() if "NEEDED" in line]
        self.assertTrue(all(name.startswith(("libc.so", "ld-linux")) for name in needed), needed)


def has_namespaces():
    """Root of a container may not make any."""
    return subprocess.run(["unshare", "--net", "true"], check=False, capture_output=True).returncode == 0


class ListingTest(Scratch):
    """/sys/class/infiniband and /dev/infiniband of our own devices."""

    owns_loopback = True  # where it may: the host's may have more addresses than these, or no IPv6

    def setUp(self):
        super().setUp()
        self.options = ("--device", "dev0=lo")
        addresses = call("ip", "-br", "address", "show", "dev", "lo").stdout.split()[2:]
        self.has_usual_addresses = addresses == ["127.0.0.1/8", "::1/128"]

    def shown(self, *command):
        return self.output(*command, options=self.options)

    def test_lo_alone_is_a_device_by_default(self):
        if not has_namespaces():
            self.skipTest("needs a network namespace")
        script = "ip link set lo up && exec " + urxe() + " run -- ls /sys/class/infiniband"
        self.assertIn("urxe_lo", call("unshare", "--net", "sh", "-c", script).stdout.split())
        self.assertEqual(self.output("ls", "/sys/class/infiniband", options=("--device", "lo")), "urxe_lo\n")

    def test_long_listings(self):
        lines = self.shown("ls", "-l", "/sys/class/infiniband/").splitlines()
        self.assertEqual(len(lines), 2)
        self.assertTrue(lines[1].endswith(
            " dev0 -> ../../devices/urxe/fe75:00:00.0/infiniband/dev0"), lines)
        lines = self.shown("ls", "-l", "/dev/infiniband").splitlines()
        for line, name in zip(lines[1:], ("rdma_cm", "umad0", "uverbs192"), strict=True):
            self.assertTrue(line.startswith("c") and " 1, 3 " in line, lines)
            self.assertTrue(line.endswith(" " + name), lines)

    def test_every_file_reads(self):
        if not self.has_usual_addresses:
            self.skipTest("needs lo with 127.0.0.1 and ::1, and no others")
        found = self.shown("find", "/sys/class/infiniband/dev0/", "/sys/class/infiniband/dev0/device/",
                           "-type", "f").splitlines()
        self.assertGreater(len(found), 150)
        # The attributes of a GID that is not there cannot be read.
        found = [path for path in found
                 if "/gid_attrs/" not in path or path.rsplit("/", 1)[1] in ("0", "1")]
        text = self.shown("cat", *found)
        self.assertGreater(len(text.splitlines()), 150)
        self.assertNotIn("@", text)

    def test_values(self):
        if not self.has_usual_addresses:
            self.skipTest("needs lo with 127.0.0.1 and ::1, and no others")
        base = "/sys/class/infiniband/dev0/"
        values = {
            "node_type": "1: CA", "ports/1/state": "4: ACTIVE", "ports/1/phys_state": "5: LinkUp",
            "ports/1/rate": "100 Gb/sec (4X EDR)", "ports/1/link_layer": "Ethernet",
            "ports/1/pkeys/0": "0xffff", "ports/1/cap_mask": "0x00010000", "ports/1/gid_attrs/types/0": "RoCE v2",
            "ports/1/gid_attrs/types/1": "RoCE v2", "ports/1/gid_attrs/ndevs/0": "lo",
            "ports/1/gids/0": "0000:0000:0000:0000:0000:ffff:7f00:0001",
            "ports/1/gids/1": "0000:0000:0000:0000:0000:0000:0000:0001",
            "device/numa_node": "-1", "device/vendor": "0x7865",
            "device/infiniband/dev0/node_type": "1: CA",
            "../../infiniband_verbs/uverbs192/ibdev": "dev0",
            "../../infiniband_verbs/uverbs192/dev": "1:3",
            "../../infiniband_verbs/abi_version": "6",
            "../../infiniband_mad/umad0/ibdev": "dev0", "../../infiniband_mad/umad0/port": "1",
            "../../infiniband_mad/abi_version": "5",
            "../../misc/rdma_cm/abi_version": "4", "../../misc/rdma_cm/dev": "1:3"}
        paths = [name.replace("../../", "/sys/class/") if name.startswith("..") else base + name
                 for name in values]
        self.assertEqual(self.shown("cat", *paths).splitlines(), list(values.values()))

    def test_an_empty_gid_entry_cannot_be_read(self):
        base = "/sys/class/infiniband/dev0/ports/1/"
        self.assertEqual(self.shown("cat", base + "gids/63"), "0000:" * 7 + "0000\n")
        code = f"""
import os
fd = os.open('{base}gid_attrs/types/63', os.O_RDONLY)
try:
    os.read(fd, 99)
except OSError as error:
    print(error.strerror)
os.chdir('{base}gid_attrs/ndevs')
try:
    open('63').read()
except OSError as error:
    print(error.strerror)
"""
        self.assertEqual(self.shown("/usr/bin/python3", "-c", code), "Invalid argument\n" * 2)

    def test_guid_is_stable(self):
        path = "/sys/class/infiniband/dev0/node_guid"
        self.assertEqual(self.shown("cat", path), self.shown("cat", path))

    def test_odd_spellings(self):
        for path in ("//sys//class//infiniband//dev0//node_type",
                     "/sys/./class/infiniband/./dev0/node_type",
                     "/sys/class/../class/infiniband/dev0/node_type",
                     "/sys/class/infiniband/../infiniband/dev0/node_type",
                     "/sys/class/infiniband/../infiniband_verbs/uverbs192/device/infiniband/dev0/node_type",
                     "/sys/class/infiniband/dev0/device/../fe75:00:00.0/infiniband/dev0/node_type",
                     "/dev/../sys/class/infiniband/dev0/node_type"):
            self.assertEqual(self.shown("cat", path), "1: CA\n", path)
        self.assertEqual(self.shown("cat", "/sys/class/infiniband/../net/lo/mtu"),
                         call("cat", "/sys/class/net/lo/mtu").stdout)

    def test_realpath(self):
        device = "/sys/devices/urxe/fe75:00:00.0"
        self.assertEqual(self.shown("realpath", "/sys/class/infiniband/dev0"),
                         device + "/infiniband/dev0\n")
        # As an application that looks for the NIC's PCI device does it.
        code = REALPATH + """
path = realpath('/sys/class/infiniband/dev0/../..')
print(path, open(path + '/numa_node').read().strip())
"""
        self.assertEqual(self.shown("/usr/bin/python3", "-c", code), device + " -1\n")

    def test_relative_names_in_a_directory(self):
        code = """
import os
fd = os.open('/sys/class/infiniband/dev0', os.O_RDONLY | os.O_DIRECTORY)
print(os.read(os.open('node_type', os.O_RDONLY, dir_fd=fd), 99))
print(sorted(os.listdir('/sys/class/infiniband/dev0/ports/1/gids'))[:2], os.readlink('/sys/class/infiniband/dev0'))
os.chdir('/sys/class/infiniband/dev0/ports')
print(open('1/state').read())
"""
        self.assertEqual(self.shown("/usr/bin/python3", "-c", code),
                         "b'1: CA\\n'\n['0', '1'] ../../devices/urxe/fe75:00:00.0/infiniband/dev0\n"
                         "4: ACTIVE\n\n")

    def test_counters_below_a_descriptor_that_only_names_a_directory(self):
        """The defect: they read "@0", the place of the value."""
        code = """
import os
port = os.open('/sys/class/infiniband/dev0/ports/1', os.O_PATH)
print(os.read(os.open('counters/port_xmit_data', os.O_RDONLY, dir_fd=port), 99))
below = os.open('counters', os.O_PATH, dir_fd=port)
print(os.read(os.open('port_xmit_data', os.O_RDONLY, dir_fd=below), 99))
os.fchdir(below)
print(open('port_xmit_data').read())
"""
        self.assertEqual(self.shown("/usr/bin/python3", "-c", code), "b'0\\n'\nb'0\\n'\n0\n\n")

    def test_a_child_of_vfork_goes_elsewhere(self):
        """It shares the memory of its parent, not its working directory."""
        code = """
import os, subprocess
os.chdir('/sys/class/infiniband/dev0/ports/1')
subprocess.run(['/bin/true'], cwd='/')
print(open('counters/port_xmit_packets').read())
"""
        self.assertEqual(self.shown("/usr/bin/python3", "-c", code), "0\n\n")

    def test_calls_of_programs_linked_with_glibc_before_2_33(self):
        self.shown(os.path.join(BUILD, "bin", "presence_status_probe"), "dev0")

    def test_openat2(self):
        """glibc's from 2.43 on. What limits how the path is resolved is not presented."""
        code = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def open_at(path, flags=0, resolve=0, directory=-100):
    how = (ctypes.c_uint64 * 3)(flags, 0, resolve)
    fd = libc.openat2(directory, path, how, ctypes.c_size_t(24))
    return os.read(fd, 99) if fd >= 0 else os.strerror(ctypes.get_errno())
print(open_at(b'/sys/class/infiniband/dev0/node_type'), open_at(b'/sys/class/infiniband/dev0/node_type', os.O_WRONLY))
print(open_at(b'node_type', directory=os.open('/sys/class/infiniband/dev0', os.O_DIRECTORY)))
print(open_at(b'/sys/class/infiniband/dev0/node_type', resolve=4))
"""
        self.assertEqual(self.shown("/usr/bin/python3", "-c", code),
                         "b'1: CA\\n' Permission denied\nb'1: CA\\n'\nNo such file or directory\n")

    def test_a_counter_without_a_descriptor(self):
        """The defect: the stream gave what the file of the tree holds, "@21"."""
        code = """
import ctypes, os, resource
libc = ctypes.CDLL(None, use_errno=True)
libc.fopen.restype = ctypes.c_void_p
os.chdir('/sys/class/infiniband/dev0/ports/1/hw_counters')
free = os.dup(0)
os.close(free)
resource.setrlimit(resource.RLIMIT_NOFILE, (free + 1, free + 1))
print(libc.fopen(b'sent_pkts', b'r'), os.strerror(ctypes.get_errno()))
"""
        self.assertEqual(self.shown("/usr/bin/python3", "-c", code), "None Too many open files\n")

    def test_missing_entries(self):
        for path in ("/sys/class/infiniband/none", "/sys/class/infiniband/dev0/none",
                     "/dev/infiniband/uverbs0", "/sys/class/infiniband_verbs/uverbs0"):
            result = run("cat", path, options=self.options)
            self.assertIn("No such file", result.stderr)

    def test_nothing_can_be_written(self):
        result = run("sh", "-c", "echo x > /sys/class/infiniband/dev0/node_desc",
                     options=self.options)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("ermission denied", result.stderr)
        self.assertEqual(self.shown("cat", "/sys/class/infiniband/dev0/node_desc"), "urxe lo\n")

    def test_ibv_devices(self):
        if not os.path.exists(library("liburxe-rdmav34.so")):
            self.skipTest("this build has no provider")
        first = os.environ.get("URXE_TEST_PRELOAD_FIRST", "")
        result = run("ibv_devices", options=self.options,
                     env=environment(URXE_PRELOAD_FIRST=first))
        self.assertEqual(result.stderr, "")
        guid = self.shown("cat", "/sys/class/infiniband/dev0/node_guid").strip().replace(":", "")
        self.assertEqual(result.stdout.splitlines()[2].split(), ["dev0", guid])


class CounterTest(Scratch):
    """Counter files show the sums of the table's columns."""

    def setUp(self):
        super().setUp()
        # A tree of its own: the device's name is part of what names the tree.
        self.device = f"counted{os.getpid()}"
        self.options = ("--device", f"{self.device}=lo")
        self.tree = self.output("sh", "-c", "echo $URXE_TREE", options=self.options).strip()
        self.addCleanup(shutil.rmtree, self.tree)
        self.port = f"/sys/class/infiniband/{self.device}/ports/1/"

    def add(self, row, column, value):
        with open(f"{self.tree}/devices/{self.device}.counters", "r+b") as table:
            table.seek((row * COUNTER_COLUMNS + column) * 8)
            table.write(struct.pack("=Q", value))

    def column(self, name):
        with open(self.tree + f"/sys/class/infiniband/{self.device}/ports/1/" + name,
                  encoding="ascii") as file:
            return int(file.read().split()[0][1:])

    def read(self, name):
        return self.output("cat", self.port + name, options=self.options)

    def test_sums_rows(self):
        self.assertEqual(self.read("counters/port_xmit_data"), "0\n")
        column = self.column("counters/port_xmit_data")
        self.add(0, column, 5)
        self.add(1, column + 1, 1000)
        self.add(511, column, 2**40)
        self.assertEqual(self.read("counters/port_xmit_data"), f"{2**40 + 5}\n")
        self.assertEqual(self.read("counters/port_rcv_data"), "1000\n")
        self.add(2, self.column("hw_counters/drop_bad_icrc"), 2**64 - 1)
        self.assertEqual(self.read("hw_counters/drop_bad_icrc"), f"{2**64 - 1}\n")

    def test_every_way_to_open(self):
        self.add(3, self.column("counters/port_rcv_packets"), 77)
        name = self.port + "counters/port_rcv_packets"
        directory = self.port + "counters"
        for command in (f"cat {name}", f"read x < {name}; echo $x", f"head -n1 {name}",
                        f"grep -rh 77 {directory}", f"cd {directory} && cat port_rcv_packets",
                        f"cd {directory}; read x < port_rcv_packets; echo $x"):
            self.assertEqual(self.output("sh", "-c", command, options=self.options), "77\n",
                             command)
        code = f"""
import ctypes, os
print(open({name!r}).read().strip(), os.pread(os.open({name!r}, os.O_RDONLY), 2, 0))
libc = ctypes.CDLL(None)
libc.fopen.restype = libc.freopen.restype = ctypes.c_void_p
line = ctypes.create_string_buffer(64)
for stream in (libc.fopen({name!r}.encode(), b'r'),
               libc.freopen({name!r}.encode(), b'r', ctypes.c_void_p(libc.fopen(b'/dev/null', b'r')))):
    libc.fgets(line, 64, ctypes.c_void_p(stream))
    print(line.value)
"""
        self.assertEqual(self.output("/usr/bin/python3", "-c", code, options=self.options),
                         "77 b'77'\nb'77\\n'\nb'77\\n'\n")

    def test_close_on_exec_is_as_asked(self):
        code = f"""
import fcntl, os
for flags in (0, os.O_CLOEXEC):
    fd = os.open({self.port + 'counters/port_rcv_packets'!r}, os.O_RDONLY | flags)
    print(os.get_inheritable(fd))
"""
        # Python itself always adds O_CLOEXEC; the shell's redirection does not.
        self.assertEqual(self.output("/usr/bin/python3", "-c", code, options=self.options),
                         "False\nFalse\n")
        self.assertEqual(self.output("sh", "-c", f"exec 5< {self.port}counters/port_rcv_packets; cat <&5",
                                     options=self.options), "0\n")

    def test_value_cannot_be_changed(self):
        code = f"""
import os
fd = os.open({self.port + 'counters/port_rcv_packets'!r}, os.O_RDONLY)
try:
    os.write(fd, b'9')
except OSError as error:
    print(error.errno)
"""
        self.assertEqual(self.output("/usr/bin/python3", "-c", code, options=self.options), f"{errno.EBADF}\n")

    def test_each_read_from_the_beginning_is_of_its_moment(self):
        """As perftest -W, which opens them once."""
        column = self.column("counters/port_rcv_packets")
        self.add(0, column, 98765)
        code = f"""
import os, struct
def count(value):
    with open('{self.tree}/devices/{self.device}.counters', 'r+b') as table:
        table.seek({column} * 8)
        table.write(struct.pack('=Q', value))
fd = os.open({self.port + 'counters/port_rcv_packets'!r}, os.O_RDONLY)
other = os.open({self.port + 'counters/port_xmit_packets'!r}, os.O_RDONLY)
count(100000)
print(os.read(fd, 3), os.lseek(fd, 0, os.SEEK_CUR))
count(222222)
print(os.read(fd, 99), os.read(fd, 99), os.pread(fd, 99, 3))
os.lseek(fd, 0, os.SEEK_SET)
print(os.read(fd, 99))
count(3)
print(os.pread(fd, 99, 0))
copy = os.dup(fd)
count(44)
print(os.pread(copy, 99, 0), os.pread(other, 99, 0))
os.dup2(os.open('/etc/passwd', os.O_RDONLY), fd)
print(os.pread(fd, 5, 0), os.read(fd, 5))
"""
        self.assertEqual(self.output("/usr/bin/python3", "-c", code, options=self.options), """b'100' 3
b'000\\n' b'' b'000\\n'
b'222222\\n'
b'3\\n'
b'44\\n' b'0\\n'
b'root:' b'root:'
""")


class RealDevicesTest(Scratch):
    """A machine with RDMA devices of its own, made up below a directory."""

    def setUp(self):
        super().setUp()
        self.write("sys/devices/pci/mlx5_0/node_type", "1: CA\n")
        self.control = self.write("sys/devices/pci/mlx5_0/tc", "0\n")
        self.write("sys/devices/pci/uverbs0/ibdev", "mlx5_0\n")
        self.write("sys/devices/pci/uverbs192/ibdev", "mlx5_0\n")
        self.write("sys/class/infiniband_verbs/abi_version", "5\n")
        self.write("sys/class/infiniband_mad/umad0/ibdev", "mlx5_0\n")
        self.write("dev/infiniband/uverbs0", "real node\n")
        self.write("dev/infiniband/umad0", "real umad\n")
        self.write("dev/infiniband/rdma_cm", "real cm\n")
        os.makedirs(self.scratch + "/sys/class/infiniband")
        os.symlink("../../devices/pci/mlx5_0", self.scratch + "/sys/class/infiniband/mlx5_0")
        for number in (0, 192):
            os.symlink(f"../../devices/pci/uverbs{number}",
                       f"{self.scratch}/sys/class/infiniband_verbs/uverbs{number}")
        self.environment = environment(URXE_REAL_ROOT=self.scratch)

    def shown(self, *command, options=("--device", "dev0=lo")):
        return self.output(*command, options=options, env=self.environment)

    def test_listed_beside_ours(self):
        self.assertEqual(self.shown("ls", "/sys/class/infiniband").split(), ["dev0", "mlx5_0"])
        self.assertEqual(self.shown("ls", "/sys/class/infiniband_verbs").split(),
                         ["abi_version", "uverbs0", "uverbs192", "uverbs193"])
        self.assertEqual(self.shown("ls", "/dev/infiniband").split(),
                         ["rdma_cm", "umad0", "umad1", "uverbs0", "uverbs193"])
        self.assertEqual(self.shown("ls", "/sys/class/infiniband_mad").split(), ["abi_version", "umad0", "umad1"])

    def test_real_entries_are_themselves(self):
        self.assertEqual(self.shown("cat", "/sys/class/infiniband/mlx5_0/node_type",
                                    "/sys/class/infiniband_verbs/uverbs0/ibdev",
                                    "/sys/class/infiniband_verbs/abi_version",
                                    "/dev/infiniband/uverbs0", "/sys/class/infiniband_mad/umad0/ibdev",
                                    "/dev/infiniband/umad0"),
                         "1: CA\nmlx5_0\n5\nreal node\nmlx5_0\nreal umad\n")
        self.assertEqual(self.shown("readlink", "/sys/class/infiniband/mlx5_0"),
                         "../../devices/pci/mlx5_0\n")
        code = REALPATH + "print(realpath('/sys/class/infiniband/mlx5_0'))"
        self.assertEqual(self.shown("/usr/bin/python3", "-c", code),
                         self.scratch + "/sys/devices/pci/mlx5_0\n")

    def test_real_entries_can_be_written(self):
        self.shown("sh", "-c", "echo 106 > /sys/class/infiniband/mlx5_0/tc")
        with open(self.control, encoding="ascii") as file:
            self.assertEqual(file.read(), "106\n")

    def test_names_do_not_collide(self):
        result = run("true", options=("--device", "mlx5_0=lo"), env=self.environment)
        self.assertEqual(result.returncode, 2)
        self.assertIn("there is a real device 'mlx5_0'", result.stderr)
        ours = next(name for name in self.shown("ls", "/sys/class/infiniband", options=()).split() if name != "mlx5_0")
        os.symlink("../../devices/pci/mlx5_0", self.scratch + "/sys/class/infiniband/" + ours)
        names = self.shown("ls", "/sys/class/infiniband", options=()).split()
        with open(f"/sys/class/net/{ours.removeprefix('urxe_')}/ifindex", encoding="ascii") as file:
            self.assertIn(f"{ours}_{file.read().strip()}", names)


class NodeTest(Scratch):
    """Device nodes and the hook for writes."""

    def test_node(self):
        probe = os.path.join(BUILD, "bin", "presence_node_probe")
        self.output(probe, "/dev/infiniband/uverbs192", options=("--device", "dev0=lo"))

    def test_numbers_beyond_those_tracked(self):
        """Descriptors of 65536 and more."""
        probe = os.path.join(BUILD, "bin", "presence_descriptor_probe")
        device = f"high{os.getpid()}"  # so that nobody else counts in this tree
        options = ("--device", f"{device}=lo")
        self.addCleanup(shutil.rmtree, self.output("sh", "-c", "echo $URXE_TREE", options=options).strip())
        result = run(probe, device, options=options)
        if result.returncode == 77:
            self.skipTest("needs CAP_SYS_RESOURCE, or a limit of 65636 open files")
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_presence_without_a_tree(self):
        result = call("cat", "/sys/class/infiniband/dev0/node_type",
                      env=environment(LD_PRELOAD=library("liburxe-presence.so")))
        self.assertIn("No such file", result.stderr)


class ConnectionManagerTest(Scratch):
    """The connection manager's node, and the hooks of a provider's that stand behind it."""

    def test_node(self):
        probe = os.path.join(BUILD, "bin", "presence_cm_probe")
        first = os.environ.get("URXE_TEST_PRELOAD_FIRST", "")
        self.output(probe, options=("--device", "dev0=lo"), env=environment(URXE_PRELOAD_FIRST=first))

    def test_channels(self):
        command = [os.path.join(BUILD, "bin", "presence_channel_probe")]
        first = os.environ.get("URXE_TEST_PRELOAD_FIRST", "")
        if "libasan" in first:
            # AddressSanitizer does not see that pthread_cancel(3) unwinds a stack: it keeps its marks on the frames
            # that are gone, and takes a later use of that memory for an overflow.
            command.append("without-cancellation")
        self.output(*command, options=("--device", "dev0=lo"), env=environment(URXE_PRELOAD_FIRST=first))


class NetlinkTest(Scratch):
    """libibverbs must not find devices by RDMA netlink, where it would not see ours; others keep the kernel's."""

    def probe(self, caller, through_urxe):
        command = (os.path.join(BUILD, "bin", "presence_netlink_probe"), library(caller))
        kernel = environment(LD_PRELOAD=library("libpresence_fake_netlink.so"))
        return (run if through_urxe else call)(*command, env=kernel).stdout.splitlines()

    def test_verbs_libraries_get_answers_of_urxe(self):
        self.assertEqual(self.probe("libibverbs_caller.so", False)[0], "open")
        copy_on_fork = 93  # RDMA_NLDEV_SYS_ATTR_COPY_ON_FORK
        answers = ["devices: Operation not supported", f"property {copy_on_fork}: 1"]
        self.assertEqual(self.probe("libibverbs_caller.so", True), ["open", *answers, *answers])
        self.assertEqual(self.probe("libother_caller.so", True), ["open"])


class MemoryTest(Scratch):
    """Whoever asks is told of memory that goes, before it goes; nobody else notices."""

    def test_each_way_is_told(self):
        told = self.output(os.path.join(BUILD, "bin", "presence_memory_probe")).splitlines()
        self.assertEqual(told, [
            "first",
            "munmap: gone +65536 65536 .",
            "munmap badly:",
            "mprotect: uncertain +0 65536 .",
            "mprotect to all:",
            "mmap over: gone +0 65536 .",
            "mmap64 over: gone +0 65536 .",
            "mmap elsewhere:",
            "mremap smaller: gone +65536 458752 .",
            "mremap smaller, might move: gone +0 65536 gone +65536 458752 . in vain.",
            "mremap to what it is, might move: gone +0 65536 in vain.",
            "mremap over: gone +0 65536 gone -1 131072 . .",
            "mremap of a copy: gone +0 65536 .",
            "mmap of no file: gone +0 65536 in vain.",
            "mmap at no page:",
            "mremap to too much: gone +0 65536 in vain.",
            "mmap of no file over nothing: gone +0 65536 .",
            "shmdt of no segment: gone +0 whole in vain.",
            "remap_file_pages of no file: gone +0 65536 in vain.",
            "shmat over: gone +65536 65536 .",
            "shmat elsewhere:",
            "remap_file_pages: gone +65536 65536 .",
            "shmdt: gone +0 whole .",
            "sbrk up:",
            "sbrk down: gone +65536 65536 .",
            "brk down: gone +0 65536 .",
            "brk below the heap: in vain",
            "malloc and free: there +0 1 uncertain +0 1 .",
            "malloc and free of a mapping: there +0 1 gone +0 1 .",
            "free nothing:",
            "realloc: uncertain +0 1 same +0 2 .",
            "realloc to less: uncertain +0 1 same +0 2 .",
            "realloc of a mapping to less: gone +0 1 same +0 2 .",
            "posix_memalign: there +0 1",
            "dlclose: moment unloaded 7",
            *(f"{name}: default another object, next another object"
              for name in ("munmap", "mremap", "mmap", "mmap64", "shmat", "shmdt", "brk", "sbrk", "madvise")),
        ])

    def test_call_before_libc_is_ready(self):
        self.output(os.path.join(BUILD, "bin", "presence_early_probe"), "/sys/class/infiniband/dev0/node_guid",
                    options=("--device", "dev0=lo"))

    def test_allocators_still_work(self):
        self.assertEqual(self.output("/usr/bin/python3", "-c", """
import ctypes, mmap, threading
def work():
    for i in range(200):
        blocks = [bytearray(n) for n in (10, 1000, 100000, 1000000)]
        with mmap.mmap(-1, 1 << 20) as m:
            m[0] = 1
threads = [threading.Thread(target=work) for _ in range(4)]
for t in threads: t.start()
for t in threads: t.join()
print('done')
"""), "done\n")


class RuntimeDirectoryTest(Scratch):
    """Where the tree lies, and who may have made that directory."""

    def tree(self, **changes):
        return self.output("sh", "-c", "echo $URXE_TREE", env=environment(**changes)).strip()

    def test_below_xdg_runtime_dir(self):
        tree = self.tree(XDG_RUNTIME_DIR=self.scratch)
        self.assertTrue(tree.startswith(self.scratch + "/urxe/"), tree)
        self.assertEqual(stat.S_IMODE(os.stat(self.scratch + "/urxe").st_mode), 0o700)

    def test_below_a_symbolic_link(self):
        os.mkdir(self.scratch + "/real")
        os.symlink("real", self.scratch + "/link")
        changes = environment(XDG_RUNTIME_DIR=self.scratch + "/link")
        read = "cd /sys/class/infiniband/dev0/ports/1/counters; cat port_xmit_packets"
        self.assertEqual(self.output("sh", "-c", read, options=("--device", "dev0=lo"), env=changes), "0\n")

    def test_the_same_tree_again(self):
        self.assertEqual(self.tree(XDG_RUNTIME_DIR=self.scratch),
                         self.tree(XDG_RUNTIME_DIR=self.scratch))

    def test_a_link_or_an_open_directory_is_not_used(self):
        os.mkdir(self.scratch + "/elsewhere", 0o700)
        os.symlink("elsewhere", self.scratch + "/urxe")
        self.assertFalse(self.tree(XDG_RUNTIME_DIR=self.scratch).startswith(self.scratch))
        self.assertEqual(os.listdir(self.scratch + "/elsewhere"), [])
        os.unlink(self.scratch + "/urxe")
        os.mkdir(self.scratch + "/urxe")
        os.chmod(self.scratch + "/urxe", 0o777)
        self.assertFalse(self.tree(XDG_RUNTIME_DIR=self.scratch).startswith(self.scratch))

    def test_many_at_once(self):
        command = [urxe(), "run", "--device", "dev0=lo", "cat",
                   "/sys/class/infiniband/dev0/node_type"]
        processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True,
                                      env=environment(XDG_RUNTIME_DIR=self.scratch))
                     for _ in range(16)]
        self.assertEqual({process.communicate()[0] for process in processes}, {"1: CA\n"})
        self.assertEqual(len(os.listdir(self.scratch + "/urxe")), 1)


class NamespaceTest(Scratch):
    """The GID tables of both ends of a veth pair, in network namespaces of the test's own."""

    needs_root = True
    needs_namespaces = True

    def setUp(self):
        super().setUp()
        self.names = [f"urxe-presence-{os.getpid()}-{side}" for side in "ab"]
        for name in self.names:
            subprocess.run(["ip", "netns", "add", name], check=True)
            self.addCleanup(subprocess.run, ["ip", "netns", "del", name], check=False)
        a, b = self.names
        subprocess.run(["ip", "-n", a, "link", "add", "v0", "type", "veth", "peer", "name", "v1",
                        "netns", b], check=True)

    def inside(self, name, *command):
        return subprocess.run(["ip", "netns", "exec", name, *command], check=True,
                              capture_output=True, text=True, timeout=60).stdout

    def gids(self, name, device):
        text = self.inside(name, urxe(), "run", "sh", "-c",
                           f"cd /sys/class/infiniband/{device}/ports/1/gids && cat $(ls | sort -n)")
        gids = [bytes.fromhex(line.replace(":", "")) for line in text.split()]
        return [gid for gid in gids if any(gid)]

    def test_gid_order(self):
        for name, interface, host in zip(self.names, ("v0", "v1"), (1, 2)):
            for address in (f"2001:db8::{host}/64", f"192.0.2.{host}/24", f"198.51.100.{host}/24"):
                nodad = ["nodad"] if ":" in address else []
                self.inside(name, "ip", "addr", "add", address, "dev", interface, *nodad)
            self.inside(name, "ip", "addr", "add", f"fe80::{host}/64", "dev", interface, "nodad")
            self.inside(name, "ip", "link", "set", interface, "addrgenmode", "none")
            self.inside(name, "ip", "link", "set", interface, "up")
        for name, device, host in zip(self.names, ("urxe_v0", "urxe_v1"), (1, 2)):
            mapped = bytes(10) + b"\xff\xff"
            self.assertEqual(self.gids(name, device), [
                bytes.fromhex("fe80") + bytes(13) + bytes([host]),
                mapped + bytes([192, 0, 2, host]),
                mapped + bytes([198, 51, 100, host]),
                bytes.fromhex("20010db8") + bytes(11) + bytes([host])])
            self.assertEqual(self.inside(name, urxe(), "run", "ls", "/sys/class/infiniband"),
                             device + "\n")  # lo is down here

    def test_ipv4_comes_first_without_a_link_local_address(self):
        name = self.names[0]
        self.inside(name, "ip", "link", "set", "v0", "addrgenmode", "none")
        self.inside(name, "ip", "addr", "add", "2001:db8::1/64", "dev", "v0", "nodad")
        self.inside(name, "ip", "addr", "add", "192.0.2.1/24", "dev", "v0")
        self.inside(name, "ip", "link", "set", "v0", "up")
        self.assertEqual([gid[-1] for gid in self.gids(name, "urxe_v0")], [1, 1])
        self.assertEqual(self.gids(name, "urxe_v0")[0][:12], bytes(10) + b"\xff\xff")

    def test_tentative_addresses_are_left_out(self):
        name = self.names[0]
        self.inside(name, "ip", "link", "set", "v0", "addrgenmode", "none")
        self.inside(name, "ip", "addr", "add", "192.0.2.1/24", "dev", "v0")
        # The peer is down: detection of duplicates cannot end.
        self.inside(name, "ip", "addr", "add", "2001:db8::1/64", "dev", "v0")
        self.inside(name, "ip", "link", "set", "v0", "up")
        self.assertIn("tentative", self.inside(name, "ip", "-6", "addr", "show", "dev", "v0"))
        self.assertEqual(len(self.gids(name, "urxe_v0")), 1)

    def test_a_tentative_link_local_address_has_its_place(self):
        name = self.names[0]
        self.inside(name, "ip", "link", "set", "v0", "addrgenmode", "none")
        self.inside(name, "ip", "addr", "add", "192.0.2.1/24", "dev", "v0")
        self.inside(name, "ip", "addr", "add", "fe80::1/64", "dev", "v0")
        self.inside(name, "ip", "link", "set", "v0", "up")
        self.assertIn("tentative", self.inside(name, "ip", "-6", "addr", "show", "dev", "v0"))
        self.assertEqual([gid[:2] for gid in self.gids(name, "urxe_v0")],
                         [bytes.fromhex("fe80"), bytes(2)])

    def test_no_interface_is_up(self):
        result = subprocess.run(["ip", "netns", "exec", self.names[0], urxe(), "run", "ls",
                                 "/sys/class/infiniband"], capture_output=True, text=True,
                                check=False, timeout=60)
        self.assertEqual((result.returncode, result.stdout), (0, ""))
        self.assertIn("no devices", result.stderr)


class UnprivilegedTest(Scratch):
    """An ordinary user: other than root."""

    needs_root = True

    def test_ordinary_user(self):
        # The build directory may lie where that user cannot go.
        for folder, wanted in (("bin", r"urxe$|presence_node_probe$"), ("lib", r"liburxe-(presence|unversioned|rdmav\d+)\.so$")):
            os.makedirs(os.path.join(self.scratch, folder))
            for name in filter(re.compile(wanted).match, os.listdir(os.path.join(BUILD, folder))):
                shutil.copy(os.path.join(BUILD, folder, name), os.path.join(self.scratch, folder), follow_symlinks=False)
        drop = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "env", "-u",
                "XDG_RUNTIME_DIR", "-C", "/"]
        theirs = self.write("theirs", "")
        os.chmod(theirs, 0o666)
        refused = call(*drop, self.scratch + "/bin/urxe", "run", "--capture", theirs, "true")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("belongs to another user", refused.stderr)
        run_it = [*drop, self.scratch + "/bin/urxe", "run", "--device", "dev0=lo", "--"]
        result = call(*run_it, "sh", "-c",
                      "id -u; cat /sys/class/infiniband/dev0/ports/1/counters/port_xmit_data; "
                      "stat -c '%a %u' $URXE_TREE/..; ls /dev/infiniband")
        self.assertEqual((result.stdout.split(), result.stderr),
                         (["65534", "0", "700", "65534", "rdma_cm", "umad0", "uverbs192"], ""))
        refused = call(*drop, self.scratch + "/bin/urxe", "run", "--capture", "/root.pcapng", "true")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("cannot write /root.pcapng", refused.stderr)
        result = call(*run_it, self.scratch + "/bin/presence_node_probe",
                      "/dev/infiniband/uverbs192")
        self.assertEqual((result.returncode, result.stderr), (0, ""))


def main():
    global BUILD
    BUILD = os.path.realpath(sys.argv[1])
    suite = globals()[sys.argv[2]]
    if getattr(suite, "owns_loopback", False) and "URXE_OWN_LOOPBACK" not in os.environ and has_namespaces():
        os.environ["URXE_OWN_LOOPBACK"] = "1"
        script = 'ip link set lo up && exec "$@"'
        os.execvp("unshare", ["unshare", "--net", "sh", "-c", script, "sh", sys.executable, "-B", *sys.argv])
    if getattr(suite, "needs_root", False) and os.geteuid() != 0:
        print(f"skipped: {sys.argv[2]} needs root ({suite.__doc__})")
        return 77
    if getattr(suite, "needs_namespaces", False) and not has_namespaces():
        print(f"skipped: {sys.argv[2]} needs network namespaces ({suite.__doc__})")
        return 77
    tests = unittest.defaultTestLoader.loadTestsFromTestCase(suite)
    return 0 if unittest.TextTestRunner(verbosity=2).run(tests).wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())

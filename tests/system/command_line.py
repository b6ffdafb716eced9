#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""command_line.py CASE: what all commands of urxe do alike."""

import json
import os
import subprocess
import sys
import tempfile

import harness
import terminal


def run(*words, **more):
    return subprocess.run([harness.binary("urxe"), *words], text=True, timeout=harness.PATIENCE,
                          **{"env": harness.environment(), "stderr": subprocess.PIPE} | more)


def unknown_command():
    done = run("dokter", "--json", stdout=subprocess.PIPE)
    harness.expect(done.returncode == 2 and "no command 'dokter'" in done.stderr and not done.stdout, done)


PRINTING = (["--help"], ["--version"], ["run", "--help"], ["devices"], ["env"], ["doctor"], ["doctor", "--json"])


def lost_output():
    """Who asks for output and gets none learns it by the exit status, and why on stderr."""
    harness.isolate()
    samples = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "pcap_samples")
    capture = os.path.join(samples, "loss_request.pcap")
    script = os.path.join(samples, "..", "tests", "drill", "responder", "credits.drill")
    for words in (*PRINTING, ["analyze", capture], ["analyze", "--json", capture], ["drill", script]):
        harness.expect(run(*words, stdout=subprocess.DEVNULL).returncode in (0, 1), f"{words} fail anyway")
        with open("/dev/full", "w", encoding="ascii") as full:
            done = run(*words, stdout=full)
        harness.expect(done.returncode == 125 and "cannot write" in done.stderr, f"{words}: {done}")


def unknown_switches():
    """A switch that is neither on nor off is said once, and counts as not set."""
    harness.isolate()
    for name in ("URXE_SHM", "URXE_STAT", "URXE_EXPLAIN"):
        for command in (["run", "--device", "lo", "--", "printenv", name], ["env", "--device", "lo"]):
            done = run(*command, env=harness.environment() | {name: "yes"}, stdout=subprocess.PIPE)
            harness.expect(f"{name}=" not in done.stdout and "yes" not in done.stdout, f"{command} {done}")
            harness.expect(done.stderr == f"urxe: {name} is ignored: 'yes': accepted are 0 and 1\n", f"{command} {done}")
            for value in "01":
                done = run(*command, env=harness.environment() | {name: value}, stdout=subprocess.PIPE)
                said = f"{value}\n" if command[0] == "run" else f"{name}={value}\n"
                harness.expect(not done.stderr and said in done.stdout, f"{command} {done}")


# What is wrong on a command line, and words of the message. None has the words of a parser of command lines.
WRONG = {
    ("stat", "--pid", "abc"): "urxe stat: --pid abc: must be the number of a process",
    ("stat", "--count", "-3", "--interval", "1"): "urxe stat: --count -3: must be a whole number, 0 or more",
    ("top", "--interval", "x"): "urxe top: --interval x: must be a number of seconds",
    ("lab", "--nodes", "x"): "urxe lab: --nodes x: must be a whole number",
    ("lab", "exec", "--lab", "x", "node1", "true"): "urxe lab exec: --lab x: must be the number of a process",
    ("lab", "exec", "--lab", "0", "node1", "true"): "urxe lab exec: --lab: 0 is no process",
    ("drill", "--agent", "--port", "99999"): "urxe drill: --port 99999: must be a port number, 0 to 65535",
    ("drill", "--peer", "h", "--patience", "0", "f"): "urxe drill: --patience: Value 0 not in range",
    ("stat", "--pid"): "urxe stat: --pid needs a value: PID",
    ("analyze", "--json=3", "f"): "urxe analyze: --json takes no value",
    ("doctor", "--json=5"): "urxe doctor: --json takes no value",
    ("drill", "--verbose=3", "f"): "urxe drill: --verbose takes no value",
    ("stat", "--device", ""): "urxe stat: --device is empty: give a value, or leave the option out",
    ("stat", "--pid", ""): "urxe stat: --pid is empty",
    ("lab", "--nodes", "", "--", "true"): "urxe lab: --nodes is empty",
    ("run", "--engine", "", "--", "true"): "urxe run: --engine is empty",
    ("doctor", "--program", ""): "urxe doctor: --program is empty",
    ("drill", "--peer", "", "f"): "urxe drill: --peer is empty",
    ("lab", "exec"): "urxe lab exec: NODE is required",
    ("stat", "some"): "urxe stat: not expected: some",
    ("devices", "--capture", "x"): "urxe devices: not expected: --capture x",
    ("analyze", "--nonsense"): "urxe analyze: not expected: --nonsense",
    ("analyze",): "urxe analyze: FILE is required",
    ("stat", "--", "some"): "urxe stat: not expected: some",
    ("devices", "--", "--json"): "urxe devices: not expected: --json",
    ("stat", "--pid", "1", "--pid", "2"): "urxe stat: --pid is given more than once",
    ("--no-such",): "urxe: there is no option '--no-such'",
    (): "urxe: no command given",
}


def wrong_words():
    """The message names the command, what is wrong, and what would be right."""
    harness.isolate()
    for words, message in WRONG.items():
        done = run(*words, stdout=subprocess.PIPE)
        said = f"{words}: {done}"
        harness.expect(done.returncode == 2 and done.stderr.startswith(message) and not done.stdout, said)
        harness.expect("--help` " in done.stderr and "convert" not in done.stderr, said)


def origin_of_engine():
    """Each command says that a wrong engine is the environment's."""
    harness.isolate()
    for command in (["run", "--", "true"], ["env"], ["devices"], ["doctor"]):
        done = run(*command, env=harness.environment() | {"URXE_ENGINE": "foo"}, stdout=subprocess.PIPE)
        harness.expect(done.returncode == 2 and f"urxe {command[0]}: URXE_ENGINE: " in done.stderr, done)


def long_path():
    """The reason is told whatever the length of the file's name."""
    harness.isolate()
    for length in (10, 240, 300):
        name = "/tmp/" + "/".join(["n" * 100] * (length // 100) + ["n" * (length % 100 or 1)])
        done = run("analyze", name, stdout=subprocess.PIPE)
        harness.expect(done.returncode == 2 and f"{name}: No such file or directory" in done.stderr, done)


def operands():
    """What follows "--" is an operand, though it may begin with "-"."""
    harness.isolate()
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "pcap_samples", "loss_request.pcap"),
                   os.path.join(folder, "-x"))
        done = run("analyze", "--", "-x", cwd=folder, stdout=subprocess.PIPE)
    harness.expect(done.returncode in (0, 1) and "frames in" in done.stdout and not done.stderr, done)


def programs_own_words():
    """Words behind the program are its own, and so are other objects and drivers in the environment."""
    harness.isolate()
    for words in (["echo"], ["--no-shm", "echo"], ["--lanes", "2", "--", "echo"]):
        done = run("run", *words, "--dpdk-args", "a", "b", stdout=subprocess.PIPE)
        harness.expect(done.returncode == 0 and done.stdout == "--dpdk-args a b\n", done)
    preloaded = "/lib/x86_64-linux-gnu/libdl.so.2" if os.path.exists("/lib/x86_64-linux-gnu/libdl.so.2") else "libdl.so.2"
    for separator in (" ", ":"):
        outer = dict(line.split("=", 1) for line in run("env", stdout=subprocess.PIPE).stdout.splitlines())
        outer["LD_PRELOAD"] = preloaded + separator + outer["LD_PRELOAD"].split(":")[-1]
        outer["RDMAV_DRIVERS"] = "mlx5" + separator.replace(" ", ";") + outer["RDMAV_DRIVERS"]
        done = run("env", env=harness.environment() | outer, stdout=subprocess.PIPE)
        harness.expect(preloaded in done.stdout and "mlx5" in done.stdout, f"'{separator}': {done}")


def closed_stderr():
    """A remark that nobody can read does not make a report fail."""
    harness.isolate()
    with open("/dev/full", "w", encoding="ascii") as full:
        done = run("stat", "--pid", str(os.getpid()), "--json", stdout=subprocess.PIPE, stderr=full)
        harness.expect(done.returncode == 1 and json.loads(done.stdout)["devices"] == [], done)
        done = run("stat", stdout=subprocess.PIPE, stderr=full)
    harness.expect(done.returncode == 0, done)


def unusable_umask():
    """A umask that denies the owner access to new directories is refused; a strict one is not."""
    harness.need_programs("setpriv", "sh")
    harness.need_namespaces()
    with harness.reachable_urxe() as urxe:
        script = harness.unprivileged(["sh", "-c", 'umask "$1"; shift; exec "$@"', "sh"])
        for command in (["run", "--", "true"], ["env"]):
            done = subprocess.run([*script, "0277", urxe, *command], text=True, capture_output=True, env=harness.environment())
            harness.expect(done.returncode == 125 and "the umask 0277 denies" in done.stderr and not done.stdout, done)
        done = subprocess.run([*script, "0077", urxe, "run", "--", "true"], text=True, capture_output=True,
                              env=harness.environment())
        harness.expect(done.returncode == 0 and not done.stderr, done)


def outside_path():
    """A program for administrators that an ordinary user's PATH leaves out."""
    harness.isolate()
    done = run("run", "--device", "lo", "--", "chroot", env=harness.environment() | {"PATH": "/usr/bin"})
    harness.expect(done.returncode == 127 and "cannot run 'chroot': No such file" in done.stderr
                   and "(it is in /usr/sbin, which is not in PATH)" in done.stderr, done)
    for name in ("no-such-program", ""):
        done = run("run", "--device", "lo", "--", name, env=harness.environment() | {"PATH": "/usr/bin"})
        harness.expect(done.returncode == 127 and done.stderr.endswith("No such file or directory\n"), done)


def help_of_all():
    """The help of each command names its options, and nothing of the parser's own."""
    harness.isolate()
    for words in ([], ["run"], ["env"], ["devices"], ["stat"], ["top"], ["analyze"], ["doctor"], ["drill"], ["lab"]):
        done = run(*words, "--help", stdout=subprocess.PIPE)
        said = f"{words}: {done}"
        harness.expect(done.returncode == 0 and "--help" in done.stdout and not done.stderr, said)
        harness.expect("{" not in done.stdout, said)


def drill_files():
    """Why a script cannot be run is said, also as JSON."""
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(os.path.join(folder, "a.drill"))
        wrong = os.path.join(folder, "wrong")
        with open(wrong, "w", encoding="ascii") as file:
            file.write("title t\nqp RC\nnonsense\n")
        none = os.path.join(folder, "none")
        for path, named, place, error in ((wrong, wrong, {"line": 3, "column": 1}, "expected "),
                                          (none, none, {}, "No such file or directory"),
                                          (folder, folder, {}, "no script (*.drill) in this folder"),
                                          ("/dev/null", "/dev/null", {}, "it is no regular file")):
            done = run("drill", path, stdout=subprocess.PIPE)
            harness.expect(done.returncode == 2 and not done.stdout and named in done.stderr and error in done.stderr, done)
            done = run("drill", "--json", path, stdout=subprocess.PIPE)
            (found,) = json.loads(done.stdout)
            harness.expect(done.returncode == 2 and found.pop("error").startswith(error), done)
            harness.expect(found == {"script": named, "passed": False} | place, done)


def complete(*words):
    """What bash's completion offers for the last word."""
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "completion", "urxe.bash")
    line = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _urxe; printf "%s\\n" "${COMPREPLY[@]}"'
    done = subprocess.run(["bash", "-c", line, "bash", script, "urxe", *words], text=True, capture_output=True,
                          timeout=harness.PATIENCE)
    harness.expect(done.returncode == 0 and not done.stderr, done)
    return done.stdout.split()


def completion():
    """A device is completed by the name that the command takes, and a program wherever it begins."""
    for words in (["stat"], ["top"], ["drill", "--agent"]):
        harness.expect("urxe_lo" in complete(*words, "--device", "urxe_l"), complete(*words, "--device", "urxe_l"))
        harness.expect("lo" not in complete(*words, "--device", ""), complete(*words, "--device", ""))
    harness.expect("lo" in complete("run", "--device", ""), complete("run", "--device", ""))
    for options in (["--lanes", "4"], ["--lanes", "=", "4"], ["--engine", "udp"], ["--no-shm"],
                    ["--fault", "loss", "=", "1%,seed", "=", "2"], ["--device", "=", "a", "=", "lo"]):
        harness.expect(complete("run", *options, "--cap") == ["--capture"], f"{options}: {complete('run', *options, '--cap')}")
        offered = complete("run", *options, "printen")
        harness.expect("printenv" in offered, f"{options}: {offered}")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "some_file")
            with open(path, "w", encoding="ascii"):
                pass
            harness.expect(complete("run", *options, "printenv", path[:-1]) == [path], f"{options}: no files behind the program")


def completion_of_files():
    """On a terminal: a name with a blank becomes one word, and into a folder one can go on."""
    here = os.path.dirname(os.path.abspath(__file__))
    script = os.path.join(here, "..", "..", "tools", "completion", "urxe.bash")
    start = (f"PS1='{terminal.PROMPT}'\n"
             "print() { echo \"$@\"; }\n"  # as zsh has it, for terminal.Shell
             "urxe() { printf '<%s>' \"$@\"; }\n"
             f"source {os.path.realpath(script)}\n")
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(os.path.join(folder, "captures"))
        for name, text in (("sp ace.pcap", ""), ("captures/one.pcap", ""), ("start", start)):
            with open(os.path.join(folder, name), "w", encoding="ascii") as file:
                file.write(text)
        with terminal.Shell(["bash", "--rcfile", f"{folder}/start", "-i"]) as shell:
            shell.run(f"cd {folder}")
            for keys, words in (("urxe analyze sp\t", "<analyze><sp ace.pcap>"),
                                ("urxe analyze cap\to\t", "<analyze><captures/one.pcap>"),
                                ("urxe run --capture sp\t", "<run><--capture><sp ace.pcap>"),
                                ("urxe devices --sysfs cap\t", "<devices><--sysfs><captures/>"),
                                ("urxe run -- cat sp\t", "<run><--><cat><sp ace.pcap>")):
                shown = shell.run(keys)
                harness.expect(words in shown, f"{keys!r}: {shown}")


CASES = {case.__name__: case for case in (unknown_command, lost_output, unknown_switches, wrong_words, help_of_all, outside_path,
                                          drill_files, completion, completion_of_files, operands, closed_stderr, unusable_umask,
                                          origin_of_engine, long_path, programs_own_words)}


def test():
    CASES[sys.argv[1]]()


harness.main(test)

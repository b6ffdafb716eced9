# SPDX-License-Identifier: BSD-2-Clause
"""Carries out the steps of a Dockerfile in root directories that somebody else makes, without docker.

Knows FROM, ARG, ENV, COPY, RUN, ENTRYPOINT and CMD, in the forms that ours has; fails on anything else.
"""

import glob
import json
import os
import re
import shutil

import harness


class Image:
    def __init__(self, root):
        self.root = root
        self.env = {}
        self.arguments = {}
        self.entrypoint = []
        self.command = []


def steps(path):
    """Pairs of an instruction and its text, with continued lines joined."""
    with open(path, encoding="utf-8") as file:
        lines = [line for line in file.read().splitlines() if not re.match(r"\s*(#|$)", line)]
    text = "\n".join(lines).replace("\\\n", " ")
    return [tuple(line.split(None, 1)) for line in text.split("\n")]


def expand(text, values):
    return re.sub(r"\$\{(\w+)\}", lambda found: values.get(found[1], ""), text)


def copy(sources, base, target):
    """Of folders the contents, as COPY does."""
    for source in sources:
        found = glob.glob(os.path.join(base, source.lstrip("/")))
        harness.expect(found, f"COPY: nothing matches {source}")
        for path in found:
            if os.path.isdir(path):
                shutil.copytree(path, target, dirs_exist_ok=True, symlinks=True)
            else:
                harness.expect(target.endswith("/") or not found[1:], f"COPY: {target} is no folder")
                os.makedirs(target, exist_ok=True)
                shutil.copy(path, target)


def build(path, context, make_root, arguments):
    """The last image. `make_root(NAME)` makes the root directory of each; `arguments` are those of --build-arg."""
    globals_, stages, current = {}, {}, None
    for instruction, text in steps(path):
        print(f"{instruction} {text}", flush=True)
        if instruction == "ARG":
            name, _, default = text.partition("=")
            (current.arguments if current else globals_)[name] = arguments.get(name, default)
        elif instruction == "FROM":
            base, *name = expand(text, globals_).split(" AS ")
            harness.expect(re.fullmatch(r"[a-z]+:[a-z0-9.-]+", base), f"FROM {base}")
            name = name[0] if name else f"stage{len(stages)}"
            current = stages[name] = Image(make_root(name))
        elif instruction == "ENV":
            name, _, value = text.partition("=")
            current.env[name] = expand(value, current.env)
        elif instruction == "COPY":
            words = text.split()
            origin = context
            if words[0].startswith("--from="):
                origin = stages[words.pop(0).partition("=")[2]].root.path
            copy(words[:-1], origin, current.root.at(words[-1]))
        elif instruction == "RUN":
            code, output = current.root.run(["/bin/sh", "-c", text], {**current.arguments, **current.env})
            harness.expect(code == 0, f"RUN ended with {code}:\n{output}")
        elif instruction == "ENTRYPOINT":
            current.entrypoint = json.loads(text)
        elif instruction == "CMD":
            current.command = json.loads(text)
        else:
            harness.fail(f"the test does not know {instruction}")
    return current

# SPDX-License-Identifier: BSD-2-Clause
"""Runs the steps of a composite GitHub action in a root directory, as GitHub's runner does it."""

import json
import os
import re
import shutil
import subprocess

import harness

PYTHON = "/usr/bin/python3"  # the one that Debian's python3-yaml is for
READ_YAML = "import json, sys, yaml; json.dump(yaml.safe_load(open(sys.argv[1])), sys.stdout)"


def read_yaml(path):
    done = subprocess.run([PYTHON, "-c", READ_YAML, path], check=False, capture_output=True, text=True)
    if "No module named 'yaml'" in done.stderr or not os.path.exists(PYTHON):
        harness.skip("python3-yaml is not installed")
    harness.expect(done.returncode == 0, done.stderr)
    return json.loads(done.stdout)


def assignments(path):
    """The lines NAME=VALUE of a file that steps write; the file is emptied."""
    with open(path, "r+", encoding="utf-8") as file:
        lines = file.read().splitlines()
        file.truncate(0)
    return dict(line.split("=", 1) for line in lines)


class Runner:
    """A job on a runner. `cache` has for each key of actions/cache the folder that was saved."""

    workspace = "/runner/workspace"

    def __init__(self, root, action, cache):
        self.root = root
        self._action = read_yaml(root.at(os.path.join(action, "action.yml")))
        self._cache = cache
        self._path = []
        self._env = {"GITHUB_ACTIONS": "true", "CI": "true", "GITHUB_ACTION_PATH": action,
                     "GITHUB_WORKSPACE": self.workspace, "RUNNER_TEMP": "/runner/temp"}
        for folder in (self.workspace, "/runner/temp"):
            os.makedirs(root.at(folder))
        for name in ("OUTPUT", "ENV", "PATH"):
            self._env[f"GITHUB_{name}"] = f"/runner/{name.lower()}"
            with open(root.at(f"/runner/{name.lower()}"), "w", encoding="ascii"):
                pass

    def script(self, text, env):
        """Runs a step's text. Returns its exit code and output."""
        with open(self.root.at("/runner/step.sh"), "w", encoding="utf-8") as file:
            file.write(text)
        path = ":".join([*self._path, harness.SYSTEM_PATH])
        found = self.root.run(["env", f"--chdir={self.workspace}", "bash", "--noprofile", "--norc", "-eo", "pipefail",
                               "/runner/step.sh"], {**self._env, **env, "PATH": path})
        self._env.update(assignments(self.root.at("/runner/env")))
        with open(self.root.at("/runner/path"), "r+", encoding="utf-8") as file:
            self._path = [*file.read().split(), *self._path]
            file.truncate(0)
        return found

    def _expand(self, text, inputs, outputs):
        def value(found):
            kind, *names = found[1].split(".")
            if kind == "inputs":
                return inputs[names[0]]
            harness.expect(kind == "steps" and names[1] == "outputs", f"the test does not know {found[0]}")
            return outputs[names[0]][names[2]]
        return re.sub(r"\$\{\{\s*([\w.-]+)\s*\}\}", value, text)

    def _step(self, step, inputs, outputs):
        """Runs it. Returns its exit code, output, and what is to be saved at the end of the job."""
        given = lambda name: {key: self._expand(value, inputs, outputs) for key, value in step.get(name, {}).items()}
        if "uses" in step:
            harness.expect(re.fullmatch(r"actions/cache@v\d+", step["uses"]), f"the test does not know {step['uses']}")
            what = given("with")
            if what["key"] not in self._cache:
                return 0, "", {what["key"]: what["path"]}
            shutil.copytree(self._cache[what["key"]], self.root.at(what["path"]))
            return 0, "", {}
        harness.expect(step["shell"] == "bash" and "${{" not in step["run"], f"an expression in a shell's line: {step}")
        code, output = self.script(step["run"], given("env"))
        print(output, flush=True)
        outputs[step["id"]] = assignments(self.root.at("/runner/output"))
        return code, output, {}

    def _run(self, inputs, last=None):
        """Runs the steps, up to the one with the id `last`. Returns that one or the one that failed, its code and output,
        and the outputs of all."""
        defaults = {name: str(entry["default"]) for name, entry in self._action["inputs"].items()}
        harness.expect(set(inputs) <= set(defaults), f"the action has no such input: {inputs}")
        outputs, to_save = {}, {}
        for step in self._action["runs"]["steps"]:
            code, output, more = self._step(step, {**defaults, **inputs}, outputs)
            to_save.update(more)
            if code != 0 or (last and step.get("id") == last):
                return step.get("id"), code, output, outputs
        for key, path in to_save.items():
            if os.path.exists(self.root.at(path)):
                self._cache[key] = self.root.at(path)
        return None, 0, "", outputs

    def run(self, inputs):
        """All steps, which must succeed. Returns the outputs of the action."""
        step, code, output, outputs = self._run(inputs)
        harness.expect(code == 0, f"the step {step} ended with {code}: {output}")
        return {name: self._expand(entry["value"], {}, outputs) for name, entry in self._action["outputs"].items()}

    def fails(self, inputs):
        """The step that fails, its exit code and output."""
        step, code, output, _ = self._run(inputs)
        harness.expect(code != 0, f"{inputs} did not fail")
        return step, code, output

    def outputs_of(self, step):
        """The outputs of the step with this id, after those before it."""
        _, code, output, outputs = self._run({}, step)
        harness.expect(code == 0, output)
        return outputs[step]

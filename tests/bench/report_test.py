#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Ratios, verdicts and plots of tests/bench/run, and what tests/bench/compare says, by samples that are made up; nothing is
measured."""

import dataclasses
import json
import os
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import figures  # noqa: E402
import plot  # noqa: E402
import report  # noqa: E402
from figures import Figure, Target  # noqa: E402
from subjects import Sample  # noqa: E402


def figure(more_is_better, *targets):
    return Figure("a figure", "lo", "us", more_is_better, ("udp", "shm"), None, targets=targets)


def samples(*values, costs=None):
    return [Sample(value, cost) for value, cost in zip(values, costs or [None] * len(values))]


class Verdicts(unittest.TestCase):
    SAMPLES = {"udp": samples(8.0, 1.0, 4.0), "shm": samples(2.0, 2.0, 9.0), "peer": samples(2.0, 1.0, 2.0)}

    def test_medians_count(self):
        self.assertEqual(report.ratio(figure(False), self.SAMPLES, Target("udp", "peer", 1.0)), 2.0)

    def test_less_is_better(self):
        met = lambda factor: report.is_met(figure(False), self.SAMPLES, Target("udp", "peer", factor))
        self.assertEqual([met(1.9), met(2.0), met(2.1)], [False, True, True])

    def test_more_is_better(self):
        met = lambda factor: report.is_met(figure(True), self.SAMPLES, Target("udp", "peer", factor))
        self.assertEqual([met(1.9), met(2.0), met(2.1)], [True, True, False])

    def test_without_another_column(self):
        self.assertEqual(report.ratio(figure(False), self.SAMPLES, Target("shm", "", 1.0)), 2.0)
        self.assertFalse(report.is_met(figure(False), self.SAMPLES, Target("shm", "", 1.0)))

    def test_what_was_not_measured_is_not_missed(self):
        target = Target("udp", "absent", 1.0)
        self.assertIsNone(report.ratio(figure(False), self.SAMPLES, target))
        self.assertTrue(report.is_met(figure(False), self.SAMPLES, target))
        self.assertNotIn("absent", "\n".join(report.lines(figure(False, target), self.SAMPLES)))

    def test_lines(self):
        text = "\n".join(report.lines(figure(False, Target("udp", "peer", 1.5)), self.SAMPLES))
        self.assertIn("4.00   (1.00 to 8.00)", text)
        self.assertIn("udp / peer: 2.00, to be <= 1.5: missed", text)

    def test_the_cost_is_behind_the_median(self):
        priced = dataclasses.replace(figure(False), cost="CPU s/GB")
        text = "\n".join(report.lines(priced, {"udp": samples(1, 2, 3, costs=[0.5, 0.25, 0.75]), "shm": samples(1)}))
        self.assertRegex(text, r"(?m)^ +udp .* 0\.500 CPU s/GB$")
        self.assertRegex(text, r"(?m)^ +shm .*\)$")

    def test_json(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "figures.json")
            report.write_json(path, [(figure(True, Target("udp", "peer", 1.5)), self.SAMPLES)])
            with open(path, encoding="utf-8") as file:
                read = json.load(file)["figures"][0]
        self.assertEqual(read["medians"], {"udp": 4.0, "shm": 2.0, "peer": 2.0})
        self.assertEqual(read["samples"]["udp"], [8.0, 1.0, 4.0])
        self.assertTrue(read["targets"][0]["met"])

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_no_link_of_another_user_is_followed(self):
        with tempfile.TemporaryDirectory() as folder:
            path, target = os.path.join(folder, "link"), os.path.join(folder, "target")
            os.symlink(target, path)
            report.write_json(path, [])
            self.assertTrue(os.path.exists(target))
            os.remove(target)
            os.lchown(path, 64999, 64999)
            with self.assertRaises(OSError):
                report.write_json(path, [])
            self.assertFalse(os.path.exists(target))

    def test_plot(self):
        image = xml.etree.ElementTree.fromstring(plot.svg([(figure(True, Target("udp", "peer", 1.5)), self.SAMPLES)]))
        bars = {float(each.get("width")): each.get("fill") for each in image.iter("{http://www.w3.org/2000/svg}rect")
                if each.get("x")}
        longest = plot.BARS / 9  # the largest sample
        self.assertEqual(bars, {round(4 * longest, 1): plot.COLOURS["met"], round(2 * longest, 1): plot.COLOURS[""]})


def write(folder, name, columns):
    path = os.path.join(folder, name)
    report.write_json(path, [(figure(False), {column: samples(*values) for column, values in columns.items()})])
    return path


class Compare(unittest.TestCase):
    def compare(self, old, new, *options):
        with tempfile.TemporaryDirectory() as folder:
            paths = write(folder, "old", old), write(folder, "new", new)
            done = subprocess.run([sys.executable, "-B", os.path.join(HERE, "compare"), *options, *paths],
                                  capture_output=True, text=True, check=False)
        return done.returncode, done.stdout

    def test_slower(self):
        code, text = self.compare({"udp": [1, 1.1, 1.2]}, {"udp": [1.3, 1.4, 1.5]})
        self.assertEqual(code, 1)
        self.assertIn("slower  a figure, udp: 1.10 to 1.40 us", text)

    def test_faster(self):
        code, text = self.compare({"udp": [1.3, 1.4, 1.5]}, {"udp": [1, 1.1, 1.2]})
        self.assertEqual(code, 0)
        self.assertIn("faster  a figure, udp", text)

    def test_what_overlaps_is_the_same(self):
        code, text = self.compare({"udp": [1, 1.1, 1.4]}, {"udp": [1.3, 1.4, 1.5]})
        self.assertEqual((code, text), (0, "nothing of urxe's became slower\n"))

    def test_little_is_the_same(self):
        self.assertEqual(self.compare({"udp": [1.0]}, {"udp": [1.09]})[0], 0)
        self.assertEqual(self.compare({"udp": [1.0]}, {"udp": [1.09]}, "--percent", "5")[0], 1)

    def test_a_slower_yardstick_is_no_failure(self):
        code, text = self.compare({"spinning UDP": [1.0]}, {"spinning UDP": [2.0]})
        self.assertEqual(code, 0)
        self.assertIn("slower  a figure, spinning UDP", text)

    def test_columns_of_one_file(self):
        text = self.compare({"udp": [1.0]}, {"shm": [1.0]})[1]
        self.assertIn("only in the old file: a figure, udp", text)
        self.assertIn("only in the new file: a figure, shm", text)

    def test_wrong_files(self):
        for text in ("", "{}", "[]", '{"figures": [{}]}', '{"figures": [{"name": "a", "samples": {"udp": "x"}}]}'):
            with tempfile.NamedTemporaryFile("w") as file:
                file.write(text)
                file.flush()
                done = subprocess.run([sys.executable, "-B", os.path.join(HERE, "compare"), file.name, "/nonexistent"],
                                      capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 2, text)
                self.assertIn("compare: ", done.stderr)


class Figures(unittest.TestCase):
    def test_targets_name_columns(self):
        for each in figures.FIGURES:
            for target in each.targets:
                for name in (target.column, target.other):
                    there = (*each.engines, *each.yardsticks, *([figures.RXE] if each.rxe else []))
                    self.assertTrue(not name or name in there, f"{each.name}: {name}")

    def test_names_differ(self):
        names = [each.name for each in figures.FIGURES]
        self.assertEqual(len(names), len(set(names)))


unittest.main()

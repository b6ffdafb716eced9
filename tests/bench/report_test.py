#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Ratios and verdicts of tests/bench/run, by samples that are made up; nothing is measured."""

import json
import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import figures  # noqa: E402
import report  # noqa: E402
from figures import Figure, Target  # noqa: E402


def figure(more_is_better, *targets):
    return Figure("a figure", "lo", "us", more_is_better, ("udp", "shm"), None, targets=targets)


class Verdicts(unittest.TestCase):
    SAMPLES = {"udp": [8.0, 1.0, 4.0], "shm": [2.0, 2.0, 9.0], "peer": [2.0, 1.0, 2.0]}

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

    def test_json(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "figures.json")
            report.write_json(path, [(figure(True, Target("udp", "peer", 1.5)), self.SAMPLES)])
            with open(path, encoding="utf-8") as file:
                read = json.load(file)["figures"][0]
        self.assertEqual(read["medians"], {"udp": 4.0, "shm": 2.0, "peer": 2.0})
        self.assertEqual(read["samples"]["udp"], [8.0, 1.0, 4.0])
        self.assertTrue(read["targets"][0]["met"])


class Figures(unittest.TestCase):
    def test_targets_name_columns(self):
        for each in figures.FIGURES:
            for target in each.targets:
                for name in (target.column, target.other):
                    self.assertTrue(not name or name in (*each.engines, *each.yardsticks), f"{each.name}: {name}")

    def test_names_differ(self):
        names = [each.name for each in figures.FIGURES]
        self.assertEqual(len(names), len(set(names)))


unittest.main()

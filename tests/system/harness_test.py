#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What the scripts rely on in harness.py."""

import unittest

import harness


class Output(unittest.TestCase):
    def test_reading_it_does_not_disturb_the_process(self):
        lines = 20000
        process = harness.Process(["sh", "-c", f"i=0; while [ $i -lt {lines} ]; do echo $i; i=$((i+1)); done"])
        last = 0
        while process.running():
            size = len(process.output)
            self.assertGreaterEqual(size, last)
            last = size
        self.assertEqual(process.output.split(), [str(number) for number in range(lines)])

    def test_bytes_that_are_no_text(self):
        process = harness.Process(["printf", r"a\377b"])
        self.assertEqual(process.expect_success(), "a\ufffdb")


unittest.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What the scripts rely on in harness.py."""

import contextlib
import io
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


class Failure(unittest.TestCase):
    def what_is_printed(self, test):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), self.assertRaises(SystemExit):
            harness.main(test)
        return printed.getvalue()

    def test_what_the_processes_have_printed_is_shown(self):
        def test():
            harness.Process(["sh", "-c", "echo the reason; exit 3"]).wait()
            harness.fail("a side ended")

        printed = self.what_is_printed(test)
        self.assertIn("the reason", printed)
        self.assertIn("ended with 3", printed)

    def test_nothing_is_shown_twice(self):
        # The command and the reasons of this host's other programs may be shown, too: neither has these words.
        printed = self.what_is_printed(lambda: harness.Process(["sh", "-c", "echo said $((40+2)); false"]).expect_success())
        self.assertEqual(printed.count("said 42"), 1)

    def test_a_skipped_test_shows_nothing(self):
        def test():
            harness.Process(["echo", "the", "reason"]).wait()
            harness.skip("no need")

        self.assertEqual(self.what_is_printed(test), "SKIPPED: no need\n")


unittest.main()

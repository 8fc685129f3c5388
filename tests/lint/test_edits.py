#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The check of the kernels' changes against a source of two lines."""
import pathlib
import tempfile
import unittest

import edits


class Edits(unittest.TestCase):
    def misplaced(self, line):
        with tempfile.TemporaryDirectory() as folder:
            kernels = pathlib.Path(folder)
            (kernels / "a.cuh").write_text("wait(1);\nwait(2);\n")
            return list(edits.misplaced(kernels, [line]))

    def test_a_text_that_is_there_once(self):
        self.assertEqual(self.misplaced("a.cuh=>wait(1)=>"), [])
        self.assertTrue(self.misplaced("a.cuh=>wait=>"))
        self.assertTrue(self.misplaced("a.cuh=>wait(3)=>"))
        self.assertTrue(self.misplaced("a.cuh=>=>wait"))

    def test_one_of_several(self):
        self.assertEqual(self.misplaced("a.cuh#2=>wait=>"), [])
        self.assertTrue(self.misplaced("a.cuh#3=>wait=>"))
        self.assertTrue(self.misplaced("a.cuh#0=>wait=>"))

    def test_a_file_that_is_not_there(self):
        self.assertTrue(self.misplaced("b.cuh=>wait(1)=>"))

    def test_a_change_of_nothing(self):
        self.assertTrue(self.misplaced("a.cuh=>wait(1)=>wait(1)"))


if __name__ == "__main__":
    unittest.main()

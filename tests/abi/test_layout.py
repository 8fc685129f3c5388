#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The layout check against headers with one fault each."""
import unittest

import layout

SOUND = """
/** May be extended. */
typedef struct ggemm_a {
  size_t struct_size;
  const char* name; /**< not Frozen */
} ggemm_a;
/** Frozen: held by value. */
typedef struct ggemm_b {
  const ggemm_a* a;
} ggemm_b;
/** Another. */
typedef struct ggemm_c {
  size_t struct_size;
  ggemm_b b[2];
} ggemm_c;
"""


class TestGrowth(unittest.TestCase):
    def faults(self, before, after):
        self.assertIn(before, SOUND)
        return layout.faults_of_growth(SOUND.replace(before, after))

    def test_a_sound_header_has_no_fault(self):
        self.assertEqual(layout.faults_of_growth(SOUND), [])

    def test_a_struct_without_a_size_must_be_frozen(self):
        expected = ["ggemm_b neither begins with struct_size nor is frozen"]
        self.assertEqual(self.faults("Frozen: held", "Held"), expected)
        self.assertEqual(self.faults("/** Frozen: held by value. */\n", ""), expected)
        self.assertEqual(self.faults("  size_t struct_size;\n  const", "  const"), ["ggemm_a neither begins with struct_size nor is frozen"])

    def test_a_struct_that_may_grow_is_not_held_by_value(self):
        expected = ["ggemm_c holds ggemm_a by value, which may grow"]
        self.assertEqual(self.faults("ggemm_b b[2];", "ggemm_a a;"), expected)
        self.assertEqual(self.faults("ggemm_b b[2];", "ggemm_b b; ggemm_a a[3];"), expected)


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The include check against small trees with one fault each."""
import pathlib
import tempfile
import unittest

import includes

SOUND = {
    "lib/core/a.hpp": '#include <vector>\n#include "ggemm.h"\n#include "params.cuh"\n',
    "lib/select/a.hpp": '#include "core/a.hpp"\n',
    "lib/jit/a.hpp": '#include "core/a.hpp"\n',
    "lib/engine.hpp": '#include "jit/a.hpp"\n#include "select/a.hpp"\n',
    "lib/api/a.cpp": '#include "engine.hpp"\n',
    "kernels/params.cuh": '#include "tile/types.cuh"\n',
    "kernels/grouped_call.cuh": '#include "params.cuh"\n',
    "kernels/tile/types.cuh": "",
    "kernels/ptx/a.cuh": '#include "tile/types.cuh"\n',
    "kernels/mainloop/a.cuh": '#include "params.cuh"\n#include "ptx/a.cuh"\n',
    "kernels/roles/a.cuh": '#include "mainloop/a.cuh"\n',
    "kernels/a.cu": '#include "mainloop/a.cuh"\n#include "roles/a.cuh"\n',
}


def faults(changed):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in {**SOUND, **changed}.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return includes.check(root)[0]


class Includes(unittest.TestCase):
    def test_sound_tree(self):
        self.assertEqual(faults({}), [])

    def test_each_fault(self):
        for name, text, word in [
            ("lib/core/a.hpp", '#include "jit/a.hpp"\n', "core must not include jit"),
            ("lib/core/a.hpp", "#include <cuda.h>\n", "declares what it needs"),
            ("lib/core/a.hpp", "  #  include <nvrtc.h>\n", "declares what it needs"),
            ("lib/core/a.hpp", '#include "ptx/a.cuh"\n', "for the GPU alone"),
            ("lib/core/a.hpp", '#include "roles/a.cuh"\n', "for the GPU alone"),
            ("lib/core/a.hpp", '#include "a.hpp"\n', "not named from"),
            ("lib/select/a.hpp", '#include "jit/a.hpp"\n', "select must not include jit"),
            ("lib/jit/a.hpp", '#include "engine.hpp"\n', "jit must not include engine"),
            ("lib/engine.hpp", '#include "api/a.cpp"\n', "engine must not include api"),
            ("lib/stray.hpp", "", "belongs to no layer"),
            ("kernels/ptx/a.cuh", '#include "params.cuh"\n', "ptx must not include params"),
            ("kernels/params.cuh", '#include "grouped_call.cuh"\n', "params must not include grouped_call"),
            ("kernels/tile/b.cuh", '#include "mainloop/a.cuh"\n', "tile must not include mainloop"),
            ("kernels/tile/types.cuh", '#include "ptx/a.cuh"\n', "includes nothing"),
            ("kernels/mainloop/a.cuh", '#include "a.cu"\n', "mainloop must not include root"),
            ("kernels/mainloop/a.cuh", '#include "roles/a.cuh"\n', "mainloop must not include roles"),
            ("kernels/mainloop/a.cuh", "#include <cuda_fp16.h>\n", "no header of CUDA's"),
        ]:
            found = faults({name: text})
            self.assertEqual(len(found), 1, (name, text, found))
            self.assertIn(word, found[0])
            self.assertTrue(found[0].startswith(name), found)


if __name__ == "__main__":
    unittest.main()

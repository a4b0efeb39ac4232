#!/usr/bin/env python3
"""Self test of check_includes.py, on small source trees."""

import os
import tempfile
import unittest

import check_includes


class CheckIncludes(unittest.TestCase):

    def complaints(self, files):
        with tempfile.TemporaryDirectory() as root:
            for path, text in files.items():
                full = os.path.join(root, path)
                os.makedirs(os.path.dirname(full), exist_ok=True)
                with open(full, 'w', encoding='utf-8') as out:
                    out.write(text)
            return check_includes.check(root)

    def test_a_part_may_include_itself_and_lower_parts(self):
        self.assertEqual(self.complaints({
            'include/layrub/base/status.hpp': '',
            'include/layrub/placement/ir/plan.hpp': '#include "layrub/base/status.hpp"\n',
            'src/layrub/placement/pack/pack.hpp': '',
            'src/layrub/placement/pack/pack.cpp': '#include "layrub/placement/pack/pack.hpp"\n#include <vector>\n',
            'src/layrub/runtime/run.cpp': '#include "layrub/placement/ir/plan.hpp"\n',
            'include/caffe/blob.hpp': '#include "caffe/proto/caffe.pb.h"\n#include <glog/logging.h>\n',
            'src/caffe/net/net.cpp': '#include "caffe/blob.hpp"\n#include "layrub/placement/ir/plan.hpp"\n',
        }), [])

    def test_a_folder_of_the_planner_includes_no_later_stage_of_its_pipeline(self):
        found = self.complaints({
            'include/layrub/device/backend.hpp': '',
            'src/layrub/placement/schedule/waits.hpp': '',
            'src/layrub/placement/pack/pack.cpp': '\n#include "layrub/device/backend.hpp"\n#include <glog/logging.h>\n'
                                                  '#include "layrub/placement/schedule/waits.hpp"\n',
        })
        self.assertEqual(len(found), 3)
        self.assertTrue(found[0].startswith('src/layrub/placement/pack/pack.cpp:2: pack may not include'))
        self.assertIn('glog/logging.h', found[1])
        self.assertIn('pack may not include src/layrub/placement/schedule/waits.hpp (schedule)', found[2])

    def test_the_checker_includes_nothing_of_the_planner_it_checks(self):
        self.assertEqual(len(self.complaints({
            'src/layrub/placement/schedule/waits.hpp': '',
            'src/layrub/placement/check/check.cpp': '#include "layrub/placement/schedule/waits.hpp"\n',
        })), 1)

    def test_only_the_planner_includes_its_internal_headers(self):
        found = self.complaints({
            'src/layrub/placement/ir/program.hpp': '',
            'src/caffe/net/net.cpp': '#include "layrub/placement/ir/program.hpp"\n',
        })
        self.assertEqual(len(found), 1)
        self.assertIn('private to the planner', found[0])

    def test_headers_of_kernels_include_no_heavy_header(self):
        found = self.complaints({
            'include/caffe/blob.hpp': '',
            'include/caffe/operands.hpp': '#include "caffe/blob.hpp"\n',
            'src/caffe/kernels/loops.hpp': '#include <cstdint>\n#include "caffe/operands.hpp"\n',
            'src/caffe/kernels/rows.hpp': '#include <sstream>\n',
            'src/caffe/kernels/light.hpp': '#include <vector>\n',
            'src/caffe/kernels/blob_arguments.hpp': '#include "caffe/operands.hpp"\n',
            'src/caffe/kernels/rows.cpp': '#include <sstream>\n',
        })
        self.assertEqual(len(found), 2)
        self.assertIn('loops.hpp: kernels must be quick to compile, and this comes to include/caffe/blob.hpp by way of '
                      'include/caffe/operands.hpp', found[0])
        self.assertIn('<sstream>', found[1])

    def test_only_files_compiled_for_each_device_test_which_device_it_is(self):
        found = self.complaints({
            'src/caffe/kernels/gemm.cpp': '#ifndef CPU_ONLY\n#endif\n',
            'src/caffe/net/net.cpp': '// CPU_ONLY\n#ifdef CPU_ONLY\n#endif\n',
        })
        self.assertEqual(len(found), 1)
        self.assertTrue(found[0].startswith('src/caffe/net/net.cpp:2: this file is compiled once'))

    def test_net_includes_no_layer(self):
        found = self.complaints({
            'include/caffe/layers/relu_layer.hpp': '',
            'src/caffe/net/net.cpp': '#include "caffe/layers/relu_layer.hpp"\n',
        })
        self.assertEqual(len(found), 1)
        self.assertIn('net may not include include/caffe/layers/relu_layer.hpp (layers)', found[0])

    def test_core_includes_neither_net_nor_runtime(self):
        self.assertEqual(len(self.complaints({
            'include/caffe/net.hpp': '',
            'include/layrub/runtime/executor.hpp': '',
            'src/caffe/core/blob.cpp': '#include "caffe/net.hpp"\n#include "layrub/runtime/executor.hpp"\n',
        })), 2)

    def test_cuda_stays_in_kernels_and_device(self):
        found = self.complaints({
            'src/caffe/kernels/copy.cpp': '#include <cuda_runtime.h>\n',
            'src/layrub/device/cuda_backend.cpp': '#include <cuda_runtime.h>\n',
            'src/caffe/layers/relu_layer.cpp': '#include <cuda_runtime.h>\n',
        })
        self.assertEqual(len(found), 1)
        self.assertIn('relu_layer.cpp:1', found[0])

    def test_programs_include_public_headers_only(self):
        found = self.complaints({
            'include/caffe/net.hpp': '',
            'src/caffe/kernels/copy.hpp': '',
            'tools/layrub/flags.hpp': '',
            'tools/layrub.cpp': '#include "layrub/flags.hpp"\n#include "caffe/net.hpp"\n'
                                '#include "caffe/kernels/shape/copy.hpp"\n',
        })
        self.assertEqual([text.split(':')[1] for text in found], ['3'])

    def test_tests_may_include_anything(self):
        self.assertEqual(self.complaints({
            'include/caffe/net.hpp': '',
            'src/caffe/core/test/test_blob.cpp': '#include "caffe/net.hpp"\n',
        }), [])

    def test_the_project_itself_follows_the_rules(self):
        root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        self.assertEqual(check_includes.check(root), [])


if __name__ == '__main__':
    unittest.main()

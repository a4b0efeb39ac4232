#!/usr/bin/env python3
"""Self test of draw_plan.py: the boxes are where the plan puts the tensors, bad input is named."""

import os
import resource
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml

import draw_plan
import plan_files
import test_verify_parts
from test_verify_plan import AGAIN, GRAPH, STEPS, plan_text

SVG = '{http://www.w3.org/2000/svg}'


class DrawPlan(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.graph = self.write('graph.txt', GRAPH)
        self.plan = self.write('plan.txt', plan_text(STEPS))

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)
        return path

    def walk(self):
        graph = plan_files.read_graph(self.graph)
        return draw_plan.Walk(graph, plan_files.read_plan(self.plan, graph))

    def run_script(self, *flags):
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'draw_plan.py')
        return subprocess.run([sys.executable, script, *flags], capture_output=True, text=True, check=False)

    @staticmethod
    def times(stay):
        return stay.begin, stay.first, stay.last, stay.end

    def test_finds_when_each_tensor_has_its_bytes_and_uses_them(self):
        walk = self.walk()
        on_device = {}
        for stay in walk.stays['device']:
            on_device.setdefault(stay.tensor.name, []).append(self.times(stay))
        # Operations: data 0, conv 1, relu 2, loss 3, loss/backward 4, relu/backward 5, conv/backward 6, update 7.
        self.assertEqual(on_device['w'], [(0, 0, 8, 8)])
        # x is copied to the host until it is freed there, and is back for conv/backward.
        self.assertEqual(on_device['x'], [(0, 0, 3, 3), (6, 6, 7, 7)])
        # a ends where b takes over its bytes.
        self.assertEqual(on_device['a'], [(1, 1, 2, 2)])
        self.assertEqual(on_device['b'], [(2, 2, 6, 6)])
        self.assertEqual(on_device['work'], [(1, 1, 2, 2)])
        self.assertEqual(on_device['b.grad'], [(4, 4, 5, 5)])
        self.assertEqual(on_device['a.grad'], [(5, 5, 7, 7)])
        # The loss is to be readable.
        self.assertEqual(on_device['loss'], [(3, 3, 8, 8)])
        self.assertEqual([self.times(stay) for stay in walk.stays['host']], [(2, 2, 7, 7)])

    def test_draws_what_stays_of_a_tensor_that_leaves_in_part(self):
        def stays_of_x(steps):
            self.graph = self.write('graph.txt', test_verify_parts.GRAPH)
            self.plan = self.write('plan.txt', test_verify_parts.plan_text(steps))
            return [(stay.begin, stay.end, stay.range.offset, stay.size)
                    for stay in self.walk().stays['device'] if stay.tensor.name == 'x']

        # Operations: first 0, second 1, third 2, fourth 3.
        self.assertEqual(stays_of_x(test_verify_parts.STEPS),
                         [(0, 1, 256, 1024), (1, 3, 256, 256), (3, 4, 256, 1024)])
        self.assertEqual(self.walk().most, 1536)
        root = xml.fromstring(draw_plan.draw(self.graph, [self.plan]))
        low = [path.get('d') for path in root.iter(SVG + 'path')
               if path.find(SVG + 'title').text == 'x, 256 bytes of 1 KiB']
        self.assertEqual(len(low), 1)
        self.assertIn('v' + draw_plan.short(draw_plan.DEVICE_HEIGHT * 256 / 1536) + 'h', low[0])
        self.assertEqual(stays_of_x(test_verify_parts.moved()),
                         [(0, 1, 512, 1024), (1, 1, 512, 512), (1, 3, 256, 512), (3, 4, 256, 1024)])

    def test_finds_passes_and_the_peak(self):
        walk = self.walk()
        self.assertEqual(walk.pass_ends, [4, 7, 8])
        self.assertEqual((walk.most, walk.fullest), (1792, 'conv'))

    def test_draws_boxes_to_scale(self):
        root = xml.fromstring(draw_plan.draw(self.graph, [self.plan]))
        boxes = {}
        for path in root.iter(SVG + 'path'):
            boxes.setdefault(path.find(SVG + 'title').text, []).append(path.get('d'))
        a = boxes['a, 512 bytes'][0]
        height = draw_plan.DEVICE_HEIGHT * 512 / 1792
        self.assertIn('v' + draw_plan.short(height) + 'h', a)
        top = float(a[1:].split('h')[0].split(' ')[1])
        x = float(boxes['x, 512 bytes'][0][1:].split('h')[0].split(' ')[1])
        self.assertAlmostEqual(x - top, height, delta=0.02)  # x lies at 512, a at 1024

    def test_shows_what_was_computed_again(self):
        again = self.write('again.txt', plan_text(AGAIN, device=2304))
        root = xml.fromstring(draw_plan.draw(self.graph, [again]))
        dashed = [path.find(SVG + 'title').text for group in root.iter(SVG + 'g')
                  if 'again' in group.get('class') for path in group.iter(SVG + 'path')]
        self.assertEqual(sorted(dashed), ['a, 512 bytes', 'b, 512 bytes'])
        self.assertNotIn('computed again', draw_plan.draw(self.graph, [self.plan]))

    def test_draws_several_plans_on_one_scale(self):
        other = self.write('other.txt', plan_text(STEPS, device=3584))
        text = draw_plan.draw(self.graph, [self.plan, other])
        root = xml.fromstring(text)
        half = 'v' + draw_plan.short(draw_plan.DEVICE_HEIGHT * 512 / 3584) + 'h'
        self.assertEqual(text.count('a, 512 bytes'), 2)
        self.assertTrue(all(half in path.get('d') for path in root.iter(SVG + 'path')
                            if path.find(SVG + 'title').text == 'a, 512 bytes'))

    def test_joins_slivers_that_lie_on_each_other(self):
        boxes = [[0, 9, 256, 256, 'b'], [0, 9, 0, 256, 'a'], [0, 9, 512, 4096, 'c'], [0, 9, 9000, 256, 'd']]
        self.assertEqual(list(draw_plan.merge_slivers(boxes, 1000)),
                         [(0, 9, 0, 512, '2 tensors, 512 bytes'), (0, 9, 512, 4096, 'c'),
                          (0, 9, 9000, 256, 'd')])

    def test_writes_the_picture(self):
        out = os.path.join(self.folder, 'out.svg')
        result = self.run_script(self.graph, self.plan, '-o', out)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, '', ''))
        self.assertEqual(xml.parse(out).getroot().tag, SVG + 'svg')

    def test_help_shows_how_to_make_the_input(self):
        self.assertIn('--dump=', self.run_script('--help').stdout)

    def test_names_what_is_wrong(self):
        out = os.path.join(self.folder, 'out.svg')
        stranger = self.write('stranger.txt', plan_text(STEPS).replace('alloc device a ', 'alloc device z '))
        freed = self.write('freed.txt', plan_text(['free device w'] + STEPS))
        for plan, words in ((self.graph, 'graph.txt:1:'), (stranger, 'stranger.txt:11: there is no tensor "z"'),
                            (freed, 'freed.txt:7: "free device w" does not fit the steps before it'), (self.folder + '/none', 'none')):
            result = self.run_script(self.graph, plan, '-o', out)
            self.assertEqual(result.returncode, 1, plan)
            self.assertIn(words, result.stderr)
            self.assertNotIn('Traceback', result.stderr)
            self.assertFalse(os.path.exists(out))

    def test_a_picture_is_whole_or_as_it_was(self):
        out = self.write('out.svg', 'precious')
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'draw_plan.py')
        before = sorted(os.listdir(self.folder))

        def small_files():
            resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512))  # stands in for a full disk

        result = subprocess.run([sys.executable, script, self.graph, self.plan, '-o', out], capture_output=True, text=True,
                                check=False, preexec_fn=small_files)
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, r'\Adraw_plan\.py: cannot write \S+out\.svg: File too large\n\Z')
        with open(out, encoding='utf-8') as file:
            self.assertEqual(file.read(), 'precious')
        self.assertEqual(sorted(os.listdir(self.folder)), before)
        result = self.run_script(self.graph, self.plan, '-o', '/dev/stdout')
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn('</svg>', result.stdout)


if __name__ == '__main__':
    unittest.main()

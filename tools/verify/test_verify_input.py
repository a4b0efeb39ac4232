#!/usr/bin/env python3
"""Self test of verify_plan.py: what it reads and prints, and its exit codes."""

import json
import os
import subprocess
import sys
import unittest

import test_verify_plan
from test_verify_plan import GRAPH, STEPS, plan_text


class VerifyInput(test_verify_plan.PlanCase):

    def test_exit_codes_and_output(self):
        self.write(GRAPH, plan_text(STEPS))
        result = self.run_script()
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(len(result.stdout.splitlines()), 1)
        self.assertIn('small hand: proved', result.stdout)
        self.assertEqual(json.loads(self.run_script('--json').stdout)['device_bytes'], 1792)
        self.write(GRAPH, plan_text([step for step in STEPS if step != 'copy device host x']))
        result = self.run_script()
        self.assertEqual(result.returncode, 1)
        self.assertIn('OBJECTIONS', result.stdout)

    def test_names_the_line_of_bad_input(self):
        for graph, plan, where in (
                ('layrub-graph 9\n', plan_text(STEPS), 'graph.txt:1:'),
                (GRAPH.replace('reads x w', 'reads x nobody'), plan_text(STEPS), 'graph.txt:19:'),
                (GRAPH, plan_text(STEPS).replace('\n5 ', '\n7 '), 'plan.txt:15:'),
                ('layrub-graph 1\n', plan_text(STEPS), 'graph.txt:1: this is version 1 of the format'),
                (GRAPH, plan_text(STEPS).replace('layrub-plan 5', 'layrub-plan 1'), 'make it again with "layrub plan'),
                (GRAPH, plan_text(STEPS).replace('layrub-plan 5', 'layrub-plan 2'), 'plan.txt:1: this is version 2 of the format'),
                (GRAPH, '', 'plan.txt:1:')):
            self.write(graph, plan)
            result = self.run_script()
            self.assertEqual(result.returncode, 1)
            self.assertIn(where, result.stderr)
            self.assertNotIn('Traceback', result.stderr)

    def test_requires_variant_and_algorithm_of_a_run(self):
        for wrong in ('run relu', 'run relu variant= algorithm=0', 'run relu variant=x algorithm=0',
                      'run relu algorithm=0 variant=0', 'run relu variant=0', 'run relu variant=1 algorithm=0'):
            self.write(GRAPH, plan_text(STEPS).replace('run relu variant=0 algorithm=0', wrong))
            result = self.run_script()
            self.assertEqual((result.returncode, result.stdout), (1, ''), wrong)
            self.assertRegex(result.stderr, r'\Averify_plan\.py: \S+plan\.txt:20: [^\n]+\n\Z')

    def test_reports_unreadable_files_in_one_sentence(self):
        folder = os.path.dirname(self.plan_path)
        cut = plan_text(STEPS)[:300]
        for plan, pattern in ((None, r'No such file or directory'), ('', r'plan.txt:1: '), (cut, r'plan.txt:\d+: '),
                              (b'\xff\xfe', r'plan.txt:1: this is no text'), (folder, 'Is a directory')):
            self.write(GRAPH, plan_text(STEPS))
            if plan is None:
                os.remove(self.plan_path)
            elif plan == folder:
                self.plan_path = folder
            else:
                with open(self.plan_path, 'wb') as file:
                    file.write(plan if isinstance(plan, bytes) else plan.encode())
            result = self.run_script()
            self.assertEqual((result.returncode, result.stdout), (1, ''), plan)
            self.assertRegex(result.stderr, r'\Averify_plan\.py: [^\n]*' + pattern + r'[^\n]*\n\Z')

    def test_a_verdict_that_cannot_be_written_is_an_error(self):
        self.write(GRAPH, plan_text(STEPS))
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'verify_plan.py')
        for redirection, reason in (('> /dev/full', 'No space left on device'), ('>&-', 'is closed')):
            result = subprocess.run(['sh', '-c', f'"$@" {redirection}', 'sh', sys.executable, script, self.graph_path,
                                     self.plan_path], stderr=subprocess.PIPE, text=True, check=False)
            self.assertEqual(result.returncode, 1)
            self.assertRegex(result.stderr, rf'\Averify_plan\.py: [^\n]*{reason}\n\Z')


if __name__ == '__main__':
    unittest.main()

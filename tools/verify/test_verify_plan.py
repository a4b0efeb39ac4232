#!/usr/bin/env python3
"""Self test of verify_plan.py: a right plan is accepted, wrong ones get the right objections."""

import os
import re
import subprocess
import sys
import tempfile
import unittest

import plan_files
import plan_floor
import verify_plan

# conv -> relu -> loss; x is offloaded between its uses, b aliases a, a.grad aliases b.grad.
GRAPH = '''layrub-graph 4
# a comment
graph small
tensor w 256 parameter state
tensor w.grad 256 parameter_gradient state
tensor x 500 activation blob=0
tensor a 512 activation
tensor b 512 activation
tensor mask 16 saved
tensor loss 4 activation keep
tensor b.grad 512 activation_gradient
tensor a.grad 512 activation_gradient
tensor work 100 workspace
op data forward compute
variant default flops=0 bytes=0
writes x
op conv forward compute repeatable
variant default flops=1 bytes=1
reads x w
writes a
algorithm - seconds=2 deterministic=1
algorithm work seconds=1 deterministic=1
op relu forward compute repeatable
variant default flops=1 bytes=1
reads a
writes b mask
alias b a
op loss forward compute
variant default flops=1 bytes=1
reads b
writes loss
op loss/backward backward compute
variant default flops=1 bytes=1
reads b loss
writes b.grad
op relu/backward backward compute
variant y flops=1 bytes=1
reads b b.grad
writes a.grad
alias a.grad b.grad
variant mask flops=1 bytes=1
reads mask b.grad
writes a.grad
alias a.grad b.grad
op conv/backward backward compute
variant default flops=1 bytes=1
reads x a.grad w w.grad
writes w.grad
op w/update update update
variant sgd flops=1 bytes=1
reads w w.grad
writes w
end
'''

HEADER = '''layrub-plan 5
strategy hand
device_bytes {device}
host_bytes 512
spill_bytes {spill}
pass_end {ends}
readable loss
'''

# A wait names the step that it waits for by its text; plan_text fills in the numbers.
STEPS = '''home w device 0
home w.grad device 256
alloc device x 512
run data variant=0 algorithm=0
alloc device a 1024
alloc device work 1536
run conv variant=0 algorithm=1
alloc host x 0
wait save for run data variant=0 algorithm=0
copy device host x
free device work
alias b on a
run relu variant=0 algorithm=0
free device a
free device x
alloc device loss 1536
run loss variant=0 algorithm=0
alloc device b.grad 512
wait compute for copy device host x
run loss/backward variant=0 algorithm=0
alias a.grad on b.grad
run relu/backward variant=0 algorithm=0
free device b
free device b.grad
alloc device x 1024
wait load for run relu/backward variant=0 algorithm=0
copy host device x
wait compute for copy host device x
run conv/backward variant=0 algorithm=0
free device x
free host x
free device a.grad
run w/update variant=0 algorithm=0'''.split('\n')


# The same, but x stays, and b is dropped after the loss, so conv and relu are recomputed.
AGAIN = '''home w device 0
home w.grad device 256
alloc device x 512
run data variant=0 algorithm=0
alloc device a 1024
alloc device work 1536
run conv variant=0 algorithm=1
free device work
alias b on a
run relu variant=0 algorithm=0
free device a
alloc device loss 1536
run loss variant=0 algorithm=0
free device b
alloc device a 1024
alloc device work 1792
run conv variant=0 algorithm=1 recompute
free device work
alias b on a
run relu variant=0 algorithm=0 recompute
free device a
alloc device b.grad 1792
run loss/backward variant=0 algorithm=0
alias a.grad on b.grad
run relu/backward variant=0 algorithm=0
free device b
free device b.grad
run conv/backward variant=0 algorithm=0
free device x
free device a.grad
run w/update variant=0 algorithm=0'''.split('\n')


def plan_text(steps, device=1792, spill=0):
    """The text of a plan with these steps; waits for omitted steps are omitted."""
    homes = [step for step in steps if step.startswith('home ')]
    number, lines = {}, []
    for step in steps[len(homes):]:
        head, _, awaited = step.partition(' for ')
        if awaited and not awaited.isdigit():
            if awaited not in number:
                continue
            step = f'{head} for {number[awaited]}'
        number[step] = len(lines)
        lines.append(step)
    backward = [i for i, line in enumerate(lines) if '/backward' in line or 'b.grad' in line]
    update = [i for i, line in enumerate(lines) if 'w/update' in line]
    ends = f'{backward[0]} {update[0] if update else len(lines)} {len(lines)}'
    return (HEADER.format(device=device, spill=spill, ends=ends) + ''.join(f'{home}\n' for home in homes) +
            ''.join(f'{i} {line}\n' for i, line in enumerate(lines)) + 'end\n')


class PlanCase(unittest.TestCase):
    """Helpers for tests of verify_plan.py."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.graph_path = os.path.join(folder.name, 'graph.txt')
        self.plan_path = os.path.join(folder.name, 'plan.txt')

    def verify_text(self, graph, plan):
        """The result of verify_plan; a text that it cannot read counts as one objection."""
        self.write(graph, plan)
        try:
            graph = plan_files.read_graph(self.graph_path)
            return verify_plan.verify(graph, plan_files.read_plan(self.plan_path, graph))
        except plan_files.BadInput as error:
            return {'objections': [str(error)]}

    def write(self, graph, plan):
        for path, text in ((self.graph_path, graph), (self.plan_path, plan)):
            with open(path, 'w', encoding='utf-8') as file:
                file.write(text)

    def run_script(self, *flags):
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'verify_plan.py')
        return subprocess.run([sys.executable, script, self.graph_path, self.plan_path, *flags],
                              capture_output=True, text=True, check=False)


class VerifyPlan(PlanCase):

    def verify(self, steps, graph=GRAPH, **header):
        return self.verify_text(graph, plan_text(steps, **header))

    def assert_objects(self, words, steps, **header):
        objections = self.verify(steps, **header)['objections']
        self.assertTrue(any(words in line for line in objections), f'{words!r} in {objections}')

    @staticmethod
    def changed(old, new):
        steps = list(STEPS)
        steps[steps.index(old)] = new
        return steps

    @staticmethod
    def without(step):
        return [other for other in STEPS if other != step]

    def test_accepts_a_right_move_and_objects_to_a_wrong_one(self):
        at = STEPS.index('wait compute for copy host device x')

        def moved(step, waits=True):
            steps = STEPS[:at + waits] + [step] + STEPS[at + 1:]
            return self.verify(steps, device=2304)

        found = moved('copy device device x 1792')
        self.assertEqual(found['objections'], [])
        self.assertEqual((found['live_bytes'], found['moved_bytes']), (2304, 512))
        found = moved('copy device device x 512')  # its first place, where b.grad is now
        self.assertTrue(any('overlap a live range' in o for o in found['objections']))
        found = moved('copy device device w 1792')
        self.assertTrue(any('is state' in o for o in found['objections']))
        found = moved('copy device device x 1792', waits=False)
        self.assertTrue(any('without waiting' in o for o in found['objections']))

    def test_accepts_a_move_to_overlapping_bytes(self):
        steps = self.changed('alloc device loss 1536', 'alloc device loss 1792')
        at = steps.index('wait compute for copy host device x')

        def slid(step, waits=True):
            return self.verify(steps[:at + waits] + [step] + steps[at + 1:], device=2048)

        found = slid('copy device device x 1280')
        self.assertEqual(found['objections'], [])
        self.assertEqual((found['live_bytes'], found['moved_bytes']), (2048, 512))
        found = slid('copy device device x 768')  # where a.grad is
        self.assertTrue(any('overlap a live range' in o for o in found['objections']))
        found = slid('copy device device x 1280', waits=False)
        self.assertTrue(any('without waiting' in o for o in found['objections']))

    def test_accepts_a_right_plan_and_measures_it(self):
        found = self.verify(STEPS)
        self.assertEqual(found['objections'], [])
        self.assertEqual(found['live_bytes'], 1792)
        self.assertEqual(found['packing'], 1.0)
        self.assertEqual(found['offloaded_bytes'], 512)
        # w and its gradient, and b, b.grad and loss; conv would need x and a but no workspace.
        self.assertEqual((found['floor_bytes'], found['floor_op']), (512 + 1280, 'loss/backward'))

    def test_objects_to_every_step_left_out(self):
        for step in STEPS:
            self.assertTrue(self.verify(self.without(step))['objections'], f'without {step}')

    def test_objects_to_copies_that_end_early(self):
        for copy, words in (('copy device host x', 'whose host range holds bytes'), ('copy host device x', 'whose device range holds bytes')):
            at = STEPS.index(copy)
            for part, said in (('0 256', words), ('256 500', words), ('0 244', 'not aligned'), ('0 0', 'no bytes of x'),
                               ('256 256', 'no bytes of x'), ('-256 256', 'no bytes of x'), ('0 512', 'no bytes of x')):
                # What waits for the copy names it by its new text.
                steps = [step.replace(f'for {copy}', f'for {copy} {part}') for step in STEPS]
                steps[at] = f'{copy} {part}'
                self.assert_objects(said, steps)

    def test_objects_to_races(self):
        self.assert_objects('writes b.grad without waiting for step 7 (copy device host x)',
                            self.without('wait compute for copy device host x'))
        self.assert_objects('reads x without waiting for',
                            self.without('wait compute for copy host device x'))
        self.assert_objects('writes x without waiting for', self.without(
            'wait load for run relu/backward variant=0 algorithm=0'))

    def test_objects_to_a_use_after_free(self):
        steps = self.without('free device a')
        steps.insert(steps.index('run relu variant=0 algorithm=0'), 'free device a')
        self.assert_objects('reads a, which has no device range', steps)

    def test_objects_to_overlap(self):
        self.assert_objects('overlap a live range',
                            self.changed('alloc device a 1024', 'alloc device a 768'))

    def test_objects_to_ranges_outside_of_the_arena_or_misaligned(self):
        for offset in (1, 1536, -256):
            self.assert_objects('misaligned or outside', self.changed(
                'alloc device a 1024', f'alloc device a {offset}'))

    def test_objects_to_an_alias_that_the_variant_does_not_allow(self):
        self.assert_objects('writes b on the bytes of a', STEPS,
                            graph=GRAPH.replace('alias b a\n', ''))

    def test_objects_to_reading_a_value_that_an_alias_has_overwritten(self):
        steps = self.without('free device a')
        graph = GRAPH.replace('op loss forward compute\nvariant default flops=1 bytes=1\nreads b',
                              'op loss forward compute\nvariant default flops=1 bytes=1\nreads a b')
        steps.insert(steps.index('run loss variant=0 algorithm=0') + 1, 'free device a')
        self.assert_objects('reads a, whose device range holds version 1 of b', steps, graph=graph)

    def test_objects_to_a_stale_host_copy(self):
        graph = GRAPH.replace('reads b\nwrites loss', 'reads b x\nwrites loss x')
        steps = self.without('free device x')
        steps.insert(steps.index('run loss variant=0 algorithm=0') + 1, 'free device x')
        self.assert_objects('reads x, whose host range holds version 1 of x', steps, graph=graph)

    def test_objects_to_waits_for_other_than_an_earlier_step_of_another_lane(self):
        for number in (4, 6, 30, 99):
            self.assert_objects('waits for a step that is not', self.changed(
                'wait compute for copy device host x', f'wait compute for {number}'))

    def test_objects_to_wrong_homes(self):
        for words, home, wrong in (
                ('reads w, which has no device range', 'home w device 0', 'home w host 0'),
                ('is not the only one of a state', 'home w device 0', 'home x device 0'),
                ('is not the only one of a state', 'home w device 0', 'home w.grad device 0'),
                ('overlap a live range', 'home w device 0', 'home w device 256'),
                ('outside of the arena', 'home w device 0', 'home w device 1792'),
                ('there is no tensor "v"', 'home w device 0', 'home v device 0')):
            self.assert_objects(words, self.changed(home, wrong))
        self.assert_objects('w is state: it belongs in its home', self.without('home w device 0'))
        allocated = ['home w.grad device 256', 'alloc device w 0'] + STEPS[2:]
        self.assert_objects('w is state, and has no home', allocated)

    def test_accepts_state_whose_home_is_the_host_tier(self):
        steps = ['home w host 0', AGAIN[1], 'alloc device w 0', 'copy host device w',
                 *AGAIN[2:6], 'wait compute for copy host device w', *AGAIN[6:],
                 'wait save for run w/update variant=0 algorithm=0', 'copy device host w', 'free device w']
        found = self.verify(steps, device=2304)
        self.assertEqual(found['objections'], [])
        self.assertEqual((found['floor_bytes'], found['floor_op']), (256 + 256 + 1024, 'conv'))

        def without(step):
            return [other for other in steps if other != step]

        for words, wrong in (
                ('reads w, whose device range holds nothing', without('copy host device w')),
                ('reads w without waiting for', without('wait compute for copy host device w')),
                ('w does not end with its whole value', without('copy device host w')),
                ('w is state: it belongs in its home', without('free device w')),
                ('reads w without waiting for', without('wait save for run w/update variant=0 algorithm=0')),
                ('gives a home back', steps + ['free host w'])):
            self.assert_objects(words, wrong, device=2304)

    def test_accepts_operations_that_use_state_in_host_memory(self):
        graph = GRAPH.replace('tensor w 256 parameter state', 'tensor w 256 parameter state host')
        steps = ['home w host 0', *AGAIN[1:]]
        found = self.verify(steps, graph, device=2304)
        self.assertEqual(found['objections'], [])
        self.assertEqual((found['floor_bytes'], found['floor_op']), (256 + 1280, 'loss/backward'))
        self.assert_objects('reads w, which has no device range', steps, device=2304)
        self.assert_objects('writes w, which has no device range', steps, device=2304)
        in_file = ['home w file 0', *AGAIN[1:]]
        objections = self.verify(in_file, graph, device=2304, spill=256)['objections']
        self.assertTrue(any('reads w, which has no device range' in line for line in objections), objections)

    def test_accepts_tensors_that_are_offloaded_to_the_file(self):
        lanes = {'save': 'spill', 'load': 'fetch'}
        steps = [re.sub(r'\b(save|load)\b', lambda lane: lanes[lane[0]], step.replace('host', 'file')) for step in STEPS]
        found = self.verify(steps, spill=512)
        self.assertEqual(found['objections'], [])
        self.assertEqual((found['spill_bytes'], found['offloaded_bytes']), (512, 512))
        self.assert_objects('outside of the arena', steps, spill=256)
        without = [step for step in steps if step != 'wait compute for copy file device x']
        self.assert_objects('reads x without waiting for', without, spill=512)
        self.assert_objects('a copy begins or ends on the device',
                            [step.replace('copy device file', 'copy host file') for step in steps], spill=512)
        stays = [step for step in steps if step != 'free file x']
        self.assert_objects('x is never freed in the file arena', stays, spill=512)

    def test_objects_to_operations_out_of_order_or_of_another_variant(self):
        conv, relu = STEPS.index('run conv variant=0 algorithm=1'), STEPS.index(
            'run relu variant=0 algorithm=0')
        steps = list(STEPS)
        steps[conv], steps[relu] = steps[relu], steps[conv]
        self.assert_objects('runs out of order', steps)
        for wrong in ('variant=1 algorithm=1', 'variant=-1 algorithm=1', 'variant=0 algorithm=2'):
            steps = self.changed('run conv variant=0 algorithm=1', 'run conv ' + wrong)
            self.assertTrue(self.verify(steps)['objections'], wrong)

    def test_accepts_a_plan_with_recomputation(self):
        found = self.verify(AGAIN, device=2304)
        self.assertEqual(found['objections'], [])
        self.assertEqual((found['recomputed'], found['offloaded_bytes']), (2, 0))

    def test_objects_to_every_change_in_a_recomputation(self):
        again = [i for i, step in enumerate(AGAIN) if step.endswith('recompute')]
        for i in again:
            changes = [AGAIN[:i] + AGAIN[i + 1:]]
            changes.append(changes[0][:i + 4] + [AGAIN[i]] + changes[0][i + 4:])
            for other in ('data', 'loss', 'relu/backward', 'w/update', 'nobody'):
                changes.append(AGAIN[:i] + [f'run {other} variant=0 algorithm=0 recompute'] + AGAIN[i + 1:])
            changes.append(AGAIN[:i] + [AGAIN[i].replace('algorithm=1', 'algorithm=0')
                                        .replace('relu variant=0 algorithm=0', 'relu variant=1 algorithm=0')]
                           + AGAIN[i + 1:])
            for steps in changes:
                self.assertTrue(self.verify(steps, device=2304)['objections'], steps[i])

    def test_objects_to_recomputations_that_give_other_bits(self):
        for words, old, new in (
                ('may run again', 'op conv forward compute repeatable', 'op conv forward compute'),
                ('may give other bits', 'seconds=1 deterministic=1', 'seconds=1 deterministic=0'),
                ('x has changed', 'reads b\nwrites loss', 'reads b x\nwrites loss x')):
            self.assert_objects(words, AGAIN, device=2304, graph=GRAPH.replace(old, new))
        self.assert_objects('before it has run', AGAIN[:2] + [AGAIN[16]] + AGAIN[2:], device=2304)

    def test_objects_to_kept_tensors_that_are_evicted_between_passes(self):
        graph = GRAPH.replace('tensor b 512 activation', 'tensor b 512 activation keep')
        plan = plan_text(AGAIN, device=2304)
        self.assertIn('pass_end 19 ', plan)
        words = 'b is marked keep but cannot be read between passes, before step '
        for end, said in ((19, False), (12, True), (11, False)):
            objections = self.verify_text(graph, plan.replace('pass_end 19 ', f'pass_end {end} '))['objections']
            self.assertEqual(f'{words}{end}' in objections, said, objections)

    def test_requires_saved_tensors_that_the_chosen_variant_reads(self):
        self.assert_objects('writes mask, which has no device range', self.changed(
            'run relu/backward variant=0 algorithm=0', 'run relu/backward variant=1 algorithm=0'))

    def test_reports_how_well_ranges_are_packed_without_objecting(self):
        found = self.verify(STEPS, device=2 * 1792)
        self.assertEqual([], found['objections'])
        self.assertEqual(2, found['packing'])

    def test_objects_to_names_that_do_not_exist(self):
        self.assert_objects('plan.txt:21: there is no tensor "other"', self.changed('free device a', 'free device other'))
        self.assert_objects('plan.txt:21: "juggle" is no kind of step', self.changed('free device a', 'juggle device a'))

    def test_places_outputs_on_inputs_by_a_maximum_matching(self):
        sizes = {'big': 512, 'small': 256, 'one': 512, 'two': 512}
        big, small, one, two = (plan_files.Tensor(name, size, 'activation', False, False)
                                for name, size in sizes.items())
        variant = plan_files.Variant([one, two], [big, small],
                               {('big', 'one'), ('big', 'two'), ('small', 'one')})
        self.assertEqual(plan_floor.saved_by_aliases(variant, [big, small]), 768)
        variant.alias.remove(('big', 'two'))
        self.assertEqual(plan_floor.saved_by_aliases(variant, [big, small]), 512)


if __name__ == '__main__':
    unittest.main()

#!/usr/bin/env python3
"""Self test of verify_plan.py: partly evicted tensors."""

import unittest

import test_verify_plan

# Computes x, then y, then z from y, and reads x together with z.
GRAPH = '''layrub-graph 4
graph parts
tensor w 256 parameter state
tensor x 1000 activation
tensor y 768 activation
tensor z 256 activation
op first forward compute
variant default flops=1 bytes=1
reads w
writes x
op second forward compute
variant default flops=1 bytes=1
writes y
op third forward compute
variant default flops=1 bytes=1
reads y
writes z
alias z y
op fourth forward compute
variant default flops=1 bytes=1
reads x z
end
'''

# 256 bytes of x stay while y uses the others.
STEPS = '''home w device 0
alloc device x 256
run first variant=0 algorithm=0
alloc host x 0
wait save for run first variant=0 algorithm=0
copy device host x 256 1000
free device x 256 1000
alloc device y 512
wait compute for copy device host x 256 1000
run second variant=0 algorithm=0
alloc device z 1280
run third variant=0 algorithm=0
free device y
alloc device x 256 256 1000
wait load for run third variant=0 algorithm=0
copy host device x 256 1000
wait compute for copy host device x 256 1000
run fourth variant=0 algorithm=0
free device z
free device x
free host x'''.split('\n')

KEEP = 'free device x 256 1000'
WHOLE = len(STEPS) - 1 - STEPS[::-1].index('alloc device x 256 256 1000')
COPIES = ('copy device host x', 'copy host device x')


def plan_text(steps, device=1536, readable='readable\n'):
    homes = [step for step in steps if step.startswith('home ')]
    number, lines = {}, []
    for step in steps[len(homes):]:
        head, _, awaited = step.partition(' for ')
        if awaited:
            if awaited not in number:
                continue
            step = f'{head} for {number[awaited]}'
        number[step] = len(lines)
        lines.append(step)
    header = (f'layrub-plan 5\nstrategy hand\ndevice_bytes {device}\nhost_bytes 1024\nspill_bytes 0\n'
              f'pass_end {len(lines)} {len(lines)} {len(lines)}\n' + readable + ''.join(f'{home}\n' for home in homes))
    return header + ''.join(f'{i} {line}\n' for i, line in enumerate(lines)) + 'end\n'


def after(step, *new, drop=0):
    """The steps with `new` after `step`, in place of the next `drop`."""
    at = (STEPS.index(step) if isinstance(step, str) else step) + 1
    return STEPS[:at] + list(new) + STEPS[at + drop:]


def changed(*pairs):
    """The steps with words replaced, also in the waits for them."""
    steps = list(STEPS)
    for old, new in pairs:
        steps = [step.replace(old, new) for step in steps]
    return steps


def moved():
    """The part has 512 bytes and moves to a range that overlaps its own before y is computed."""
    steps = changed((KEEP, 'free device x 512 1000'), (' x 256 1000', ' x 512 1000'), ('x 256 256 1000', 'x 256 512 1000'),
                    ('device y 512', 'device y 768'), ('device z 1280', 'device z 1536'))
    steps[1] = 'alloc device x 512'
    at = steps.index('free device x 512 1000') + 1
    return steps[:at] + ['copy device device x 256 0 512'] + steps[at:]


class VerifyParts(test_verify_plan.PlanCase):

    def verify(self, steps, **header):
        return self.verify_text(GRAPH, plan_text(steps, **header))

    def assert_objects(self, words, steps, **header):
        objections = self.verify(steps, **header)['objections']
        self.assertTrue(any(words in line for line in objections), f'{words!r} in {objections}')

    def test_accepts_a_part_that_stays_and_counts_its_bytes(self):
        found = self.verify(STEPS)
        self.assertEqual(found['objections'], [])
        self.assertEqual((found['live_bytes'], found['packing']), (1536, 1.0))
        self.assertEqual((found['offloaded_bytes'], found['moved_bytes']), (768, 0))

    def test_accepts_a_part_that_moves_and_counts_its_bytes(self):
        found = self.verify(moved(), device=1792)
        self.assertEqual(found['objections'], [])
        self.assertEqual((found['live_bytes'], found['moved_bytes']), (1792, 512))

    def test_accepts_copies_that_begin_earlier_than_needed(self):
        whole = changed(('copy device host x 256 1000', 'copy device host x'))
        self.assertEqual(self.verify(whole)['objections'], [])
        self.assertEqual(self.verify(changed(*((f'{c} 256 1000', c) for c in COPIES)))['objections'], [])

    def test_accepts_a_part_that_is_freed_entirely(self):
        steps = changed(*((f'{copy} 256 1000', copy) for copy in COPIES))
        at = steps.index(KEEP) + 1
        self.assertEqual(self.verify(steps[:at] + ['free device x 0 256'] + [step.replace('x 256 256 1000', 'x 256') for step in steps[at:]])['objections'], [])

    def test_objects_to_every_step_left_out(self):
        for steps, device in ((STEPS, 1536), (moved(), 1792)):
            for i, step in enumerate(steps):
                self.assertTrue(self.verify(steps[:i] + steps[i + 1:], device=device)['objections'],
                                f'without {step}')

    def test_accepts_parts_of_parts_and_parts_at_the_end_of_a_tensor(self):
        steps = changed((KEEP, 'free device x 512 1000'), ('device y 512', 'device y 768'), ('device z 1280', 'device z 1536'))
        at = steps.index('free device x 512 1000') + 1
        self.assertEqual(self.verify(steps[:at] + ['free device x 256 512'] + steps[at:], device=1792)['objections'], [])
        steps = changed((KEEP, 'free device x 0 768'), ('x 256 256 1000', 'x 256 0 768'), (' x 256 1000', ' x 0 768'),
                        ('device y 512', 'device y 256'))
        self.assertEqual(self.verify(steps)['objections'], [])

    def test_accepts_a_part_in_the_host_tier(self):
        steps = changed(('alloc host x 0', 'alloc host x 0 256 1000'), ('free host x', 'free host x 256 1000'))
        self.assertEqual(self.verify(steps)['objections'], [])
        self.assert_objects('x, but only bytes (0, 512) are there', after(KEEP, 'free host x 512 1000'))

    def test_objects_to_copies_of_bytes_that_are_not_resident(self):
        for begin, end in ((-256, 1000), (300, 1000), (1000, 1000), (256, 600), (0, 1024)):
            self.assert_objects(f'{begin} to {end} are no bytes of x', changed((KEEP, f'free device x {begin} {end}')))
        self.assert_objects('gives bytes 512 to 1024 of x back, which has 0 to 256', after(KEEP, 'free device x 512 1000'))
        self.assert_objects('gives bytes 256 to 512 of x back', changed((KEEP, 'free device x 256 512')))
        self.assert_objects('x is not the only tensor in its range', after('copy device host x 256 1000', 'alias z on x'))
        self.assert_objects('gives a home back', after(KEEP, 'free device w'))

    def test_objects_to_keeping_more_or_fewer_bytes(self):
        self.assert_objects('overlap a live range', changed((KEEP, 'free device x 512 1000')))
        self.assert_objects('overlap a live range', changed(('alloc device y 512', 'alloc device y 256')))
        for old, new in (('free device x 512 1000', 'free device x 256 1000'), ('x 256 0 512', 'x 256 0 256'),
                         ('x 256 0 512', 'x 256')):
            steps = [step.replace(old, new) for step in moved()]
            self.assert_objects('are on the device', steps, device=1792)
        self.assert_objects('but bytes (0, 1024) are on the device',
                            after('copy host device x 256 1000', 'copy device device x 512 0 256'))

    def test_objects_to_a_move_onto_bytes_that_are_still_being_offloaded(self):
        self.assert_objects('writes x without waiting for', after(KEEP, 'copy device device x 1024 0 256'))

    def test_objects_to_operations_that_use_a_part(self):
        for use in ('copy device host x', 'copy host device x', 'copy device host x 256 1000', 'copy host device x 256 1000',
                    'run fourth variant=0 algorithm=0', 'run first variant=0 algorithm=0'):
            self.assert_objects('x, but only bytes (0, 256) are there', after(KEEP, use))
        self.assert_objects('z cannot be put on x', after(KEEP, 'alias z on x'))

    def test_objects_to_prefetching_into_another_or_an_occupied_range(self):
        steps = list(STEPS)
        steps[WHOLE] = 'alloc device x 512 256 1000'
        self.assert_objects('lies elsewhere than the part of x, bytes 0 to 256 at 256', steps)
        self.assert_objects('overlap a live range', after(WHOLE - 1, 'alloc device y 512'))
        self.assert_objects('has a range already', after(WHOLE, 'alloc device x 256 256 1000'))
        steps = after(WHOLE - 1, 'copy device device x 768 0 256', 'alloc device x 768 256 1000', drop=1)
        self.assert_objects('misaligned or outside of the arena', steps)

    def test_objects_to_reading_bytes_that_are_not_prefetched_yet(self):
        for use in ('run fourth variant=0 algorithm=0', 'copy device host x', 'copy device device x 512'):
            self.assert_objects('reads x, whose device range holds bytes 0 to 256 only', after(WHOLE, use))

    def test_objects_to_reading_a_range_that_copies_have_not_filled(self):
        words = 'reads x, whose device range holds bytes 512 to 1000 only'
        self.assert_objects(words, changed(('host device x 256 1000', 'host device x 512 1000')))
        for load in ('copy host device x 256 1000', 'copy host device x'):
            self.assert_objects('whose host range holds bytes 512 to 1000 only', changed(
                ('device host x 256 1000', 'device host x 512 1000'), ('copy host device x 256 1000', load)))

    def test_accepts_a_copy_in_two_parts(self):
        first, second = 'copy host device x 256 512', 'copy host device x 512 1000'
        at = STEPS.index('copy host device x 256 1000')
        steps = STEPS[:at] + [first, second, f'wait compute for {second}'] + STEPS[at + 2:]
        self.assertEqual(self.verify(steps)['objections'], [])
        self.assert_objects('whose device range holds bytes 0 to 512 only', [step for step in steps if step != second])

    def test_objects_to_reusing_bytes_while_they_are_offloaded(self):
        steps = [step for step in STEPS if step != 'wait compute for copy device host x 256 1000']
        self.assert_objects('writes y without waiting for step 4 (copy device host x)', steps)

    def test_objects_to_values_that_are_incomplete_at_the_end(self):
        readable = 'readable x\n'
        self.assert_objects('whole value', STEPS[:-2] + STEPS[-2:-1], readable=readable)
        self.assert_objects('whole value', STEPS[:-2] + [KEEP, STEPS[-1]], readable=readable)
        self.assert_objects('x is never freed in the device', STEPS[:-2] + [KEEP, STEPS[-1]])
        self.assertEqual(self.verify(STEPS[:-2] + STEPS[-1:], readable=readable)['objections'], [])


if __name__ == '__main__':
    unittest.main()

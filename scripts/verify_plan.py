#!/usr/bin/env python3
"""Proves dumped plans: verify_plan.py GRAPH.txt PLAN.txt [PLAN.txt ...] [--json]

Recomputes from the two texts alone (docs/plan-format.md; `layrub plan --dump=DIR` writes them):
  floor      the least device bytes that any plan of this graph could need
  live       the largest sum of bytes that are live at once; packing them may cost 2 % at most:
             device_bytes <= 1.02 x live
  overlap    live ranges share no bytes, unless an alias that the operation allows put them there
  residency  every value that is read is where it is read, and nothing is left over at the end
  pieces     those of a copy follow one another and cover the tensor
  recompute  what runs again is repeatable, finds what it found first and sets no tensor back
  order      accesses of the same bytes by different lanes are ordered by wait steps
Prints each objection and one summary line a plan. Exit code 0: all proved; 1: objections, or a text
that cannot be read. Shares no code with the planner.
"""

import argparse
import bisect
import json
import sys

from plan_files import ALIGNMENT, BadInput, Form, aligned, option, read_graph, read_plan
from plan_floor import floor

PACKING_BOUND = 1.02
MIB = 2.0 ** 20
LANES = ('compute', 'save', 'load')
LANE_OF_KIND = {'fill': 0, 'compute': 0, 'recompute': 0, 'update': 0, 'move': 0, 'offload': 1,
                'prefetch': 2, 'feed': 2}
OPERATIONS = ('fill', 'compute', 'recompute', 'update', 'feed')


# ---------------------------------------------------------------- the walk


class Arena:
    """One tier: live ranges, what they hold, and who touched which bytes last."""

    def __init__(self, name, size):
        self.name, self.size = name, size
        self.range_of = {}  # tensor name -> [offset, bytes, tensors bound, value held]
        self.begins, self.live = [], []  # live ranges that are not empty, by offset
        self.live_bytes = self.peak = 0
        # Bytes from cuts[i] to cuts[i + 1] were last written by history[i][0] and since then last
        # read by history[i][1 + lane].
        self.cuts, self.history = [0], [(None,) * 4]

    def overlapping(self, offset, size):
        at = bisect.bisect_left(self.begins, offset + size) - 1
        return at >= 0 and self.live[at][0] + self.live[at][1] > offset

    def add(self, name, offset, size):
        self.range_of[name] = [offset, size, 1, None]
        if size:
            at = bisect.bisect_left(self.begins, offset)
            self.begins.insert(at, offset)
            self.live.insert(at, self.range_of[name])
        self.live_bytes += size
        self.peak = max(self.peak, self.live_bytes)

    def remove(self, name):
        block = self.range_of.pop(name)
        block[2] -= 1
        if block[2] == 0:
            self.live_bytes -= block[1]
            if block[1]:
                at = bisect.bisect_left(self.begins, block[0])
                del self.begins[at], self.live[at]

    def cut(self, at):
        index = bisect.bisect_left(self.cuts, at)
        if index == len(self.cuts) or self.cuts[index] != at:
            self.cuts.insert(index, at)
            self.history.insert(index, self.history[index - 1])
        return index

    def touch(self, begin, end, step, lane, write):
        """Returns the steps that used these bytes and conflict with this access."""
        if begin >= end:
            return ()
        first, last = self.cut(begin), self.cut(end)
        touched = self.history[first:last]
        if not write:
            self.history[first:last] = [
                h[:lane + 1] + (step,) + h[lane + 2:] for h in touched]
            return {h[0] for h in touched}
        self.cuts[first:last] = [begin]
        self.history[first:last] = [(step, None, None, None)]
        return {user for h in touched for user in h}


class Walk:
    """Runs a plan in program order, collecting objections. If all conflicting accesses are ordered,
    what is true in program order is true in every order in which the lanes may run."""

    def __init__(self, graph, plan):
        self.graph, self.plan = graph, plan
        self.objections = []
        self.device = Arena('device', plan.device_bytes)
        self.host = Arena('host', plan.host_bytes)
        self.arenas = {'device': self.device, 'host': self.host}
        self.clocks = {}  # timed step -> (lane, steps of each lane finished before it)
        self.now = {lane: [0, 0, 0] for lane in range(3)}
        self.version = dict.fromkeys(graph.tensors, 0)
        self.lies_on = {}
        self.ran = {}  # operation -> how it ran first: form and workspace, what it found and left
        self.recomputed = 0
        self.offloaded = 0
        self.moved = 0
        self.number = 0
        self.copying = None  # kind and name of a copy of which pieces have come, and where the next begins
        self.only_persistent = True
        self.read_somewhere = set()

    def object(self, text):
        step = ' '.join(self.plan.steps[self.number][:2])
        self.objections.append(f'step {self.number} ({step}): {text}')

    def run(self):
        for words in self.plan.steps:
            form = self.form(words) if words[0] in OPERATIONS else None
            self.read_somewhere.update(t.name for t in (form.reads if form else ()))
        for self.number, words in enumerate(self.plan.steps):
            try:
                self.step(words)
            except (KeyError, IndexError, ValueError):
                self.object('names something that does not exist')
        self.end()

    def form(self, words):
        """The form that an operation's step runs; None if there is no such operation or form."""
        op = self.graph.ops.get(words[1])
        number = option(words, 'form')
        return op.forms[number] if op and 0 <= number < len(op.forms) else None

    def step(self, words):
        kind, tensors = words[0], self.graph.tensors
        if self.copying and kind != 'wait' and (words[:2] != self.copying[:2] or len(words) < 4):
            self.object(f'stands between pieces of a copy of {self.copying[1]}')
            self.copying = None
        self.only_persistent &= kind == 'alloc' and tensors[words[2]].persistent
        if kind == 'alloc':
            self.alloc(self.arenas[words[1]], tensors[words[2]], int(words[3]))
        elif kind == 'free':
            self.free(self.arenas[words[1]], tensors[words[2]])
        elif kind == 'alias':
            self.alias(tensors[words[1]], words[3])
        elif kind == 'wait':
            self.wait(LANES.index(words[1]), int(words[3]))
        else:
            lane = LANE_OF_KIND[kind]
            self.clocks[self.number] = (lane, tuple(self.now[lane]))
            self.now[lane][lane] += 1
            if kind == 'move':
                self.move(tensors[words[1]], int(words[2]))
            elif kind not in OPERATIONS:
                self.copy(tensors[words[1]], words)
            else:
                self.operation(self.graph.ops[words[1]], words)

    def alloc(self, arena, tensor, offset):
        if tensor.name in arena.range_of:
            self.object('has a range already')
            return
        if tensor.persistent and arena is self.device and not self.only_persistent:
            self.object('persistent tensors are allocated before anything else')
        arena.add(tensor.name, offset, self.size_at(arena, tensor, offset))
        if tensor.persistent and arena is self.device:
            arena.range_of[tensor.name][3] = (tensor.name, 0)

    def size_at(self, arena, tensor, offset):
        """Bytes of a new range; 0 (and said) where it may not lie."""
        size = tensor.size
        if offset % ALIGNMENT or offset < 0 or offset + size > arena.size:
            self.object(f'{size} bytes at {offset} are misaligned or outside of the arena')
            size = 0
        elif size and arena.overlapping(offset, size):
            self.object(f'{size} bytes at {offset} overlap a live range')
            size = 0
        return size

    def move(self, tensor, offset):
        self.moved += tensor.size
        self.read(self.device, tensor)
        block = self.device.range_of[tensor.name]
        if tensor.persistent or block[2] > 1:
            self.object('is persistent, or not the only tensor in its range')
        held, live = block[3], self.device.live_bytes
        self.device.remove(tensor.name)  # it may go to bytes that it leaves
        size = self.size_at(self.device, tensor, offset)
        shared = max(0, min(block[0] + block[1], offset + size) - max(block[0], offset))
        self.device.peak = max(self.device.peak, live + size - shared)
        self.device.add(tensor.name, offset, size)
        self.write(self.device, tensor)
        self.device.range_of[tensor.name][3] = held

    def free(self, arena, tensor):
        if tensor.name not in arena.range_of:
            self.object('has no range')
            return
        if tensor.persistent and arena is self.device:
            self.object('a persistent tensor is never freed')
        arena.remove(tensor.name)
        if arena is self.device:
            self.lies_on.pop(tensor.name, None)

    def alias(self, tensor, on):
        block = self.device.range_of.get(on)
        if block is None or tensor.name in self.device.range_of or tensor.persistent:
            self.object(f'{tensor.name} cannot be put on {on}')
            return
        if tensor.size > block[1]:
            self.object(f'{tensor.name} is larger than the range of {on}')
        block[2] += 1
        self.device.range_of[tensor.name] = block
        self.lies_on[tensor.name] = on

    def wait(self, lane, step):
        if step not in self.clocks or self.clocks[step][0] == lane:
            self.object('waits for a step that is not an earlier one of another lane')
            return
        other, before = self.clocks[step]
        now = [max(pair) for pair in zip(self.now[lane], before)]
        now[other] = max(now[other], before[other] + 1)
        self.now[lane] = now

    def touch(self, arena, tensor, write, part=None):
        """An access of the bytes of a tensor, or of those in `part`."""
        block = arena.range_of[tensor.name]
        lane, clock = self.clocks[self.number]
        begin, end = (block[0] + min(block[1], tensor.size, at) for at in part or (0, tensor.size))
        for user in arena.touch(begin, end, self.number, lane, write):
            if user is None or user == self.number:
                continue
            other, before = self.clocks[user]
            if clock[other] <= before[other]:
                self.object(f'{"writes" if write else "reads"} {tensor.name} without waiting for '
                            f'step {user} ({" ".join(self.plan.steps[user][:2])}), which uses the '
                            f'same {arena.name} bytes')

    def read(self, arena, tensor, part=None):
        block = arena.range_of.get(tensor.name)
        if block is None:
            self.object(f'reads {tensor.name}, which has no {arena.name} range')
            return
        self.touch(arena, tensor, False, part)
        if block[3] != (tensor.name, self.version[tensor.name]):
            held = 'nothing' if block[3] is None else f'version {block[3][1]} of {block[3][0]}'
            self.object(f'reads {tensor.name}, whose {arena.name} range holds {held}')

    def write(self, arena, tensor):
        self.touch(arena, tensor, True)
        arena.range_of[tensor.name][3] = (tensor.name, self.version[tensor.name])

    def copy(self, tensor, words):
        down = words[0] == 'offload'
        source, target = (self.device, self.host) if down else (self.host, self.device)
        begin, size = (int(words[2]), int(words[3])) if len(words) > 2 else (0, tensor.length)
        end = begin + size
        if begin != (self.copying[2] if self.copying else 0) or end > tensor.length or (
                len(words) > 2 and (size <= 0 or end < tensor.length and size % ALIGNMENT)):
            self.object(f'bytes {begin} to {end} are not the next piece of {tensor.name}')
            self.copying = None
            return
        self.copying = [*words[:2], end] if end < tensor.length else None
        part = (begin, aligned(end))
        self.read(source, tensor, part)
        if tensor.name not in target.range_of:
            self.object(f'there is no {target.name} range to copy to')
            return
        if not down and tensor.name in self.lies_on:
            self.object(f'copies over {self.lies_on[tensor.name]}')
        self.offloaded += part[1] - begin if down else 0
        self.touch(target, tensor, True, part)
        target.range_of[tensor.name][3] = None if self.copying else (tensor.name, self.version[tensor.name])

    def operation(self, op, words):
        form = self.form(words)
        if form is None:
            raise ValueError
        again = words[0] == 'recompute'
        if again:
            self.again(op, form, words)
            written = {t.name for t in form.writes if t.persistent}
            form = Form([t for t in form.reads if t.name not in written],
                        [t for t in form.writes if not t.persistent], form.alias, form.scratch)
        else:
            self.turn(op, words[0])
        for tensor in form.reads:
            self.read(self.device, tensor)
        variant = option(words, 'scratch')
        if not 0 <= variant < max(len(form.scratch), 1):
            self.object(f'there is no scratch variant {variant}')
            variant = 0
        scratch = form.scratch[variant:variant + 1]
        outputs = []
        for tensor in form.writes + [t for t in scratch if t]:
            if tensor.name in self.device.range_of:
                outputs.append(tensor)
            elif tensor.role != 'saved' or tensor.name in self.read_somewhere:
                self.object(f'writes {tensor.name}, which has no device range')
        self.aliases(form, outputs)
        if not again:
            found = {t.name: self.version[t.name] for t in form.reads}
            for tensor in form.writes:
                self.version[tensor.name] += 1
            left = {t.name: self.version[t.name] for t in form.writes}
            self.ran[op.name] = (words[2:], found, left)
        for tensor in outputs:
            self.write(self.device, tensor)

    def again(self, op, form, words):
        """The operation gives the bits of its first run; persistent tensors that it writes take no part."""
        self.recomputed += 1
        if not op.repeatable or op.phase != 0 or op.kind != 'compute':
            self.object('is not a forward operation that may run again')
        if op.name not in self.ran:
            self.object('runs again before it has run')
            return
        words_then, found, left = self.ran[op.name]
        variant = option(words, 'scratch')
        if words[2:] != words_then or not all(form.deterministic[variant:variant + 1]):
            self.object('runs again in another form or with a workspace that may give other bits')
        alone = {t.name for t in form.writes if t.persistent}
        for then in (found, left):
            for name in set(then) - alone:
                if self.version[name] != then[name]:
                    self.object(f'{name} has changed since it ran first')

    def turn(self, op, kind):
        if len(self.ran) != op.number:
            self.object('runs out of order')
        begin = self.plan.pass_end[op.phase - 1] if op.phase else 0
        if kind != op.kind or not begin <= self.number < self.plan.pass_end[op.phase]:
            self.object('runs as the wrong kind of step or in the wrong pass')

    def aliases(self, form, outputs):
        range_of = self.device.range_of
        written = set()
        for output in outputs:
            block = range_of[output.name]
            under = {t.name for t in form.reads if range_of.get(t.name) is block}
            under.add(self.lies_on.pop(output.name, output.name))
            for name in under - {output.name}:
                if (output.name, name) not in form.alias:
                    self.object(f'writes {output.name} on the bytes of {name}, '
                                'which the form does not allow')
            if id(block) in written:
                self.object(f'writes {output.name} on the bytes of another output')
            written.add(id(block))

    def end(self):
        plan, graph = self.plan, self.graph
        complain = self.objections.append
        if self.copying:
            complain(f'the last copy of {self.copying[1]} is not complete')
        if len(self.ran) != len(graph.ops):
            complain(f'{len(self.ran)} operations run, the graph has {len(graph.ops)}')
        if sorted(plan.pass_end) != list(plan.pass_end) or plan.pass_end[2] != len(plan.steps):
            complain('pass_end does not cut the steps into three')
        readable = set(plan.readable)
        for name in readable - set(graph.tensors):
            complain(f'readable names {name}, which does not exist')
        for name, tensor in graph.tensors.items():
            where = [a for a in (self.device, self.host) if name in a.range_of]
            if tensor.keep and not tensor.persistent and name not in readable:
                complain(f'{name} is marked keep but is not readable at the end')
            if not tensor.persistent and name not in readable:
                if where:
                    complain(f'{name} is never freed in the {where[0].name} arena')
            elif tensor.persistent and (where != [self.device] or name in readable):
                complain(f'{name} is persistent: it belongs on the device, unlisted')
            elif len(where) != 1 or where[0].range_of[name][3] != (name, self.version[name]):
                complain(f'{name} does not end with its value in exactly one place')


# ---------------------------------------------------------------- the answer


def verify(graph, plan):
    """Returns the summary as a dictionary; `objections` is empty for a proved plan."""
    walk = Walk(graph, plan)
    walk.run()
    floor_bytes, floor_op = floor(graph)
    live = walk.device.peak
    if plan.device_bytes > PACKING_BOUND * live:
        walk.objections.append(f'device_bytes {plan.device_bytes} is more than {PACKING_BOUND} x '
                               f'the live bytes, {live}')
    if plan.device_bytes < floor_bytes:
        walk.objections.append(f'device_bytes {plan.device_bytes} is below the floor {floor_bytes}')
    return {
        'graph': graph.name, 'strategy': plan.strategy, 'steps': len(plan.steps),
        'device_bytes': plan.device_bytes, 'host_bytes': plan.host_bytes,
        'live_bytes': live, 'packing': round(plan.device_bytes / live, 4) if live else 1.0,
        'floor_bytes': floor_bytes, 'floor_op': floor_op, 'offloaded_bytes': walk.offloaded,
        'moved_bytes': walk.moved,
        'recomputed': walk.recomputed, 'objections': walk.objections,
    }


def summary(found):
    verdict = f'{len(found["objections"])} OBJECTIONS' if found['objections'] else 'proved'
    return (f'{found["graph"]} {found["strategy"]}: {verdict}, {found["steps"]} steps, '
            f'device {found["device_bytes"] / MIB:.2f} MiB = {found["packing"]:.4f} x live bytes '
            f'(bound {PACKING_BOUND}), floor {found["floor_bytes"] / MIB:.2f} MiB at '
            f'{found["floor_op"] or "none"}, host {found["host_bytes"] / MIB:.2f} MiB, '
            f'offloaded {found["offloaded_bytes"] / MIB:.2f} MiB, '
            f'moved within the device {found["moved_bytes"] / MIB:.2f} MiB, '
            f'{found["recomputed"]} operations run again')


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    parser.add_argument('graph')
    parser.add_argument('plans', nargs='+', metavar='plan')
    parser.add_argument('--json', action='store_true', help='print one JSON object a plan')
    arguments = parser.parse_args()
    proved = True
    try:
        graph = read_graph(arguments.graph)
        for path in arguments.plans:
            found = verify(graph, read_plan(path))
            proved = proved and not found['objections']
            if not arguments.json:
                for objection in found['objections']:
                    print(f'{path}: {objection}')
            print(json.dumps(found) if arguments.json else summary(found))
    except BadInput as error:
        sys.exit(f'verify_plan.py: {error}')
    return 0 if proved else 1


if __name__ == '__main__':
    sys.exit(main())

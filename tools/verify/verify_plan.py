#!/usr/bin/env python3
"""Proves dumped plans: verify_plan.py GRAPH.txt PLAN.txt [PLAN.txt ...] [--json]

Recomputes from the two texts alone (docs/plan-format.md; `layrub plan --dump=DIR` writes them):
  floor      the least device bytes that any plan of this graph could need
  live       the largest sum of bytes that are live at once; device_bytes by it says how good the
             packing is, which is told, and proves nothing
  overlap    live ranges share no bytes, unless an alias that the operation allows put them there
  residency  every value that is read is where it is read, and nothing is left over at the end
  parts      a copy goes to the end of its tensor, and what is before it is there already; a part left
             on the device is made whole before it is used
  recompute  what runs again is repeatable, finds what it found first and sets no tensor back
  order      accesses of the same bytes by different lanes are ordered by wait steps
Prints each objection and one summary line a plan. Exit code 0: all proved; 1: objections, or a text
that cannot be read. Shares no code with the planner.
"""

import argparse
import json

from plan_files import ALIGNMENT, Form, aligned, choice, read_graph, read_plan
from plan_floor import floor
from plan_memory import Block, Memory
from script import run_script

MIB = 2.0 ** 20
LANES = ('compute', 'save', 'load')
LANE_OF_KIND = {'fill': 0, 'compute': 0, 'recompute': 0, 'update': 0, 'move': 0, 'offload': 1,
                'prefetch': 2, 'feed': 2}
OPERATIONS = ('fill', 'compute', 'recompute', 'update', 'feed')


# ---------------------------------------------------------------- the walk


class Walk(Memory):
    """Runs a plan in program order, collecting objections. If all conflicting accesses are ordered,
    what is true in program order is true in every order in which the lanes may run."""

    def __init__(self, graph, plan):
        super().__init__(graph, plan)
        self.graph = graph
        self.lies_on = {}
        self.ran = {}  # operation -> how it ran first: form and workspace, what it found and left
        self.recomputed = 0
        self.offloaded = 0
        self.moved = 0
        self.read_somewhere = set()

    def run(self):
        for words in self.plan.steps:
            if words[0] in OPERATIONS:
                self.read_somewhere.update(t.name for t in self.form(words).reads)
        for tensor, tier, offset in self.plan.homes:
            self.home(tensor, tier, offset)
        with_home = [tensor.name for tensor, *_ in self.plan.homes]
        if with_home != [name for name in self.graph.tensors if name in with_home]:
            self.object('they are not in the order of tensors, one for each')
        for self.number, words in enumerate(self.plan.steps):
            if self.number in self.plan.pass_end[:2]:
                self.between_passes()
            self.step(words)
        self.end()

    def form(self, words):
        """The form that an operation's step runs."""
        return self.graph.ops[words[1]].forms[choice(words)[0]]

    def step(self, words):
        kind, tensors = words[0], self.graph.tensors
        if kind == 'alloc':
            self.alloc(self.arenas[words[1]], tensors[words[2]], int(words[3]))
        elif kind == 'free':
            self.free(self.arenas[words[1]], tensors[words[2]], part_size(words))
        elif kind == 'alias':
            self.alias(tensors[words[1]], words[3])
        elif kind == 'wait':
            self.wait(LANES.index(words[1]), int(words[3]))
        else:
            self.queue(LANE_OF_KIND[kind])
            if kind == 'move':
                self.move(tensors[words[1]], int(words[2]), part_size(words))
            elif kind not in OPERATIONS:
                self.copy(tensors[words[1]], words)
            else:
                self.operation(self.graph.ops[words[1]], words)

    def home(self, tensor, tier, offset):
        """Where a state tensor is from the start, with the value that the iteration before has left."""
        if not tensor.state or tier != 'device' or tensor.name in self.device.range_of:
            self.object(f'that of {tensor.name} is not the only one, on the device, of a state tensor')
            return
        self.device.add(tensor.name, Block(offset, self.size_at(self.device, tensor.size, offset)))
        self.device.range_of[tensor.name].hold((tensor.name, 0))

    def alloc(self, arena, tensor, offset):
        block = arena.range_of.get(tensor.name)
        if block and block.part:
            if offset != block.offset:
                self.object(f'does not begin where the part of {tensor.name} does, at {block.offset}')
            self.rebind(tensor, offset, tensor.size)
            return
        if block:
            self.object('has a range already')
            return
        if tensor.state and arena is self.device:
            self.object(f'{tensor.name} is state, and has no home')
        arena.add(tensor.name, Block(offset, self.size_at(arena, tensor.size, offset)))

    def rebind(self, tensor, offset, size):
        """A range of the device for the one that the tensor has, which it may overlap."""
        old = self.device.range_of[tensor.name]
        self.device.remove(tensor.name)
        new = Block(offset, self.size_at(self.device, size, offset))
        new.hold(old.held, old.begin, old.end)
        self.device.add(tensor.name, new)
        return old, new

    def size_at(self, arena, size, offset):
        """The size of a new range; 0 (and said) where it may not lie."""
        if offset % ALIGNMENT or offset < 0 or offset + size > arena.size:
            self.object(f'{size} bytes at {offset} are misaligned or outside of the arena')
            size = 0
        elif size and arena.overlapping(offset, size):
            self.object(f'{size} bytes at {offset} overlap a live range')
            size = 0
        return size

    def move(self, tensor, offset, said):
        block = self.device.range_of.get(tensor.name)
        if block is None:
            self.object(f'moves {tensor.name}, which has no device range')
            return
        part = block.part
        size = block.size if part else tensor.size
        if said != (size if part else None):
            self.object(f'moves {"all" if said is None else said} bytes of {tensor.name}, of which '
                        f'{size if part else "all"} are on the device')
        if tensor.state or block.bound > 1:
            self.object('is state, or not the only tensor in its range')
        self.moved += size
        span = (0, size) if part else None
        self.read(self.device, tensor, span)
        live = self.device.live_bytes
        old, new = self.rebind(tensor, offset, size)
        new.part = part
        shared = max(0, min(old.offset + old.size, offset + new.size) - max(old.offset, offset))
        self.device.peak = max(self.device.peak, live + new.size - shared)
        self.touch(self.device, tensor, True, span)

    def free(self, arena, tensor, kept=None):
        if tensor.name not in arena.range_of:
            self.object('has no range')
            return
        if tensor.state and arena is self.device:
            self.object('a state tensor is never freed')
        if kept is None:
            arena.remove(tensor.name)
        elif not self.may_keep(arena, tensor, kept):
            return
        else:
            arena.shrink(tensor.name, kept)
        if arena is self.device:
            self.lies_on.pop(tensor.name, None)

    def may_keep(self, arena, tensor, kept):
        block = arena.range_of[tensor.name]
        if arena is not self.device or block.part or block.bound > 1:
            self.object(f'keeps a part of {tensor.name}, which is not whole and alone in a range of the device')
            return False
        if kept <= 0 or kept % ALIGNMENT or kept >= tensor.length:
            self.object(f'{kept} bytes are no part of {tensor.name}')
            return False
        return True

    def alias(self, tensor, on):
        block = self.device.range_of.get(on)
        if block is None or block.part or tensor.name in self.device.range_of or tensor.state:
            self.object(f'{tensor.name} cannot be put on {on}')
            return
        if tensor.size > block.size:
            self.object(f'{tensor.name} is larger than the range of {on}')
        block.bound += 1
        self.device.range_of[tensor.name] = block
        self.lies_on[tensor.name] = on

    def copy(self, tensor, words):
        down = words[0] == 'offload'
        source, target = (self.device, self.host) if down else (self.host, self.device)
        begin, size = (int(words[2]), int(words[3])) if len(words) > 2 else (0, tensor.length)
        if begin + size != tensor.length or (len(words) > 2 and (begin < 0 or begin % ALIGNMENT or size <= 0)):
            self.object(f'bytes {begin} to {begin + size} do not go from an aligned one to the end of {tensor.name}')
            return
        part = (begin, aligned(tensor.length))
        self.read(source, tensor, part)
        if tensor.name not in target.range_of:
            self.object(f'there is no {target.name} range to copy to')
            return
        if not down and tensor.name in self.lies_on:
            self.object(f'copies over {self.lies_on[tensor.name]}')
        if not down and begin > 0 and not target.range_of[tensor.name].has(self.value(tensor), 0, begin):
            self.object(f'begins at byte {begin} of {tensor.name}, and not all bytes before are on the device')
        self.offloaded += part[1] - begin if down else 0
        self.touch(target, tensor, True, part)
        target.range_of[tensor.name].hold(self.value(tensor), begin if down else 0)

    def operation(self, op, words):
        form = self.form(words)
        again = words[0] == 'recompute'
        if again:
            self.again(op, form, words)
            written = {t.name for t in form.writes if t.state}
            form = Form([t for t in form.reads if t.name not in written],
                        [t for t in form.writes if not t.state], form.alias, form.scratch)
        else:
            self.turn(op, words[0])
        for tensor in form.reads:
            self.read(self.device, tensor)
        variant = choice(words)[1]
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
        """The operation gives the bits of its first run; state tensors that it writes take no part."""
        self.recomputed += 1
        if not op.repeatable or op.phase != 0 or op.kind != 'compute':
            self.object('is not a forward operation that may run again')
        if op.name not in self.ran:
            self.object('runs again before it has run')
            return
        words_then, found, left = self.ran[op.name]
        variant = choice(words)[1]
        if words[2:] != words_then or not all(form.deterministic[variant:variant + 1]):
            self.object('runs again in another form or with a workspace that may give other bits')
        alone = {t.name for t in form.writes if t.state}
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

    def between_passes(self):
        """The user may read what is marked keep and has been written."""
        for name, tensor in self.graph.tensors.items():
            if tensor.keep and not tensor.state and self.version[name] and not any(
                    name in arena.range_of and arena.range_of[name].has(self.value(tensor), 0, tensor.length)
                    for arena in (self.device, self.host)):
                self.objections.append(f'{name} is marked keep but cannot be read between passes, '
                                       f'before step {self.number}')

    def end(self):
        plan, graph = self.plan, self.graph
        complain = self.objections.append
        if len(self.ran) != len(graph.ops):
            complain(f'{len(self.ran)} operations run, the graph has {len(graph.ops)}')
        readable = set(plan.readable)
        for name, tensor in graph.tensors.items():
            where = [a for a in (self.device, self.host) if name in a.range_of]
            if tensor.keep and not tensor.state and name not in readable:
                complain(f'{name} is marked keep but is not readable at the end')
            if not tensor.state and name not in readable:
                if where:
                    complain(f'{name} is never freed in the {where[0].name} arena')
            elif tensor.state and (where != [self.device] or name in readable):
                complain(f'{name} is state: it belongs in its home, unlisted')
            elif len(where) != 1 or not where[0].range_of[name].has(self.value(tensor), 0, tensor.length):
                complain(f'{name} does not end with its whole value in exactly one place')


def part_size(words):
    """The number that ends a free or move of a part; None where there is none."""
    return int(words[3]) if len(words) > 3 else None


# ---------------------------------------------------------------- the answer


def verify(graph, plan):
    """Returns the summary as a dictionary; `objections` is empty for a proved plan."""
    walk = Walk(graph, plan)
    walk.run()
    floor_bytes, floor_op = floor(graph)
    live = walk.device.peak
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
            f'device {found["device_bytes"] / MIB:.2f} MiB = {found["packing"]:.4f} x live bytes, '
            f'floor {found["floor_bytes"] / MIB:.2f} MiB at '
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
    graph = read_graph(arguments.graph)
    for path in arguments.plans:
        found = verify(graph, read_plan(path, graph))
        proved = proved and not found['objections']
        if not arguments.json:
            for objection in found['objections']:
                print(f'{path}: {objection}')
        print(json.dumps(found) if arguments.json else summary(found))
    return 0 if proved else 1


if __name__ == '__main__':
    run_script(main)

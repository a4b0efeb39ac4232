#!/usr/bin/env python3
"""Checks dumped plans: verify_plan.py GRAPH.txt PLAN.txt [PLAN.txt ...] [--json]

Computes from the two texts alone (docs/plan-format.md; `layrub plan --dump=DIR` writes them):
  floor      the least device bytes that any plan with the homes of this one could need
  live       the largest sum of bytes that are live at once; device_bytes by it says how good the
             packing is, which is told, and proves nothing
  overlap    live ranges share no bytes, unless an alias that the operation allows put them there
  residency  every value that is read is where it is read, and nothing is left over at the end
  parts      what a tensor keeps or gets of a range adjoins; an operation finds all of it there
  recompute  what runs again is repeatable, finds what it found first and sets no tensor back
  order      accesses of the same bytes by different lanes are ordered by wait steps
Prints each objection and one summary line per plan. Exit code 0: all plans are proved; 1: objections, or a text that
cannot be read. Shares no code with the planner.
"""

import argparse
import json

from plan_files import ALIGNMENT, TENSOR_AT, Variant, aligned, choice, is_move, piece, read_graph, read_plan
from plan_devices import verify_devices
from plan_floor import floor
from plan_memory import Block, Memory
from script import run_script

MIB = 2.0 ** 20
LANES = ('compute', 'save', 'load', 'spill', 'fetch')
COPIES = {('device', 'host'): 'save', ('host', 'device'): 'load',
          ('device', 'file'): 'spill', ('file', 'device'): 'fetch'}


# ---------------------------------------------------------------- the walk


class Walk(Memory):
    """Runs a plan in program order and collects objections. If all conflicting accesses are ordered, what holds in
    program order holds in every order in which the lanes may run."""

    def __init__(self, graph, plan):
        super().__init__(graph, plan)
        self.graph = graph
        self.homes = {}  # state tensor -> the arena of its home
        self.lies_on = {}
        self.ran = {}  # operation -> its first run: variant and workspace, the values that it read and wrote
        self.recomputed = 0
        self.offloaded = 0
        self.moved = 0
        self.read_somewhere = set()

    def run(self):
        for words in self.plan.steps:
            if words[0] == 'run':
                self.read_somewhere.update(t.name for t in self.variant(words).reads)
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

    def variant(self, words):
        """The variant that an operation's step runs."""
        return self.graph.ops[words[1]].variants[choice(words)[0]]

    def step(self, words):
        kind, tensors = words[0], self.graph.tensors
        if kind in TENSOR_AT:
            tensor = tensors[words[TENSOR_AT[kind]]]
            begin, end = piece(words, tensor)
            if (begin, end) != (0, tensor.length) and not (
                    0 <= begin < end <= tensor.length and begin % ALIGNMENT == 0
                    and (end == tensor.length or end % ALIGNMENT == 0)):
                self.object(f'{begin} to {end} are no bytes of {tensor.name}, or not aligned')
                return
        if kind == 'alloc':
            self.alloc(self.arenas[words[1]], tensor, int(words[3]), begin, aligned(end))
        elif kind == 'free':
            self.free(self.arenas[words[1]], tensor, begin, aligned(end))
        elif kind == 'alias':
            self.alias(tensors[words[1]], words[3])
        elif kind == 'wait':
            self.wait(LANES.index(words[1]), int(words[3]))
        elif is_move(words):
            self.queue(LANES.index('compute'))
            self.move(tensor, int(words[4]), begin, aligned(end))
        elif kind == 'copy':
            self.queue(LANES.index(COPIES[words[1], words[2]]))
            self.copy(tensor, self.arenas[words[1]], self.arenas[words[2]], begin, end)
        else:
            op = self.graph.ops[words[1]]
            self.queue(LANES.index('load' if op.kind == 'feed' else 'compute'))
            self.operation(op, words)

    def home(self, tensor, tier, offset):
        """Places a state tensor at its home, with the value that the previous iteration has left."""
        if not tensor.state or tensor.name in self.homes:
            self.object(f'that of {tensor.name} is not the only one of a state tensor')
            return
        arena = self.homes[tensor.name] = self.arenas[tier]
        arena.add(tensor.name, Block(offset, self.size_at(arena, tensor.size, offset)))
        arena.range_of[tensor.name].hold((tensor.name, 0))

    def alloc(self, arena, tensor, offset, begin, end):
        block = arena.range_of.get(tensor.name)
        if tensor.state and tensor.name not in self.homes:
            self.object(f'{tensor.name} is state, and has no home')
        if not block:
            self.give(arena, tensor, offset, begin, end)
            return
        first, last = block.place()
        if block.size >= tensor.size or block.bound > 1 or (end != first and begin != last):
            self.object(f'has a range already, with bytes {first} to {last}')
            return
        if offset != block.offset - first:
            self.object(f'lies elsewhere than the part of {tensor.name}, bytes {first} to {last} at {block.offset}')
        self.give(arena, tensor, offset, min(begin, first), max(end, last))

    def give(self, arena, tensor, offset, begin, end):
        """Gives the tensor a range for its bytes [begin, end), in place of its old range, if any, which it may
        overlap."""
        old = arena.range_of.get(tensor.name)
        if old:
            arena.remove(tensor.name)
        new = Block(offset + begin, self.size_at(arena, end - begin, offset + begin), begin)
        if old:
            new.hold(old.held, old.begin, old.end)
        arena.add(tensor.name, new)
        return old, new

    def size_at(self, arena, size, offset):
        """The size of a new range; 0, with an objection, if it must not be there."""
        if offset % ALIGNMENT or offset < 0 or offset + size > arena.size:
            self.object(f'{size} bytes at {offset} are misaligned or outside of the arena')
            size = 0
        elif size and arena.overlapping(offset, size):
            self.object(f'{size} bytes at {offset} overlap a live range')
            size = 0
        return size

    def move(self, tensor, offset, begin, end):
        block = self.device.range_of.get(tensor.name)
        if block is None:
            self.object(f'moves {tensor.name}, which has no device range')
            return
        if (begin, end) != block.place():
            self.object(f'moves bytes {begin} to {end} of {tensor.name}, but bytes {block.place()} are on the device')
        if self.homes.get(tensor.name) is self.device or block.bound > 1:
            self.object('is state in its home, or not the only tensor in its range')
        self.moved += block.size
        self.read(self.device, tensor, (begin, end))
        live = self.device.live_bytes
        old, new = self.give(self.device, tensor, offset, *block.place())
        shared = max(0, min(old.offset + old.size, new.offset + new.size) - max(old.offset, new.offset))
        self.device.peak = max(self.device.peak, live + new.size - shared)
        self.touch(self.device, tensor, True, (begin, end))

    def free(self, arena, tensor, begin, end):
        block = arena.range_of.get(tensor.name)
        if block is None:
            self.object('has no range')
            return
        if self.homes.get(tensor.name) is arena:
            self.object('gives a home back')
        first, last = block.place()
        if arena is self.device:
            self.lies_on.pop(tensor.name, None)
        if end == tensor.size:
            end = max(end, last)  # of the range that it aliases, too
        if (begin, end) == (first, last) or (begin == first == 0 and block.size == 0):
            arena.remove(tensor.name)
        elif begin < first or end > last or (begin != first and end != last):
            self.object(f'gives bytes {begin} to {end} of {tensor.name} back, which has {first} to {last}')
        elif block.bound > 1:
            self.object(f'{tensor.name} is not the only tensor in its range')
        else:
            left = (end, last) if begin == first else (first, begin)
            _, new = self.give(arena, tensor, block.offset - first, *left)
            new.begin, new.end = max(new.begin, left[0]), min(new.end, left[1])

    def alias(self, tensor, on):
        block = self.device.range_of.get(on)
        if block is None or block.size < self.graph.tensors[on].size or tensor.name in self.device.range_of or tensor.state:
            self.object(f'{tensor.name} cannot be put on {on}')
            return
        if tensor.size > block.size:
            self.object(f'{tensor.name} is larger than the range of {on}')
        block.bound += 1
        self.device.range_of[tensor.name] = block
        self.lies_on[tensor.name] = on

    def copy(self, tensor, source, target, begin, end):
        self.read(source, tensor, (begin, end))
        if tensor.name not in target.range_of:
            self.object(f'there is no {target.name} range to copy to')
            return
        if target is self.device and tensor.name in self.lies_on:
            self.object(f'copies over {self.lies_on[tensor.name]}')
        self.offloaded += aligned(end) - begin if target is not self.device else 0
        self.touch(target, tensor, True, (begin, end))
        target.range_of[tensor.name].hold(self.value(tensor), begin, end)

    def operation(self, op, words):
        variant = self.variant(words)
        again = words[4:] == ['recompute']
        if again:
            self.again(op, variant, words)
            written = {t.name for t in variant.writes if t.state}
            variant = Variant([t for t in variant.reads if t.name not in written],
                        [t for t in variant.writes if not t.state], variant.alias, variant.algorithms)
        else:
            self.turn(op)
        for tensor in variant.reads:
            self.read(self.in_use(tensor), tensor)
        chosen = choice(words)[1]
        workspaces = variant.algorithms[chosen:chosen + 1]
        outputs, in_host_memory = [], []
        for tensor in variant.writes + [t for t in workspaces if t]:
            if tensor.name in self.device.range_of:
                outputs.append(tensor)
            elif self.in_use(tensor) is not self.device:
                in_host_memory.append(tensor)
            elif tensor.role != 'saved' or tensor.name in self.read_somewhere:
                self.object(f'writes {tensor.name}, which has no device range')
        self.aliases(variant, outputs)
        if not again:
            found = {t.name: self.version[t.name] for t in variant.reads}
            for tensor in variant.writes:
                self.version[tensor.name] += 1
            left = {t.name: self.version[t.name] for t in variant.writes}
            self.ran[op.name] = (words[2:4], found, left)
        for tensor in outputs:
            self.write(self.device, tensor)
        for tensor in in_host_memory:
            self.write(self.arenas['host'], tensor)

    def in_use(self, tensor):
        """The arena in which operations use the tensor: that of its home in host memory if it has no device range."""
        in_place = tensor.host and tensor.name not in self.device.range_of and self.homes.get(tensor.name) is self.arenas['host']
        return self.arenas['host'] if in_place else self.device

    def again(self, op, variant, words):
        """Checks that a recomputation gives the bits of the first run. State tensors that it writes do not count."""
        self.recomputed += 1
        if not op.repeatable or op.phase != 0 or op.kind != 'compute':
            self.object('is not a forward operation that may run again')
        if op.name not in self.ran:
            self.object('runs again before it has run')
            return
        words_then, found, left = self.ran[op.name]
        chosen = choice(words)[1]
        if words[2:4] != words_then or not all(variant.deterministic[chosen:chosen + 1]):
            self.object('runs again in another variant or with a workspace that may give other bits')
        alone = {t.name for t in variant.writes if t.state}
        for then in (found, left):
            for name in set(then) - alone:
                if self.version[name] != then[name]:
                    self.object(f'{name} has changed since it ran first')

    def turn(self, op):
        if len(self.ran) != op.number:
            self.object('runs out of order')
        begin = self.plan.pass_end[op.phase - 1] if op.phase else 0
        if not begin <= self.number < self.plan.pass_end[op.phase]:
            self.object('runs in the wrong pass')

    def aliases(self, variant, outputs):
        range_of = self.device.range_of
        written = set()
        for output in outputs:
            block = range_of[output.name]
            under = {t.name for t in variant.reads if range_of.get(t.name) is block}
            under.add(self.lies_on.pop(output.name, output.name))
            for name in under - {output.name}:
                if (output.name, name) not in variant.alias:
                    self.object(f'writes {output.name} on the bytes of {name}, '
                                'which the variant does not allow')
            if id(block) in written:
                self.object(f'writes {output.name} on the bytes of another output')
            written.add(id(block))

    def between_passes(self):
        """Checks that the user can read state, and tensors that are marked keep and have been written."""
        for name, tensor in self.graph.tensors.items():
            readable = name in self.homes if tensor.state else tensor.keep and self.version[name]
            if readable and not any(
                    name in arena.range_of and arena.range_of[name].has(self.value(tensor), 0, tensor.length)
                    for arena in self.arenas.values()):
                self.objections.append(f'{name} is {"state" if tensor.state else "marked keep"} '
                                       'but cannot be read between passes, '
                                       f'before step {self.number}')

    def end(self):
        plan, graph = self.plan, self.graph
        complain = self.objections.append
        if len(self.ran) != len(graph.ops):
            complain(f'{len(self.ran)} operations run, the graph has {len(graph.ops)}')
        readable = set(plan.readable)
        for name, tensor in graph.tensors.items():
            where = [a for a in self.arenas.values() if name in a.range_of]
            if tensor.keep and not tensor.state and name not in readable:
                complain(f'{name} is marked keep but is not readable at the end')
            if not tensor.state and name not in readable:
                if where:
                    complain(f'{name} is never freed in the {where[0].name} arena')
            elif tensor.state and (where != [self.homes.get(name)] or name in readable):
                complain(f'{name} is state: it belongs in its home, unlisted')
            elif len(where) != 1 or not where[0].range_of[name].has(self.value(tensor), 0, tensor.length):
                complain(f'{name} does not end with its whole value in exactly one place')


# ---------------------------------------------------------------- the answer


def verify(graph, plan):
    """Returns the summary as a dictionary; `objections` is empty for a proved plan."""
    walk = Walk(graph, plan)
    walk.run()
    away = {name: arena.name for name, arena in walk.homes.items() if arena is not walk.device}
    floor_bytes, floor_op = floor(graph, away)
    live = walk.device.peak
    if plan.device_bytes < floor_bytes:
        walk.objections.append(f'device_bytes {plan.device_bytes} is below the floor {floor_bytes}')
    return {
        'graph': graph.name, 'strategy': plan.strategy, 'steps': len(plan.steps),
        'device_bytes': plan.device_bytes, 'host_bytes': plan.host_bytes,
        'spill_bytes': plan.spill_bytes,
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
            f'{found["floor_op"] or "none"}, host {found["host_bytes"] / MIB:.2f} MiB, file {found["spill_bytes"] / MIB:.2f} MiB, '
            f'offloaded {found["offloaded_bytes"] / MIB:.2f} MiB, '
            f'moved within the device {found["moved_bytes"] / MIB:.2f} MiB, '
            f'{found["recomputed"]} operations run again')


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    parser.add_argument('graph')
    parser.add_argument('plans', nargs='+', metavar='plan')
    parser.add_argument('--devices', metavar='NET', help='the net.prototxt beside them, if the net is divided among devices: prove, '
                        'too, that the layers of all devices have the parts that they need')
    parser.add_argument('--json', action='store_true', help='print one JSON object a plan')
    arguments = parser.parse_args()
    proved = True
    graph = read_graph(arguments.graph)
    divided = None
    if arguments.devices is not None:
        divided = verify_devices(arguments.devices)
        proved = not divided.objections
        if not arguments.json:
            for objection in divided.objections:
                print(f'{arguments.devices}: {objection}')
            print(f'{2 ** divided.levels} devices: {divided.proved} layers {"proved" if proved else "looked at"}, '
                  f'{divided.trusted} of other types')
    for path in arguments.plans:
        found = verify(graph, read_plan(path, graph))
        proved = proved and not found['objections']
        if not arguments.json:
            for objection in found['objections']:
                print(f'{path}: {objection}')
        if divided:
            found['devices'] = {'devices': 2 ** divided.levels, 'proved': divided.proved, 'of_other_types': divided.trusted,
                                'objections': divided.objections}
        print(json.dumps(found) if arguments.json else summary(found))
    return 0 if proved else 1


if __name__ == '__main__':
    run_script(main)

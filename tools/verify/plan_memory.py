"""The memory that verify_plan.py simulates: what it holds, and which steps have accessed it."""

import bisect
from dataclasses import dataclass

from plan_files import TENSOR_AT, aligned

LANES = 5


@dataclass(eq=False)
class Block:
    """A live range: the place of its tensor's bytes from byte `first` on."""
    offset: int
    size: int
    first: int = 0
    bound: int = 1  # number of tensors in it
    held: tuple = None  # name and version of the value that it holds
    begin: int = 0  # the range holds the bytes of that value from here
    end: float = float('inf')  # to here

    def place(self):
        """The bytes [begin, end) of the tensor that have a place here."""
        return self.first, self.first + self.size

    def has(self, value, begin, end):
        return self.held == value and self.begin <= begin and end <= self.end

    def hold(self, value, begin=0, end=float('inf')):
        """Adds bytes of a value. Adjacent bytes of the same value stay."""
        if self.held == value and self.begin <= end and begin <= self.end:
            begin, end = min(begin, self.begin), max(end, self.end)
        self.held, self.begin, self.end = value, begin, end


class Arena:
    """One tier: its live ranges, what they hold, and the last steps that accessed each byte."""

    def __init__(self, name, size):
        self.name, self.size = name, size
        self.range_of = {}  # tensor name -> Block
        self.begins, self.live = [], []  # live ranges that are not empty, by offset
        self.live_bytes = self.peak = 0
        # Bytes from cuts[i] to cuts[i + 1] were last written by history[i][0] and since then last
        # read by history[i][1 + lane].
        self.cuts, self.history = [0], [(None,) * (1 + LANES)]

    def overlapping(self, offset, size):
        at = bisect.bisect_left(self.begins, offset + size) - 1
        return at >= 0 and self.live[at].offset + self.live[at].size > offset

    def add(self, name, block):
        self.range_of[name] = block
        if block.size:
            at = bisect.bisect_left(self.begins, block.offset)
            self.begins.insert(at, block.offset)
            self.live.insert(at, block)
        self.live_bytes += block.size
        self.peak = max(self.peak, self.live_bytes)

    def remove(self, name):
        block = self.range_of.pop(name)
        block.bound -= 1
        if block.bound == 0:
            self.live_bytes -= block.size
            if block.size:
                at = bisect.bisect_left(self.begins, block.offset)
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


class Memory:
    """All tiers, and the order in which the steps so far access them."""

    def __init__(self, graph, plan):
        self.plan = plan
        self.objections = []
        self.number = None  # number of the current step; None: homes
        self.device = Arena('device', plan.device_bytes)
        self.host = Arena('host', plan.host_bytes)
        self.file = Arena('file', plan.spill_bytes)
        self.arenas = {arena.name: arena for arena in (self.device, self.host, self.file)}
        self.clocks = {}  # timed step -> (lane, steps of each lane finished before it)
        self.now = {lane: [0] * LANES for lane in range(LANES)}
        self.version = dict.fromkeys(graph.tensors, 0)

    def object(self, text):
        where = 'homes'
        if self.number is not None:
            where = self.describe(self.number)
        self.objections.append(f'{where}: {text}')

    def describe(self, number):
        words = self.plan.steps[number]
        return f'step {number} ({" ".join(words[:TENSOR_AT.get(words[0], 1) + 1])})'

    def queue(self, lane):
        """Queues the current step on this lane."""
        self.clocks[self.number] = (lane, tuple(self.now[lane]))
        self.now[lane][lane] += 1

    def wait(self, lane, step):
        if step not in self.clocks or self.clocks[step][0] == lane:
            self.object('waits for a step that is not an earlier one of another lane')
            return
        other, before = self.clocks[step]
        now = [max(pair) for pair in zip(self.now[lane], before)]
        now[other] = max(now[other], before[other] + 1)
        self.now[lane] = now

    def touch(self, arena, tensor, write, part=None):
        """Records an access to the bytes of a tensor, or to those in `part`."""
        block = arena.range_of[tensor.name]
        first, last = part or (0, tensor.size)
        if block.size and not block.first <= first <= min(last, tensor.length) <= block.first + block.size:
            self.object(f'{"writes" if write else "reads"} {tensor.name}, but only bytes {block.place()} are there')
        lane, clock = self.clocks[self.number]
        begin, end = (block.offset + max(0, min(aligned(at) - block.first, block.size)) for at in (first, last))
        for user in arena.touch(begin, end, self.number, lane, write):
            if user is None or user == self.number:
                continue
            other, before = self.clocks[user]
            if clock[other] <= before[other]:
                self.object(f'{"writes" if write else "reads"} {tensor.name} without waiting for '
                            f'{self.describe(user)}, which uses the same {arena.name} bytes')

    def read(self, arena, tensor, part=None):
        block = arena.range_of.get(tensor.name)
        if block is None:
            self.object(f'reads {tensor.name}, which has no {arena.name} range')
            return
        self.touch(arena, tensor, False, part)
        begin, end = part or (0, tensor.length)
        if not block.has(self.value(tensor), begin, min(end, tensor.length)):
            held = 'nothing' if block.held is None else f'version {block.held[1]} of {block.held[0]}'
            if block.held == self.value(tensor):
                held = f'bytes {block.begin} to {min(block.end, tensor.length)} only'
            self.object(f'reads {tensor.name}, whose {arena.name} range holds {held}')

    def write(self, arena, tensor):
        self.touch(arena, tensor, True)
        arena.range_of[tensor.name].hold(self.value(tensor))

    def value(self, tensor):
        return tensor.name, self.version[tensor.name]

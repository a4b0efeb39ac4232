#!/usr/bin/env python3
"""Draws dumped plans: which bytes hold which tensor while an iteration runs.

  layrub plan --model=net.prototxt --placement=keep   --dump=keep
  layrub plan --model=net.prototxt --placement=hybrid --dump=hybrid
  draw_plan.py hybrid/graph.txt keep/plan.txt hybrid/plan.txt -o plan.svg

All plans must be plans of GRAPH.txt. They stand side by side on one scale of bytes, so that heights
compare; draw a plan alone to see its details. Left to right run the operations of the iteration (dashed
lines: where the passes end), upwards the addresses of the device arena. A box is the stay of one
tensor in its bytes; faint means that the bytes are held although the tensor is not in use yet, or not
any more; a dashed outline means that its value was computed again. An output that lies on an input takes
over its bytes. Of a tensor that leaves in part, a lower box is what stays. Below stands the host tier,
where there is one. Opened by itself in a browser, the picture names the tensor under the mouse.

The formats of the two inputs are in docs/plan-format.md. Exit code 1: an input that cannot be read.
"""

import argparse
from dataclasses import dataclass
from xml.sax.saxutils import escape

from plan_files import PASSES, choice, read_graph, read_plan
from script import BadInput, run_script, write_whole

# Role -> colour (Okabe and Ito's palette, told apart by the colour-blind too) and words for it.
ROLES = {
    'parameter': ('#0072b2', 'parameters'),
    'parameter_gradient': ('#56b4e9', 'their gradients'),
    'history': ('#8493a8', 'solver history'),
    'user': ('#a0522d', 'inputs'),
    'activation': ('#e69f00', 'activations'),
    'activation_gradient': ('#009e73', 'their gradients'),
    'saved': ('#cc79a7', 'saved for backward'),
    'scratch': ('#d55e00', 'workspace'),
}
WIDTH, LEFT, RIGHT, BETWEEN = 860, 62, 12, 34  # of the picture; its margins; between two plans
DEVICE_HEIGHT = 300
STYLE = '''text{font:12px system-ui,sans-serif;fill:#59636e}
.name{font-weight:600;font-size:14px;fill:#1f2328}
.small{font-size:11px}
.axis{stroke:#818b98;fill:none}
.grid{stroke:#818b98;stroke-opacity:.25;fill:none}
.pass{stroke:#818b98;stroke-dasharray:3 3;fill:none}
.idle{fill-opacity:.25}
path{stroke:#fff;stroke-width:.4}
.again path,rect.again{stroke:#1f2328;stroke-width:1;stroke-dasharray:3 2}
@media (prefers-color-scheme:dark){text{fill:#9198a1}.name{fill:#f0f6fc}path{stroke:#0d1117}.again path,rect.again{stroke:#f0f6fc}}
'''


@dataclass
class Range:
    """Bytes of a tier, given back with the last tensor that is bound to them."""
    offset: int
    size: int
    bound: int = 0


@dataclass
class Stay:
    """A tensor in a range. Times count the operations that ran before."""
    tensor: object
    range: Range
    begin: int
    size: int  # of its bytes; less than the tensor's where only a part of it is there
    end: int = None
    first: int = None  # in use from here
    last: int = None  # to here
    again: bool = False  # its value was computed again

    def use(self, begin, end):
        self.first = begin if self.first is None else self.first
        self.last = end


class Walk:
    """A plan step by step: `stays` on each tier, where passes end, where the device is fullest."""

    def __init__(self, graph, plan):
        self.graph, self.plan = graph, plan
        self.stays = {'device': [], 'host': []}
        self.open = {'device': {}, 'host': {}}
        self.now = 0
        self.pass_ends = []
        self.live = self.most = 0  # bytes of the device
        self.fullest = ''
        for number, words in enumerate(plan.steps):
            self.end_passes(number)
            try:
                self.step(words)
            except KeyError as error:
                raise BadInput(f'{plan.lines[number]}: "{" ".join(words)}" does not fit the steps before it; '
                               'verify_plan.py tells what is wrong with the plan') from error
        self.end_passes(len(plan.steps))
        for tier in self.open.values():
            for stay in tier.values():
                self.close(stay)

    def end_passes(self, number):
        while len(self.pass_ends) < 3 and self.plan.pass_end[len(self.pass_ends)] <= number:
            self.pass_ends.append(self.now)

    def step(self, words):
        kind, tensor = words[0], None
        if kind in ('alloc', 'free', 'move', 'alias', 'offload', 'prefetch'):
            tensor = self.graph.tensors[words[2 if kind in ('alloc', 'free') else 1]]
        if kind == 'alloc':
            if tensor.name in self.open[words[1]]:  # a part that is made whole
                self.free(words[1], self.open[words[1]].pop(tensor.name))
            self.begin(words[1], tensor, Range(int(words[3]), tensor.size))
        elif kind == 'free':
            before = self.open[words[1]].pop(tensor.name)
            self.free(words[1], before)
            if len(words) > 3:
                self.begin(words[1], tensor, Range(before.range.offset, int(words[3])))
        elif kind == 'move':
            before = self.open['device'].pop(tensor.name)
            before.use(self.now, self.now)
            self.free('device', before)
            self.begin('device', tensor, Range(int(words[2]), before.size))
            self.open['device'][tensor.name].use(self.now, self.now)
        elif kind == 'alias':
            below = self.open['device'][words[3]]
            below.use(self.now, self.now)  # by the operation that puts its output there
            self.close(below)
            self.begin('device', tensor, below.range)
        elif kind in ('offload', 'prefetch'):
            source, target = ('device', 'host') if kind == 'offload' else ('host', 'device')
            self.open[source][tensor.name].use(self.now, None)  # until the range is freed
            self.open[target][tensor.name].use(self.now, self.now)
        elif kind != 'wait':
            self.run(self.graph.ops[words[1]], words)

    def begin(self, tier, tensor, place):
        stay = Stay(tensor, place, self.now, min(tensor.size, place.size))
        self.stays[tier].append(stay)
        self.open[tier][tensor.name] = stay
        if tier == 'device' and place.bound == 0:
            self.live += place.size
        place.bound += 1

    def free(self, tier, stay):
        self.close(stay)
        stay.range.bound -= 1
        if tier == 'device' and stay.range.bound == 0:
            self.live -= stay.range.size

    def close(self, stay):
        if stay.end is not None:
            return
        stay.end = self.now
        if stay.tensor.persistent:
            stay.first, stay.last = stay.begin, stay.end
        elif stay.first is None:
            stay.first = stay.last = stay.end
        elif stay.last is None or stay.tensor.keep:
            stay.last = stay.end
        stay.last = min(stay.last, stay.end)

    def run(self, op, words):
        number, variant = choice(words)
        form = op.forms[number]
        scratch = form.scratch[variant] if form.scratch else None
        for tensor in form.reads + form.writes + [scratch]:
            stay = tensor and self.open['device'].get(tensor.name)
            if stay and stay.end is None:  # not handed over to the output of an alias
                stay.again |= words[0] == 'recompute' and stay.first is None and tensor.role != 'scratch'
                stay.use(self.now, self.now + 1)
        if self.live > self.most:
            self.most, self.fullest = self.live, op.name
        self.now += 1


def size_text(size):
    for unit, name in ((2**30, 'GiB'), (2**20, 'MiB'), (2**10, 'KiB')):
        if size >= unit:
            return f'{size / unit:.3g} {name}'
    return f'{size} bytes'


def short(value):
    """A coordinate in as few characters as a hundredth of a pixel needs."""
    return f'{value:.2f}'.rstrip('0').rstrip('.')


def tick_step(size):
    """A power of two of bytes that gives about four to eight ticks."""
    step = 1
    while size / step > 8:
        step *= 2
    return step


class Picture:

    def __init__(self, walks):
        self.walks = walks
        self.out = []
        most = max(walk.plan.device_bytes for walk in walks) or 1
        self.scale = DEVICE_HEIGHT / most  # pixels a byte
        host = max(walk.plan.host_bytes for walk in walks)
        self.host_height = host * self.scale
        self.legend_rows = self.legend()
        self.top = 54 + 16 * self.legend_rows
        self.host_top = self.top + DEVICE_HEIGHT + 54
        self.height = self.host_top + self.host_height + 18 if host else self.host_top - 18
        self.panel = (WIDTH - LEFT - RIGHT - BETWEEN * (len(walks) - 1)) / len(walks)

    def svg(self):
        for number, walk in enumerate(self.walks):
            left = LEFT + number * (self.panel + BETWEEN)
            self.chart(walk, left, self.top, DEVICE_HEIGHT, 'device', number == 0)
            self.heading(walk, left)
            self.passes(walk, left)
            if self.host_height:
                self.chart(walk, left, self.host_top, self.host_height, 'host', number == 0)
        colours = ''.join(f'.{role}{{fill:{colour}}}\n' for role, (colour, _) in ROLES.items())
        height = short(self.height)
        return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
                f'viewBox="0 0 {WIDTH} {height}" role="img">\n<title>{escape(self.summary())}</title>\n'
                f'<style>\n{STYLE}{colours}</style>\n' + '\n'.join(self.out) + '\n</svg>\n')

    def summary(self):
        plans = ' and '.join(f'{walk.plan.strategy} ({size_text(walk.plan.device_bytes)})'
                             for walk in self.walks)
        return f'Device memory over one iteration of {self.walks[0].graph.name} under {plans}'

    def text(self, x, y, words, kind='', anchor='start'):
        kind = f' class="{kind}"' if kind else ''
        anchor = '' if anchor == 'start' else f' text-anchor="{anchor}"'
        self.out.append(f'<text x="{short(x)}" y="{short(y)}"{kind}{anchor}>{escape(words)}</text>')

    def line(self, kind, path):
        self.out.append(f'<polyline class="{kind}" points="{path}"/>')

    def legend(self):
        """Returns the number of rows."""
        used = {stay.tensor.role for walk in self.walks for stay in walk.stays['device']
                if stay.tensor.size}
        entries = [(role, words) for role, (_, words) in ROLES.items() if role in used]
        entries.append(('activation idle', 'faint: held, but not in use'))
        if any(stay.again for walk in self.walks for stay in walk.stays['device']):
            entries.append(('activation again', 'dashed: computed again'))
        x, row = LEFT, 0
        for role, words in entries:
            width = 14 + 6.4 * len(words)
            if x + width > WIDTH - RIGHT:
                x, row = LEFT, row + 1
            y = 6 + 16 * row
            self.out.append(f'<rect class="{role}" x="{short(x)}" y="{y}" width="10" height="10"/>')
            self.text(x + 14, y + 9, words, 'small')
            x += width + 8
        return row + 1

    def heading(self, walk, left):
        plan = walk.plan
        host = f' + {size_text(plan.host_bytes)} host' if plan.host_bytes else ''
        self.text(left, self.top - 26, f'{plan.strategy}: {size_text(plan.device_bytes)} device{host}', 'name')
        if walk.fullest:
            self.text(left, self.top - 10, f'fullest at {walk.fullest}', 'small')

    def passes(self, walk, left):
        """Names the passes under the device chart and marks where they end."""
        per_op = self.panel / max(walk.now, 1)
        bottom = self.top + DEVICE_HEIGHT
        begin = 0
        for name, end in zip(PASSES, walk.pass_ends):
            if end > begin:
                x = left + end * per_op
                self.text(x, bottom + 14, str(end), 'small', 'end' if end == walk.now else 'middle')
                if (end - begin) * per_op > 7 * len(name):
                    self.text(left + (begin + end) / 2 * per_op, bottom + 28, name, 'small', 'middle')
            begin = end
        self.text(left, bottom + 14, '0', 'small')

    def chart(self, walk, left, top, height, tier, first):
        bottom, right = top + height, left + self.panel
        step = tick_step(DEVICE_HEIGHT / self.scale)
        for mark in range(0, int(height / self.scale) + 1, step):
            y = bottom - mark * self.scale
            self.line('grid', f'{short(left)},{short(y)} {short(right)},{short(y)}')
            if first:
                self.text(left - 6, y + 4, size_text(mark) if mark else '0', 'small', 'end')
        if tier == 'host':
            self.text(left, top - 6, 'host tier', 'small')
        elif first:
            self.text(left - 6, bottom + 14, 'operation', 'small', 'end')
        self.boxes(walk, left, bottom, tier)
        for end in sorted(set(walk.pass_ends)):
            x = short(left + end * self.panel / max(walk.now, 1))
            if 0 < end < walk.now:
                self.line('pass', f'{x},{short(top)} {x},{short(bottom)}')
        self.line('axis', f'{short(left)},{short(top)} {short(left)},{short(bottom)} '
                  f'{short(right)},{short(bottom)}')

    def boxes(self, walk, left, bottom, tier):
        per_op = self.panel / max(walk.now, 1)
        for (role, idle, again), boxes in self.by_look(walk.stays[tier]).items():
            self.out.append(f'<g class="{role}{" idle" if idle else ""}{" again" if again else ""}">')
            for begin, end, offset, size, words in merge_slivers(boxes, 1 / self.scale):
                x, y = left + begin * per_op, bottom - (offset + size) * self.scale
                width = short((end - begin) * per_op)
                self.out.append(f'<path d="M{short(x)} {short(y)}h{width}v{short(size * self.scale)}h-{width}z">'
                                f'<title>{escape(words)}</title></path>')
            self.out.append('</g>')

    @staticmethod
    def by_look(stays):
        """(role, idle, computed again) -> boxes [begin, end, offset, bytes, words]."""
        looks = {}
        for stay in stays:
            words = f'{stay.tensor.name}, {size_text(stay.size)}'
            if stay.size < stay.tensor.size:
                words += f' of {size_text(stay.tensor.size)}'
            for begin, end, idle in ((stay.begin, stay.first, True), (stay.first, stay.last, False),
                                     (stay.last, stay.end, True)):
                if begin < end and stay.size:
                    look = looks.setdefault((stay.tensor.role, idle, stay.again), [])
                    look.append([begin, end, stay.range.offset, stay.size, words])
        return looks


def merge_slivers(boxes, least):
    """Joins boxes of the same time that lie on each other and are lower than `least` bytes."""
    merged = []
    for begin, end, offset, size, words in sorted(boxes, key=lambda box: (box[:2], box[2])):
        if merged and size < least:
            last = merged[-1]
            if last[:2] == [begin, end] and last[2] + last[3] == offset:
                last[3] += size
                last[5] += 1
                continue
        merged.append([begin, end, offset, size, words, 1])
    for begin, end, offset, size, words, count in merged:
        yield begin, end, offset, size, words if count == 1 else f'{count} tensors, {size_text(size)}'


def draw(graph_path, plan_paths):
    """The text of the picture."""
    graph = read_graph(graph_path)
    walks = [Walk(graph, read_plan(path, graph)) for path in plan_paths]
    return Picture(walks).svg()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('graph', metavar='GRAPH.txt')
    parser.add_argument('plans', metavar='PLAN.txt', nargs='+')
    parser.add_argument('-o', '--output', metavar='OUT.svg', required=True)
    flags = parser.parse_args()
    write_whole(flags.output, draw(flags.graph, flags.plans))
    return 0


if __name__ == '__main__':
    run_script(main)

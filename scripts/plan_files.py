"""Reads the text formats of graphs and plans (docs/plan-format.md) for verify_plan.py."""

from dataclasses import dataclass, field

ALIGNMENT = 256
PASSES = ('forward', 'backward', 'update')


class BadInput(Exception):
    """A text that does not follow the format; says file and line."""


def aligned(size):
    return -(-size // ALIGNMENT) * ALIGNMENT


@dataclass
class Tensor:
    name: str
    size: int  # in bytes, aligned
    role: str
    persistent: bool
    keep: bool
    length: int = 0  # in bytes


@dataclass
class Form:
    reads: list = field(default_factory=list)
    writes: list = field(default_factory=list)
    alias: set = field(default_factory=set)  # (output, input)
    scratch: list = field(default_factory=list)  # Tensor, or None for no bytes
    deterministic: list = field(default_factory=list)  # one bool for each entry of scratch


@dataclass
class Op:
    name: str
    number: int
    phase: int  # index into PASSES
    kind: str
    repeatable: bool
    forms: list = field(default_factory=list)


@dataclass
class Graph:
    name: str = ''
    tensors: dict = field(default_factory=dict)
    ops: dict = field(default_factory=dict)


@dataclass
class Plan:
    strategy: str = ''
    device_bytes: int = 0
    host_bytes: int = 0
    pass_end: tuple = (0, 0, 0)
    readable: list = field(default_factory=list)
    steps: list = field(default_factory=list)  # the words of each, the number left out


def records(path, magic):
    """Yields (where, words) for each line, after checking the first."""
    try:
        with open(path, encoding='utf-8') as file:
            lines = file.read().split('\n')
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f'{path}: {error}') from error
    if lines[0] != magic:
        raise BadInput(f'{path}:1: the first line is not "{magic}"')
    for number, line in enumerate(lines[1:], start=2):
        if line and not line.startswith('#'):
            yield f'{path}:{number}', line.split(' ')


def graph_line(graph, words):
    """Adds what one line of a graph says."""
    key, rest = words[0], words[1:]
    if key == 'graph':
        graph.name = rest[0]
        return
    if key == 'tensor':
        graph.tensors[rest[0]] = Tensor(rest[0], aligned(int(rest[1])), rest[2],
                                        'persistent' in rest[3:], 'keep' in rest[3:], int(rest[1]))
        return
    if key == 'op':
        graph.ops[rest[0]] = Op(rest[0], len(graph.ops), PASSES.index(rest[1]), rest[2], 'repeatable' in rest[3:])
        return
    op = graph.ops[next(reversed(graph.ops))]
    if key == 'form':
        op.forms.append(Form())
        return
    form = op.forms[-1]
    if key in ('reads', 'writes'):
        getattr(form, key).extend(graph.tensors[name] for name in rest)
    elif key == 'alias':
        form.alias.add((graph.tensors[rest[0]].name, graph.tensors[rest[1]].name))
    elif key == 'scratch':
        form.scratch.append(None if rest[0] == '-' else graph.tensors[rest[0]])
        form.deterministic.append('deterministic=1' in rest)
    else:
        raise ValueError


def read_graph(path):
    graph = Graph()
    for where, words in records(path, 'layrub-graph 1'):
        try:
            graph_line(graph, words)
        except (ValueError, IndexError, KeyError, StopIteration) as error:
            raise BadInput(f'{where}: cannot read "{" ".join(words)}"') from error
    return graph


def read_plan(path):
    plan = Plan()
    for where, words in records(path, 'layrub-plan 1'):
        try:
            key, rest = words[0], words[1:]
            if key == 'strategy':
                plan.strategy = rest[0]
            elif key in ('device_bytes', 'host_bytes'):
                setattr(plan, key, int(rest[0]))
            elif key == 'pass_end':
                plan.pass_end = (int(rest[0]), int(rest[1]), int(rest[2]))
            elif key == 'readable':
                plan.readable.extend(rest)
            elif int(key) == len(plan.steps) and rest:
                plan.steps.append(rest)
            else:
                raise ValueError
        except (ValueError, IndexError) as error:
            raise BadInput(f'{where}: cannot read "{" ".join(words)}"') from error
    return plan


def option(words, key):
    """The number in key=number among the words of a step; 0 where it is left out."""
    values = [word[len(key) + 1:] for word in words if word.startswith(key + '=')]
    return int(values[0]) if values else 0

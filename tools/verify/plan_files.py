"""Reads the text formats of graphs and plans (docs/plan-format.md).

Every field is required and checked, and nothing is guessed. If a text is damaged, truncated, or of another graph,
BadInput says in one sentence what is wrong, with file and line.
"""

import contextlib
import os
import re
import sys
from dataclasses import dataclass, field

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../python'))
from script import BadInput

ALIGNMENT = 256
PASSES = ('forward', 'backward', 'update')


class Malformed(Exception):
    """An error in the current record."""


@contextlib.contextmanager
def naming(where):
    try:
        yield
    except Malformed as error:
        raise BadInput(f'{where}: {error}') from error


def aligned(size):
    return -(-size // ALIGNMENT) * ALIGNMENT


@dataclass
class Tensor:
    name: str
    size: int  # in bytes, aligned
    role: str
    state: bool
    keep: bool
    length: int = 0  # in bytes
    host: bool = False  # operations can use it in host memory


@dataclass
class Variant:
    reads: list = field(default_factory=list)
    writes: list = field(default_factory=list)
    alias: set = field(default_factory=set)  # (output, input)
    algorithms: list = field(default_factory=list)  # Tensor, or None for no bytes
    deterministic: list = field(default_factory=list)  # a bool for each entry of algorithms


@dataclass
class Op:
    name: str
    number: int
    phase: int  # index into PASSES
    kind: str
    repeatable: bool
    variants: list = field(default_factory=list)


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
    spill_bytes: int = 0
    pass_end: tuple = (0, 0, 0)
    readable: list = field(default_factory=list)
    homes: list = field(default_factory=list)  # (tensor, tier, offset) of each state tensor
    steps: list = field(default_factory=list)  # the words of each step, without its number
    lines: list = field(default_factory=list, compare=False)  # file:line of each step


# ---------------------------------------------------------------- records

# The values that a field may have.
FIELDS = {
    'name': r'(?!-(?: |$))[^ \t-\r]+',
    'name or -': r'[^ \t-\r]+',
    'tensor': '[^ ]+',
    'tensor or -': '[^ ]+',
    'operation': '[^ ]+',
    'bytes': '0|[1-9][0-9]{0,18}',
    'offset': '0|-?[1-9][0-9]{0,18}',  # a wrong offset in a step is an objection to the plan
    'step': '0|[1-9][0-9]{0,8}',
    'n': '0|[1-9][0-9]{0,8}',
    'number': r'[0-9]+(?:\.[0-9]+)?(?:e[-+]?[0-9]{1,3})?',
    '0 or 1': '[01]',
    'pass': '|'.join(PASSES),
    'kind': 'compute|fill|update|feed',
    'role': 'parameter|parameter_gradient|history|activation|activation_gradient|saved|workspace|user',
    'tier': 'device|host|file',
    'lane': 'compute|save|load|spill|fetch',
}


class Record:
    """A kind of record. "tensor <name> <bytes>[ keep]" has two fields and an optional word; "reads <tensor>..." has any
    number of fields."""

    def __init__(self, form):
        self.form = form
        pattern = re.sub(r'\[([^]<]*)\]', r'(\1)?', form)
        pattern = re.sub(r'\[([^]]*)\]', r'(?:\1)?', pattern)
        pattern = pattern.replace(' <tensor>...', '((?: [^ ]+)*)')
        self.pattern = re.compile(re.sub('<([^>]*)>', lambda found: f'({FIELDS[found[1]]})', pattern))

    def fields(self, text):
        """The texts of all fields and optional words; None for an omitted one."""
        match = self.pattern.fullmatch(text)
        if not match:
            raise Malformed(f'expected "{self.form}"')
        return match.groups()


def of_kinds(*variants):
    return {variant.split(' ')[0]: Record(variant) for variant in variants}


GRAPH_RECORDS = of_kinds(
    'graph <name or ->',
    'tensor <name> <bytes> <role>[ state][ keep][ host][ blob=<n>]',
    'op <name> <pass> <kind>[ repeatable]',
    'variant <name or -> flops=<number> bytes=<number>[ exchanged=<number>][ tf32]',
    'reads <tensor>...',
    'writes <tensor>...',
    'alias <tensor> <tensor>',
    'algorithm <tensor or -> seconds=<number> deterministic=<0 or 1>[ name=<name>]')
HEADER_RECORDS = of_kinds(
    'strategy <name or ->',
    'device_bytes <bytes>',
    'host_bytes <bytes>',
    'spill_bytes <bytes>',
    'pass_end <step> <step> <step>',
    'readable <tensor>...')
HOME = Record('home <tensor> <tier> <offset>')
STEP_RECORDS = of_kinds(
    'alloc <tier> <tensor> <offset>[ <offset> <offset>]',
    'free <tier> <tensor>[ <offset> <offset>]',
    'alias <tensor> on <tensor>',
    'copy <tier> <tier> <tensor>[ <offset>][ <offset> <offset>]',
    'run <operation> variant=<n> algorithm=<n>[ recompute]',
    'wait <lane> for <step>')
TENSOR_AT = {'alloc': 2, 'free': 2, 'copy': 3}  # the index of the word that names the tensor


def text_of(path):
    try:
        with open(path, 'rb') as file:
            data = file.read()
        return data.decode()
    except OSError as error:
        raise BadInput(f'{path}: {error.strerror}') from error
    except UnicodeDecodeError as error:
        line = data.count(b'\n', 0, error.start) + 1
        raise BadInput(f'{path}:{line}: this is no text (byte {error.start} of the file)') from error


def records(path, magic):
    """Yields (where, record) for each record, "end" included, after checking the first line and that the text is not
    truncated."""
    lines = text_of(path).split('\n')
    version = lines[0].removeprefix(magic[:-1])
    if version.isdigit() and version < magic[-1]:
        raise BadInput(f'{path}:1: this is version {version} of the format, which older versions of Layrub wrote; '
                       'make it again with "layrub plan --dump"')
    if lines[0] != magic:
        raise BadInput(f'{path}:1: the first line is not "{magic}"')
    end = None
    for number, line in enumerate(lines[1:], start=2):
        if not line or line.startswith('#'):
            continue
        if end:
            raise BadInput(f'{path}:{number}: there is more after "end" in line {end}')
        yield f'{path}:{number}', line
        end = number if line == 'end' else None
    if not end:
        raise BadInput(f'{path}:{len(lines)}: the text is cut off; its last line has to be "end"')


def fields_of(kinds, record, what):
    kind = record.split(' ')[0]
    if kind not in kinds:
        raise Malformed(f'"{kind}" is no {what}')
    return kind, kinds[kind].fields(record)


def look_up(known, what, name):
    if name not in known:
        raise Malformed(f'there is no {what} "{name}"')
    return known[name]


def check(holds, complaint):
    if not holds:
        raise Malformed(complaint)


# ---------------------------------------------------------------- graphs


def add_to_graph(graph, record):
    """Adds the contents of one record; "end" comes last."""
    op = graph.ops[next(reversed(graph.ops))] if graph.ops else None
    if record == 'end' or record.startswith('op '):
        check(graph.name, 'the record "graph <name>" is missing above this line')
        check(not op or op.variants, f'the operation above this line, {op and op.name}, has no variant')
        if record == 'end':
            return
    kind, fields = fields_of(GRAPH_RECORDS, record, 'record of a graph')
    if kind == 'graph':
        check(not graph.name, 'there is another "graph" above this line')
        graph.name = fields[0]
    elif kind == 'tensor':
        name, size, role, state, keep, host, _ = fields
        check(name not in graph.tensors, f'there is another tensor "{name}" above this line')
        graph.tensors[name] = Tensor(name, aligned(int(size)), role, bool(state), bool(keep), int(size), bool(host))
    elif kind == 'op':
        name, phase, what, repeatable = fields
        check(name not in graph.ops, f'there is another operation "{name}" above this line')
        graph.ops[name] = Op(name, len(graph.ops), PASSES.index(phase), what, bool(repeatable))
    elif kind == 'variant':
        check(op, 'there is no operation above this line')
        op.variants.append(Variant())
    else:
        check(op and op.variants, 'there is no variant above this line')
        add_to_variant(graph.tensors, op.variants[-1], kind, fields)


def add_to_variant(tensors, variant, kind, fields):
    if kind in ('reads', 'writes'):
        operands = getattr(variant, kind)
        check(not operands, f'there is another "{kind}" of this variant above this line')
        operands.extend(look_up(tensors, 'tensor', name) for name in fields[0].split(' ')[1:])
    elif kind == 'alias':
        variant.alias.add(tuple(look_up(tensors, 'tensor', name).name for name in fields))
    else:
        name, _, deterministic, _ = fields
        variant.algorithms.append(None if name == '-' else look_up(tensors, 'tensor', name))
        variant.deterministic.append(deterministic == '1')


def read_graph(path):
    graph = Graph()
    for where, record in records(path, 'layrub-graph 4'):
        with naming(where):
            add_to_graph(graph, record)
    return graph


# ---------------------------------------------------------------- plans


def add_to_header(plan, graph, seen, record):
    kind, fields = fields_of(HEADER_RECORDS, record, 'record of a plan')
    check(kind not in seen and not plan.steps, f'"{kind}" stands here a second time, or after the first step')
    seen.add(kind)
    if kind == 'strategy':
        plan.strategy = fields[0]
    elif kind == 'pass_end':
        plan.pass_end = tuple(int(end) for end in fields)
        check(list(plan.pass_end) == sorted(plan.pass_end), 'the passes end one after the other')
    elif kind == 'readable':
        plan.readable = [look_up(graph.tensors, 'tensor', name).name for name in fields[0].split(' ')[1:]]
    else:
        setattr(plan, kind, int(fields[0]))


def add_home(plan, graph, record):
    check(not plan.steps, '"home" stands after the first step')
    name, tier, offset = HOME.fields(record)
    plan.homes.append((look_up(graph.tensors, 'tensor', name), tier, int(offset)))


def check_step(graph, record):
    """Checks that the fields of a step are valid and that what they name exists."""
    kind, fields = fields_of(STEP_RECORDS, record, 'kind of step')
    words = record.split(' ')
    if kind in TENSOR_AT:
        look_up(graph.tensors, 'tensor', words[TENSOR_AT[kind]])
        if kind == 'copy':
            check('device' in words[1:3], 'a copy begins or ends on the device')
            check(len(words) in ((5, 7) if is_move(words) else (4, 6)), f'expected "{STEP_RECORDS[kind].form}"')
    elif kind == 'alias':
        look_up(graph.tensors, 'tensor', words[1])
        look_up(graph.tensors, 'tensor', words[3])
    elif kind == 'run':
        op = look_up(graph.ops, 'operation', words[1])
        variant, algorithm = choice(words)
        check(variant < len(op.variants), f'operation {op.name} has no variant {variant}')
        check(algorithm < max(1, len(op.variants[variant].algorithms)), f'operation {op.name} has no algorithm {algorithm}')
    return words


def read_plan(path, graph):
    """Reads a plan of this graph."""
    plan, seen = Plan(), set()
    for where, record in records(path, 'layrub-plan 5'):
        with naming(where):
            number, _, step = record.partition(' ')
            if number == 'home':
                add_home(plan, graph, record)
                continue
            if not number.isdecimal() and record != 'end':
                add_to_header(plan, graph, seen, record)
                continue
            missing = [kind for kind in HEADER_RECORDS if kind not in seen]
            check(not missing, f'the record "{", ".join(missing)}" is missing above this line')
            if record == 'end':
                check(len(plan.steps) == plan.pass_end[2], f'there are {len(plan.steps)} steps above this line; '
                      f'pass_end says {plan.pass_end[2]}')
                continue
            check(number == str(len(plan.steps)), f'this is to be step {len(plan.steps)}')
            plan.steps.append(check_step(graph, step))
            plan.lines.append(where)
    return plan


def choice(words):
    """The variant and the algorithm of a "run" step."""
    return tuple(int(word.partition('=')[2]) for word in words[2:4])


def is_move(words):
    return words[:3] == ['copy', 'device', 'device']


def piece(words, tensor):
    """The bytes of its tensor that a step concerns."""
    at = TENSOR_AT[words[0]] + 1 + (words[0] == 'alloc' or is_move(words))
    return (int(words[at]), int(words[at + 1])) if len(words) > at else (0, tensor.length)

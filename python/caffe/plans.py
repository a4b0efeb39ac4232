"""Plans: the memory and time that training takes, before it runs."""
import json
import os
import re
import shutil
import subprocess
import tempfile


class Plan(dict):
    """The numbers of a plan, by the keys of `layrub plan --format=json` (docs/will-it-fit.md): bytes and seconds.

    graph_text and plan_text hold the graph and the steps of the plan (docs/plan-format.md). In a notebook, a plan is
    displayed as a picture. The picture shows the address of each tensor over an iteration."""

    def __init__(self, numbers, graph_text, plan_text):
        super().__init__(numbers)
        self.graph_text, self.plan_text = graph_text, plan_text

    @property
    def fits(self):
        """Whether the plan is within the budget."""
        return self['verdict'] == 'fits'

    def _repr_svg_(self):
        with tempfile.TemporaryDirectory() as folder:
            graph, plan_path, picture = (os.path.join(folder, name) for name in ('graph.txt', 'plan.txt', 'plan.svg'))
            for path, text in ((graph, self.graph_text), (plan_path, self.plan_text)):
                with open(path, 'w', encoding='utf-8') as file:
                    file.write(text)
            subprocess.run([_program(), 'draw', graph, plan_path, f'--output={picture}'], check=True)
            with open(picture, encoding='utf-8') as file:
                return file.read()

    def save_picture(self, path):
        """Writes the picture as an SVG."""
        with open(path, 'w', encoding='utf-8') as file:
            file.write(self._repr_svg_())


def plan_of(numbers, graph_text, plan_text):
    return Plan(json.loads(numbers), graph_text, plan_text)


def _program():
    """The path of the program layrub: next to the package, built or installed, or else on PATH."""
    here = os.path.dirname(os.path.abspath(__file__))
    for place in ('bin', '../../bin'):
        path = os.path.normpath(os.path.join(here, place, 'layrub'))
        if os.access(path, os.X_OK):
            return path
    found = shutil.which('layrub')
    if not found:
        raise FileNotFoundError('caffe.plan needs the program layrub, which is neither beside the package nor on PATH')
    return found


def _in_python(message):
    """A message of the program, without log prefixes and with flags spelled as arguments of plan."""
    message = re.sub(r'(?m)^[IWEF]\d{4} [\d:.]+ +\d+ \S+\] ', '', message)
    return re.sub(r'--(\w+)=', lambda flag: {'placement': 'strategy'}.get(flag[1], flag[1]) + '=', message)


def _is_solver(path):
    """Whether the prototxt is a solver: only solvers have these fields outside of braces."""
    with open(path, encoding='utf-8', errors='replace') as file:
        text = re.sub(r'#.*', '', file.read())
    depth, outside = 0, []
    for part in re.split(r'([{}])', text):
        depth += {'{': 1, '}': -1}.get(part, 0)
        if depth == 0:
            outside.append(part)
    fields = r'\b(net|train_net|net_param|train_net_param|base_lr|max_iter|lr_policy)\b\s*:?'
    return re.search(fields, ' '.join(outside)) is not None


def plan(prototxt, strategy=None, device_memory=None, **flags):
    """Returns the Plan of training for a prototxt of a net or a solver, even if it does not fit. Nothing runs, and data
    sets need not exist. Other keyword arguments are flags of `layrub plan`:

        caffe.plan('solver.prototxt', 'hybrid', '2GiB', batch=64, machine='k40')"""
    with tempfile.TemporaryDirectory() as folder:
        arguments = [f'--{"solver" if _is_solver(prototxt) else "model"}={prototxt}', '--format=json',
                     f'--dump={folder}']
        given = {'placement': strategy, 'device_memory': device_memory, **flags}
        for name, value in given.items():
            if value is not None:
                arguments.append(f'--{name}={str(value).lower() if isinstance(value, bool) else value}')
        run = subprocess.run([_program(), 'plan', *arguments], capture_output=True, text=True, check=False)
        if run.returncode not in (0, 2) or not run.stdout:
            raise ValueError(_in_python(run.stderr.strip()) or f'layrub plan ended with exit code {run.returncode}')
        texts = []
        for name in ('graph.txt', 'plan.txt'):
            with open(os.path.join(folder, name), encoding='utf-8') as file:
                texts.append(file.read())
    return plan_of(run.stdout, *texts)

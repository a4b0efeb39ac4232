"""The least device bytes that any plan with certain homes could need, for verify_plan.py."""


def saved_by_aliases(form, outputs):
    """Most bytes of `outputs` that can lie on inputs, each input carrying one: the outputs that can
    be matched together form a matroid, so taking the largest first is best."""
    outputs = sorted((t for t in outputs if t.size), key=lambda t: -t.size)
    written = {t.name for t in form.writes}
    inputs = {t.name: t for t in form.reads if not t.state and t.name not in written}
    carries = {}  # input -> output

    def place(output, tried):
        for name, tensor in inputs.items():
            if name in tried or (output.name, name) not in form.alias or tensor.size < output.size:
                continue
            tried.add(name)
            if name not in carries or place(carries[name], tried):
                carries[name] = output
                return True
        return False

    return sum(output.size for output in outputs if place(output, set()))


def floor(graph, away=()):
    """(bytes, name of the operation that needs them), where this state has its home off the device."""
    wanted = set()  # saved tensors that some operation reads in each of its forms
    for op in graph.ops.values():
        wanted |= set.intersection(*({t.name for t in form.reads} for form in op.forms))

    def need(op, form):
        writes = [t for t in form.writes if op.phase != 0 or t.role != 'saved' or t.name in wanted]
        operands = {t.name: t for t in form.reads + writes if not t.state or t.name in away}
        outputs = [t for t in {t.name: t for t in writes}.values() if not t.state]
        scratch = min((t.size if t else 0 for t in form.scratch), default=0)
        return sum(t.size for t in operands.values()) + scratch - saved_by_aliases(form, outputs)

    state = sum(t.size for t in graph.tensors.values() if t.state and t.name not in away)
    needs = [(min(need(op, form) for form in op.forms), op.name) for op in graph.ops.values()]
    largest, name = max(needs, key=lambda pair: pair[0], default=(0, ''))
    return state + largest, name

"""A lower bound on the device bytes of any plan with given homes, for verify_plan.py."""


def saved_by_aliases(variant, outputs):
    """The most bytes of `outputs` that can alias inputs, each input at most one output. The sets of outputs that can be
    matched form a matroid, so taking the largest first is optimal."""
    outputs = sorted((t for t in outputs if t.size), key=lambda t: -t.size)
    written = {t.name for t in variant.writes}
    inputs = {t.name: t for t in variant.reads if not t.state and t.name not in written}
    carries = {}  # input -> the output that aliases it

    def place(output, tried):
        for name, tensor in inputs.items():
            if name in tried or (output.name, name) not in variant.alias or tensor.size < output.size:
                continue
            tried.add(name)
            if name not in carries or place(carries[name], tried):
                carries[name] = output
                return True
        return False

    return sum(output.size for output in outputs if place(output, set()))


def floor(graph, away=None):
    """(bytes, name of the operation that needs them). `away`: the tier of the state whose home is not on the device."""
    away = away or {}
    wanted = set()  # saved tensors that some operation reads in each of its variants
    for op in graph.ops.values():
        wanted |= set.intersection(*({t.name for t in variant.reads} for variant in op.variants))

    def need(op, variant):
        writes = [t for t in variant.writes if op.phase != 0 or t.role != 'saved' or t.name in wanted]
        operands = {t.name: t for t in variant.reads + writes
                    if not t.state or (t.name in away and not (t.host and away[t.name] == 'host'))}
        outputs = [t for t in {t.name: t for t in writes}.values() if not t.state]
        workspace = min((t.size if t else 0 for t in variant.algorithms), default=0)
        return sum(t.size for t in operands.values()) + workspace - saved_by_aliases(variant, outputs)

    state = sum(t.size for t in graph.tensors.values() if t.state and t.name not in away)
    needs = [(min(need(op, variant) for variant in op.variants), op.name) for op in graph.ops.values()]
    largest, name = max(needs, key=lambda pair: pair[0], default=(0, ''))
    return state + largest, name

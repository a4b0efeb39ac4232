"""LSTM and RNN, step by step, because ONNX's own operators have no marks for the starts of sequences."""

import numpy as np

from .layer import converts


class Steps:
    """The steps of a recurrent layer. One product computes the contributions of x to all steps."""

    def __init__(self, g, layer, blobs):
        if g.dynamic_batch:
            layer.refuse('its batch is the second axis: export it without --dynamic_batch')
        self.g, self.layer = g, layer
        self.count, self.items = layer.shape[:2]
        self.outputs = layer.param.recurrent_param.num_output
        states = len(layer.bottoms) - 2 - (2 if layer.param.type == 'LSTM' else 1) * exposed(layer)
        x_weights, x_bias = blobs[0], blobs[1].reshape(-1)
        flat = g.reshape(layer.x, [self.count * self.items, -1])
        total = g.node('Gemm', [flat, g.constant(x_weights, 'W_x'), g.constant(x_bias, 'b')], transB=1)
        self.from_x = g.reshape(total, [self.count, self.items, -1])
        self.rest = list(blobs[2:])
        if states:  # a static input
            static = g.node('Flatten', [layer.bottoms[2].name], axis=1)
            weights = g.constant(self.rest.pop(0), 'W_static')
            self.from_x = g.node('Add', [self.from_x, g.node('Gemm', [static, weights], transB=1)])

    def initial(self, number):
        """State `number` before the first step: a bottom, or 0."""
        states = self.layer.bottoms[len(self.layer.bottoms) - (2 if self.layer.param.type == 'LSTM' else 1):]
        if exposed(self.layer):
            return self.g.reshape(states[number].name, [self.items, self.outputs])
        return self.g.constant(np.zeros((self.items, self.outputs), np.float32), 'zeros')

    def step(self, t):
        """The contribution of x, and the mark: 0 where a sequence begins."""
        g = self.g
        x = g.reshape(g.cut(self.from_x, 0, t, t + 1), [self.items, -1])
        return x, g.reshape(g.cut(self.layer.bottoms[1].name, 0, t, t + 1), [self.items, 1])

    def joined(self, values, output):
        rows = [self.g.reshape(value, [1, self.items, -1]) for value in values]
        return self.g.node('Concat', rows, output, axis=0)


def exposed(layer):
    return bool(layer.param.recurrent_param.expose_hidden)


def unit(g, gates, cell, mark, outputs):
    """One step of LSTM: the new cells and hidden values."""
    i, f, o, c = (g.cut(gates, 1, k * outputs, (k + 1) * outputs) for k in range(4))
    i, f, o = (g.node('Sigmoid', [gate]) for gate in (i, f, o))
    kept = g.node('Mul', [g.node('Mul', [f, mark]), cell])
    cell = g.node('Add', [kept, g.node('Mul', [i, g.node('Tanh', [c])])])
    return cell, g.node('Mul', [o, g.node('Tanh', [cell])])


@converts('LSTM')
def lstm(g, layer):
    steps = Steps(g, layer, layer.blobs)
    weights = g.constant(steps.rest[0].T, 'W_h')
    hidden, cell, made = steps.initial(0), steps.initial(1), []
    for t in range(steps.count):
        x, mark = steps.step(t)
        before = g.node('MatMul', [g.node('Mul', [hidden, mark]), weights])
        cell, hidden = unit(g, g.node('Add', [x, before]), cell, mark, steps.outputs)
        made.append(hidden)
    tops = [steps.joined(made, layer.y)]
    if exposed(layer):
        tops += [steps.joined([value], name) for value, name in zip((hidden, cell), layer.top_names[1:])]
    return tops


@converts('RNN')
def rnn(g, layer):
    steps = Steps(g, layer, layer.blobs)
    weights = g.constant(steps.rest[0].T, 'W_h')
    out = [g.constant(steps.rest[1], 'W_o'), g.constant(steps.rest[2].reshape(-1), 'b_o')]
    hidden, made = steps.initial(0), []
    for t in range(steps.count):
        x, mark = steps.step(t)
        before = g.node('MatMul', [g.node('Mul', [hidden, mark]), weights])
        hidden = g.node('Tanh', [g.node('Add', [x, before])])
        made.append(g.node('Tanh', [g.node('Gemm', [hidden] + out, transB=1)]))
    tops = [steps.joined(made, layer.y)]
    if exposed(layer):
        tops.append(steps.joined([hidden], layer.top_names[1]))
    return tops


@converts('LSTMUnit')
def lstm_unit(g, layer):
    cells, gates, marks = layer.bottoms
    items, outputs = cells.shape[1:]
    flat = g.reshape(cells.name, [items, outputs])
    cell, hidden = unit(g, g.reshape(gates.name, [items, 4 * outputs]), flat, g.reshape(marks.name, [items, 1]), outputs)
    return [g.reshape(value, [1, items, outputs], name) for value, name in zip((cell, hidden), layer.top_names)]

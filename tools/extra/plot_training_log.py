#!/usr/bin/env python3
"""Draws training curves, one line for each log, as an SVG:

  plot_training_log.py 6 loss.svg keep.log hybrid.log

Charts: 0 test accuracy, 2 test loss, 4 learning rate, 6 training loss, by iterations; 1, 3, 5 and 7 the same by
seconds. If there are several outputs, draws the first whose name has "accuracy" (else "mean_average_precision", else
the first), or "loss". Each test net has a line. A browser that opens the picture names the point under the mouse.
"""

import argparse
import math
import os
from xml.sax.saxutils import escape

from training_log import read_rows  # first: it finds script
from script import BadInput, run_script, write_whole

CHARTS = ['Test accuracy', 'Test loss', 'Training learning rate', 'Training loss']
# Okabe and Ito's palette, which colour-blind people can tell apart, too.
COLORS = ['#0072b2', '#e69f00', '#009e73', '#cc79a7', '#d55e00', '#56b4e9', '#8493a8', '#a0522d']
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 760, 420, 70, 20, 40, 50
STYLE = '''text{font:12px system-ui,sans-serif;fill:#59636e}
.name{font-weight:600;font-size:14px;fill:#1f2328}
.grid{stroke:#d1d9e0}.line{fill:none;stroke-width:1.5}'''


def chosen(row, chart):
    """The value of the chart in a row, or None."""
    if chart == 2:
        return row['LearningRate']
    outputs = {name: value for name, value in row.items() if name not in ('NumIters', 'Seconds', 'LearningRate', 'TestNet')}
    for word in ('accuracy', 'mean_average_precision', '') if chart == 0 else ('loss',):
        for name, value in outputs.items():
            if word in name:
                return value
    return None


def lines(path, chart, by_seconds):
    """Suffix of the line's name -> list of points. The suffix is empty, or the number of the test net if there are
    several."""
    train, test = read_rows(path)
    found = {}
    for row in test if chart < 2 else train:
        value = chosen(row, chart)
        if value is not None and math.isfinite(value):
            name = f" (#{row['TestNet']})" if 'TestNet' in row else ''
            found.setdefault(name, []).append((row['Seconds' if by_seconds else 'NumIters'], value))
    if not found:
        raise BadInput(f'{path}: nothing is said of {CHARTS[chart].lower()}')
    return found


def ticks(low, high):
    """Round numbers from `low` to `high`, about five."""
    step = 10 ** math.floor(math.log10((high - low) / 5))
    step *= next(factor for factor in (1, 2, 5, 10) if (high - low) / (step * factor) <= 6)
    first = math.ceil(low / step)
    return [round(number * step, 12) for number in range(first, math.floor(high / step) + 1)]


def bounds(values):
    low, high = min(values), max(values)
    return (low, high) if high > low else (low - 0.5 * abs(low) - 0.5, high + 0.5 * abs(high) + 0.5)


def draw(curves, title, unit):
    """`curves`: lists of points by name."""
    x_low, x_high = bounds([x for curve in curves.values() for x, _ in curve])
    y_low, y_high = bounds([y for curve in curves.values() for _, y in curve])

    def place(x, y):
        return (LEFT + (x - x_low) / (x_high - x_low) * (WIDTH - LEFT - RIGHT),
                HEIGHT - BOTTOM - (y - y_low) / (y_high - y_low) * (HEIGHT - TOP - BOTTOM))
    parts = [f'<text class="name" x="{LEFT}" y="20">{escape(title)}</text>']
    for value in ticks(x_low, x_high):
        x = place(value, y_low)[0]
        parts.append(f'<path class="grid" d="M{x:.1f} {TOP}V{HEIGHT - BOTTOM}"/>'
                     f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{value:g}</text>')
    for value in ticks(y_low, y_high):
        y = place(x_low, value)[1]
        parts.append(f'<path class="grid" d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>'
                     f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{value:g}</text>')
    parts.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 12}" text-anchor="middle">{unit}</text>')
    for number, (name, curve) in enumerate(curves.items()):
        color = COLORS[number % len(COLORS)]
        line = ' '.join('{:.1f},{:.1f}'.format(*place(x, y)) for x, y in curve)
        parts.append(f'<polyline class="line" stroke="{color}" points="{line}"/>')
        for x, y in curve:
            at = place(x, y)
            parts.append(f'<circle cx="{at[0]:.1f}" cy="{at[1]:.1f}" r="2.5" fill="{color}">'
                         f'<title>{escape(name)}: {x:g} {unit.lower()}, {y:g}</title></circle>')
        parts.append(f'<text x="{WIDTH - RIGHT}" y="{20 + 16 * number}" text-anchor="end" style="fill:{color}">'
                     f'{escape(name)}</text>')
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}">'
            f'<style>{STYLE}</style><rect width="100%" height="100%" fill="#fff"/>{"".join(parts)}</svg>\n')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('chart', type=int, choices=range(8), metavar='CHART')
    parser.add_argument('output', metavar='OUTPUT.svg')
    parser.add_argument('logs', nargs='+', metavar='LOG')
    arguments = parser.parse_args()
    if not arguments.output.endswith('.svg'):
        raise BadInput(f'{arguments.output}: the picture is an SVG; its name must end with .svg')
    chart, by_seconds = divmod(arguments.chart, 2)
    unit = 'Seconds' if by_seconds else 'Iterations'
    curves = {}
    for path in arguments.logs:
        name = os.path.splitext(os.path.basename(path))[0]
        for net, points in lines(path, chart, by_seconds).items():
            curves[(path if name + net in curves else name) + net] = points
    write_whole(arguments.output, draw(curves, f'{CHARTS[chart]} by {unit.lower()}', unit))


if __name__ == '__main__':
    run_script(main)

"""The results of gpu_check.py as Markdown."""

MIB = 2.0 ** 20


def number(value, unit=1.0, digits=0):
    return '' if value is None else f'{value / unit:,.{digits}f}'


def table(columns, rows):
    lines = ['| ' + ' | '.join(columns) + ' |', '|---|' + '---:|' * (len(columns) - 1)]
    return '\n'.join(lines + ['| ' + ' | '.join(cell.replace('|', '/') for cell in row) + ' |' for row in rows]) + '\n'


def memory(row):
    """Memory that was planned, counted, and taken at most."""
    return [number(row.get('planned_device_bytes') or row.get('planned_bytes'), MIB),
            number(row.get('counted_device_bytes'), MIB), number(row.get('device_peak_measured_bytes'), MIB)]


MEMORY = ['planned, MiB', 'counted, MiB', 'taken at most, MiB']


def step_row(row, rows):
    """A row of the piece steps, compared with PyTorch for the same batch and precision."""
    torch = next((other.get('iteration_seconds') for other in rows if other.get('program') == 'PyTorch' and
                  (other.get('batch'), other.get('precision')) == (row['batch'], row['precision'])), None)
    seconds = row.get('iteration_seconds')
    return [f'{row["net"]}, batch {row["batch"]}', row['precision'], row['program'], number(seconds, 1e-3, 1),
            number(seconds and row['batch'] / seconds), number(torch and seconds and seconds / torch, digits=2), *memory(row)]


def net_row(name, row):
    return [name, row['name'], number(row.get('iteration_seconds'), 1e-3, 1), number(row.get('predicted_seconds'), 1e-3, 1),
            number(row.get('floor_bytes'), MIB), *memory(row), number(row.get('driver_mib')),
            number(row.get('host_bytes'), MIB), row['message']]


def section(name, piece):
    """The results of a piece in a line, and its failed and missing rows."""
    rows = piece['rows']
    good = sum(row['ok'] for row in rows)
    text = [f'**{name}**: {good} of {len(rows)} are well' + ('' if piece['complete'] else '; not complete') +
            f' ({piece["seconds"]:.0f} s)\n']
    text += [f'- FAILED {row["name"]}: {row["message"]}\n' for row in rows if not row['ok']]
    text += [f'- missing {what}\n' for what in piece['missing']]
    if name == 'versions':
        text += [row['message'] + '\n' for row in rows if row['ok']]
    if name == 'copies' and 'link_down' in (rows or [{}])[0]:
        text.append('GB/s: ' + ', '.join(f'{what} {rows[0][key] / 1e9:.1f}' for what, key in (
            ('to the host', 'link_down'), ('back', 'link_up'), ('both at once', 'link_both'))) + '\n')
    return text


def markdown(result):
    device = result['device']
    text = [f'# {device["name"]}, driver {device["driver"]}, commit {result["commit"]}\n']
    kernels, steps, nets = [], [], []
    for name, piece in result['pieces'].items():
        text += section(name, piece)
        rows = piece['rows']
        kernels += [[row['name'], number(row['ours_ms'], digits=3), number(row['cudnn_ms'] or None, digits=3)]
                    for row in rows if 'ours_ms' in row]
        steps += [step_row(row, rows) for row in rows if 'precision' in row]
        nets += [net_row(name, row) for row in rows if 'floor_bytes' in row]
    if kernels:
        text.append(table(['kernel', 'ours, ms', 'cuDNN, ms'], kernels))
    if steps:
        text.append(table(['net', 'precision', 'program', 'step, ms', 'items/s', 'of PyTorch', *MEMORY], steps))
    if nets:
        text.append(table(['net', 'placement', 'step, ms', 'predicted, ms', 'floor, MiB', *MEMORY, "driver's view, MiB",
                           'host, MiB', 'remark'], nets))
    return '\n'.join(text)

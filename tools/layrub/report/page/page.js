// What the page adds to its pictures: key figures, names under the mouse, zooming, the table of layers and curves.
// It reads the data that the program has written into the page (docs/report.md), and fetches nothing.
'use strict';
const data = JSON.parse(document.getElementById('data').textContent);
const byId = id => document.getElementById(id);

/** A new element: `make('td', { className: 'none' }, 'text', otherElement)`. */
function make(name, properties, ...children) {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
}

function threeDigits(value) {
  return String(Number(value.toFixed(value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2)));
}

function sizeText(bytes) {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  let unit = 0;
  for (; bytes >= 1023.5 && unit + 1 < units.length; ++unit) bytes /= 1024;
  return `${unit ? threeDigits(bytes) : bytes} ${units[unit]}`;
}

function timeText(seconds) {
  if (seconds >= 0.9995) return `${threeDigits(seconds)} s`;
  return seconds >= 0.9995e-3 || seconds === 0 ? `${threeDigits(seconds * 1e3)} ms` : `${threeDigits(seconds * 1e6)} µs`;
}

const percent = (part, whole) => `${Math.round(100 * part / whole)} %`;

function showFigures() {
  const summary = data.summary;
  const figures = byId('figures');
  const show = (name, value, note) => {
    const notes = note ? [make('dd', { className: 'note' }, note)] : [];
    figures.append(make('div', {}, make('dt', {}, name), make('dd', {}, value), ...notes));
  };
  byId('verdict').classList.toggle('bad', !summary.fits);
  const budget = summary.budget_bytes;
  show('Device memory', sizeText(summary.device_peak_bytes), budget === null ? '' : `of ${sizeText(budget)}`);
  if (summary.measured_device_bytes !== null) {
    show('Device, measured', sizeText(summary.measured_device_bytes), 'at most, while training');
  }
  show('Of plain Caffe', percent(summary.device_peak_bytes, summary.keep_peak_bytes),
    `which takes ${sizeText(summary.keep_peak_bytes)}`);
  show('Floor', sizeText(summary.floor_bytes), 'no plan takes less');
  show('Host memory', summary.host_peak_bytes ? sizeText(summary.host_peak_bytes) : 'none');
  const factor = summary.keep_seconds ? `${(summary.predicted_seconds / summary.keep_seconds).toFixed(2)} × plain Caffe's, ` : '';
  show('Iteration, predicted', timeText(summary.predicted_seconds), `${factor}machine ${summary.machine}`);
  if (summary.measured_seconds !== null) {
    show('Iteration, measured', timeText(summary.measured_seconds),
      `${timeText(summary.measured_stalled)} of it waiting for copies`);
  }
  show('Waiting for copies', timeText(summary.predicted_stalled),
    `${percent(summary.predicted_stalled, summary.predicted_seconds || 1)} of the iteration, predicted`);
}

// The views of both pictures show the same runs of operations, from `begin` to `end`.
const runs = data.operations.runs.length;
const views = [...document.querySelectorAll('.picture .runs')].map(svg => {
  const of = name => svg[name].baseVal.value;
  return { svg, left: of('x'), width: of('width'), height: svg.viewBox.baseVal.height, picture: svg.ownerSVGElement };
});
const shown = { begin: 0, end: runs };
const OUTLINED_RUN = 2.5; // pixels, from which on boxes have outlines

function zoomTo(begin, end) {
  const span = Math.min(Math.max(end - begin, Math.min(4, runs)), runs);
  shown.begin = Math.min(Math.max(begin, 0), runs - span);
  shown.end = shown.begin + span;
  for (const view of views) {
    view.svg.setAttribute('viewBox', `${shown.begin} 0 ${span} ${view.height}`);
    view.svg.style.setProperty('--unzoom', span / runs);
    if (view.svg.classList.contains('map')) {
      view.svg.classList.toggle('outlined', view.width / span >= OUTLINED_RUN);
    }
    for (const text of view.picture.querySelectorAll('[data-run]')) {
      const run = Number(text.dataset.run);
      text.setAttribute('x', view.left + (run - shown.begin) / span * view.width);
      text.style.visibility = run < shown.begin - 1e-9 || run > shown.end + 1e-9 ? 'hidden' : '';
    }
  }
  const all = span === runs;
  byId('range').textContent = all ? `all ${runs.toLocaleString('en')} operations` :
    `operations ${Math.floor(shown.begin).toLocaleString('en')} to ${Math.ceil(shown.end).toLocaleString('en')} ` +
    `of ${runs.toLocaleString('en')}`;
}

/** Shows `factor` times as many runs, around `middle`. */
function zoomBy(factor, middle = (shown.begin + shown.end) / 2) {
  zoomTo(middle - (middle - shown.begin) * factor, middle + (shown.end - middle) * factor);
}

function pan(part) {
  const by = (shown.end - shown.begin) * part;
  zoomTo(shown.begin + by, shown.end + by);
}

/** The run at a point of the screen, with its part. */
function runAt(view, clientX) {
  const box = view.picture.getBoundingClientRect();
  const x = (clientX - box.left) * view.picture.viewBox.baseVal.width / box.width;
  return shown.begin + (x - view.left) / view.width * (shown.end - shown.begin);
}

const SVG = 'http://www.w3.org/2000/svg';
function overlay(view, name, look) {
  const element = document.createElementNS(SVG, name);
  element.setAttribute('class', look);
  element.setAttribute('visibility', 'hidden');
  view.svg.append(element);
  return element;
}

function place(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
}

function showCursor(run) {
  for (const { cursor, height } of views) {
    if (run === null) cursor.setAttribute('visibility', 'hidden');
    else place(cursor, { x1: run, x2: run, y1: 0, y2: height, visibility: 'visible' });
  }
}

function showSelection(from, to) {
  for (const { selection, height } of views) {
    if (from === null) selection.setAttribute('visibility', 'hidden');
    else place(selection, { x: Math.min(from, to), width: Math.abs(to - from), y: 0, height, visibility: 'visible' });
  }
}

function setUpZoom() {
  for (const view of views) {
    view.cursor = overlay(view, 'line', 'cursor');
    // Where nothing is drawn, a view has nothing to point at.
    const ground = overlay(view, 'rect', 'ground');
    place(ground, { width: runs, height: view.height, visibility: 'visible' });
    view.svg.prepend(ground);
    view.selection = overlay(view, 'rect', 'selection');
    let from = null;
    view.svg.addEventListener('pointerdown', event => {
      if (event.button !== 0) return;
      from = runAt(view, event.clientX);
      view.svg.setPointerCapture(event.pointerId);
    });
    view.svg.addEventListener('pointermove', event => {
      if (from !== null) showSelection(from, runAt(view, event.clientX));
    });
    view.svg.addEventListener('pointerup', event => {
      if (from === null) return;
      const to = runAt(view, event.clientX);
      const drawn = Math.abs(to - from) / (shown.end - shown.begin) * view.width;
      if (drawn > 5) zoomTo(Math.min(from, to), Math.max(from, to));
      from = null;
      showSelection(null);
    });
    view.svg.addEventListener('pointercancel', () => { from = null; showSelection(null); });
    view.svg.addEventListener('dblclick', () => zoomTo(0, runs));
    view.svg.addEventListener('wheel', event => {
      if (event.ctrlKey || event.metaKey) {
        event.preventDefault();
        zoomBy(Math.exp(event.deltaY / 300), runAt(view, event.clientX));
      } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        event.preventDefault();
        pan((event.deltaX || event.deltaY) / view.width);
      }
    }, { passive: false });
  }
  const actions = {
    in: () => zoomBy(0.5), out: () => zoomBy(2), left: () => pan(-0.5), right: () => pan(0.5), all: () => zoomTo(0, runs),
  };
  byId('zoom').addEventListener('click', event => actions[event.target.dataset.zoom]?.());
  zoomTo(0, runs);
}

function showTip(event, ...content) {
  const tip = byId('tip');
  tip.replaceChildren(...content);
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  const left = event.clientX + 16 + width > innerWidth ? event.clientX - 16 - width : event.clientX + 16;
  const top = event.clientY + 16 + height > innerHeight ? event.clientY - 16 - height : event.clientY + 16;
  tip.style.left = `${Math.max(left, 4)}px`;
  tip.style.top = `${Math.max(top, 4)}px`;
}

function tipRows(rows) {
  return make('table', {}, ...rows.map(([name, ...value]) => make('tr', {}, make('td', {}, name), make('td', {}, ...value))));
}

const operationText = run => data.operations.names[data.operations.runs[run]];
const again = new Set(data.operations.again);

/** "operations 3 to 17", of a time in numbers of runs that came before. */
function lifeText(begin, end) {
  return end - begin <= 1 ? `operation ${begin}` : `operations ${begin} to ${end - 1}`;
}

function describeTensor(path, event) {
  const [name, layer, role, bytes, begin, end] = data.tensors[path.dataset.t];
  const rows = [];
  if (layer >= 0) rows.push(['layer', data.layer_names[layer]]);
  rows.push(['holds', data.roles[role]], ['bytes', `${sizeText(bytes)} (${bytes.toLocaleString('en')})`]);
  const box = /^M(\d+) [\d.]+h(\d+)/.exec(path.getAttribute('d'));
  const here = box && lifeText(Number(box[1]), Number(box[1]) + Number(box[2])), life = lifeText(begin, end);
  if (here && here !== life) rows.push(['here', here]);
  rows.push(['life', life]);
  const copy = path.closest('.copy');
  const what = path.closest('.idle') ? 'held, not in use' : path.closest('.again') ? 'computed again' : '';
  if (copy || what) rows.push(['now', copy ? path.words.slice(name.length + 2) : what]);
  showTip(event, make('b', {}, name), tipRows(rows));
}

function describeRun(event, run) {
  const columns = data.memory;
  let low = 0, high = columns.length - 1; // the last column that begins at or before the run
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (columns[middle][0] <= run) low = middle;
    else high = middle - 1;
  }
  const [, most, ...bytes] = columns[low];
  const total = bytes.reduce((sum, part) => sum + part, 0);
  const rows = [['in use', sizeText(total)]];
  for (let role = bytes.length - 1; role >= 0; --role) {
    if (bytes[role]) rows.push([data.roles[role], sizeText(bytes[role])]);
  }
  const words = again.has(most) ? ', again' : '';
  showTip(event, make('b', {}, `${most}: ${operationText(most)}${words}`), tipRows(rows));
}

function setUpHover() {
  // What a picture alone shows by its titles, the page shows with more words.
  for (const title of document.querySelectorAll('.picture path > title')) {
    title.parentNode.words = title.textContent;
    title.remove();
  }
  for (const svg of document.querySelectorAll('.picture > title')) svg.remove();
  let hot = [];
  const heat = tensor => {
    for (const path of hot) path.classList.remove('hot');
    hot = tensor === undefined ? [] : [...document.querySelectorAll(`.map [data-t="${tensor}"]`)];
    for (const path of hot) path.classList.add('hot');
  };
  for (const view of views) {
    const isMap = view.svg.classList.contains('map');
    let tensor;
    view.svg.addEventListener('pointermove', event => {
      const run = runAt(view, event.clientX);
      const whole = Math.floor(run);
      if (whole < 0 || whole >= runs) return;
      showCursor(run);
      const path = event.target.closest('path');
      const now = isMap ? path?.dataset.t : undefined;
      if (now !== tensor) heat(tensor = now);
      if (!isMap) describeRun(event, whole);
      else if (now !== undefined) describeTensor(path, event);
      else showTip(event, make('b', {}, path?.words ?? `${whole}: ${operationText(whole)}`));
    });
    view.svg.addEventListener('pointerleave', () => {
      heat(tensor = undefined);
      showCursor(null);
      byId('tip').hidden = true;
    });
  }
}

// The table of layers. A column: heading, what it tells, index in the rows of the data, how it is written.
const COLUMNS = [
  ['Layer', 'in the order of the net', 0, null],
  ['Kept', 'bytes on the device between forward and backward', 1, sizeText],
  ['Aliased', 'bytes written over those of another tensor', 2, sizeText],
  ['Offloaded', 'bytes copied to the host', 3, sizeText],
  ['Recomputed', 'bytes dropped and computed again', 4, sizeText],
  ['Traffic', 'bytes copied in both directions', 5, sizeText],
  ['Copying', 'time that these copies take', 6, timeText],
  ['Exposed', 'time that operations wait for them', 7, timeText],
  ['Again', 'time that computing again takes', 8, timeText],
  ['Compute', 'time of the operations of the layer, predicted', 9, timeText],
  ['Measured', 'time of the operations of the layer, measured', 10, timeText],
];
const FIRST_ROWS = 100;
const order = { column: 0, down: false, all: false };

function cell(text, value) {
  return make('td', { className: value ? '' : 'none' }, value ? text(value) : '–');
}

function fillTable(columns) {
  const wanted = byId('find').value.trim().toLowerCase();
  const rows = data.layers.filter(row => !wanted || data.layer_names[row[0]].toLowerCase().includes(wanted));
  const sign = order.down ? -1 : 1;
  rows.sort((a, b) => sign * (a[order.column] - b[order.column]) || a[0] - b[0]);
  const some = order.all ? rows : rows.slice(0, FIRST_ROWS);
  byId('table').tBodies[0].replaceChildren(...some.map(row => make('tr', {},
    ...columns.map(([, , index, text]) => text ? cell(text, row[index]) :
      make('td', { title: data.layer_names[row[0]] }, data.layer_names[row[0]])))));
  const total = index => rows.reduce((sum, row) => sum + row[index], 0);
  byId('table').tFoot.replaceChildren(make('tr', {},
    ...columns.map(([, , index, text]) => text ? cell(text, total(index)) : make('td', {}, `${rows.length} layers`))));
  byId('more').hidden = some.length === rows.length;
  byId('more').textContent = `Show all ${rows.length} layers`;
}

function setUpTable() {
  const columns = COLUMNS.filter(([, , index]) => index !== 10 || data.summary.measured_seconds !== null);
  const head = make('tr');
  for (const [name, meaning, index] of columns) {
    const button = make('button', { type: 'button', title: meaning }, name);
    const th = make('th', { scope: 'col' }, button);
    button.addEventListener('click', () => {
      const same = order.column === index;
      order.down = same ? !order.down : index !== 0;
      order.column = index;
      for (const other of head.children) other.removeAttribute('aria-sort');
      th.setAttribute('aria-sort', order.down ? 'descending' : 'ascending');
      fillTable(columns);
    });
    head.append(th);
  }
  byId('table').tHead.append(head);
  byId('find').addEventListener('input', () => fillTable(columns));
  byId('more').addEventListener('click', () => { order.all = true; fillTable(columns); });
  fillTable(columns);
}

/** A chart of lines over iterations: `lines` are [name, colour, points [x, y]...]. */
function showChart(title, lines, text = String) {
  const canvas = make('canvas');
  document.querySelector('.charts').append(make('div', {}, canvas));
  const style = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const chart = new Chart(canvas, {
    type: 'line',
    data: { datasets: lines.map(([label, color, points]) => ({
      label, data: points.map(([x, y]) => ({ x, y })), borderColor: color, backgroundColor: color, borderWidth: 1.5,
      pointRadius: points.length > 60 ? 0 : 2, pointHitRadius: 6,
    })) },
    options: {
      animation: false, maintainAspectRatio: false, parsing: false, normalized: true,
      interaction: { mode: 'nearest', axis: 'x', intersect: false },
      plugins: {
        title: { display: true, text: title, align: 'start' },
        legend: { display: lines.length > 1, align: 'start', labels: { boxWidth: 10, boxHeight: 10 } },
        tooltip: { callbacks: {
          title: items => `iteration ${items[0].parsed.x.toLocaleString('en')}`,
          label: item => `${item.dataset.label}: ${text(item.parsed.y)}`,
        } },
      },
      scales: {
        x: { type: 'linear', ticks: { precision: 0 } },
        y: { grace: '5%', ticks: { callback: value => text(value) } },
      },
    },
  });
  const paint = () => {
    chart.options.color = style('--faint');
    chart.options.plugins.title.color = style('--text');
    for (const scale of Object.values(chart.options.scales)) {
      scale.ticks.color = style('--faint');
      scale.grid = { color: style('--line') };
    }
    chart.update();
  };
  paint();
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', paint);
}

function showCurves() {
  const iterations = data.metrics.filter(line => line.test === undefined);
  const tests = data.metrics.filter(line => line.test !== undefined);
  if (!data.metrics.length) return;
  byId('curves').hidden = false;
  const of = (name, value = line => line[name]) =>
    iterations.map(line => [line.iteration, value(line)]).filter(([, y]) => Number.isFinite(y));
  const number = value => String(Number(value.toPrecision(4)));
  showChart('Loss', [['loss', '#56b4e9', of('loss')], ['smoothed', '#d55e00', of('smoothed_loss')]], number);
  const scores = new Map();
  for (const { iteration, test, scores: values } of tests) {
    for (const [name, value] of Object.entries(values)) {
      const key = `${name} (test net ${test})`;
      if (!Number.isFinite(value)) continue;
      if (!scores.has(key)) scores.set(key, []);
      scores.get(key).push([iteration, value]);
    }
  }
  const colors = ['#009e73', '#cc79a7', '#0072b2', '#e69f00', '#8493a8', '#a0522d'];
  if (scores.size) {
    showChart('Scores', [...scores].map(([name, points], i) => [name, colors[i % colors.length], points]), number);
  }
  showChart('Learning rate', [['learning rate', '#009e73', of('lr')]], number);
  showChart('Iterations per second', [['iterations per second', '#0072b2', of('', line => 1 / line.seconds)]], number);
  showChart('Bytes of the plan', [['device', '#e69f00', of('device_bytes')], ['host', '#8493a8', of('host_bytes')]], sizeText);
}

showFigures();
showCurves();
setUpZoom();
setUpHover();
setUpTable();

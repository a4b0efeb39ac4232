// Zooming, and names of what is under the mouse.
// The views of both pictures show the same runs of operations, from `begin` to `end`.
const SVG = 'http://www.w3.org/2000/svg';
const runs = data.operations.runs.length;
const views = [...document.querySelectorAll('.picture .runs')].map(svg => {
  const of = name => svg[name].baseVal.value;
  const picture = svg.ownerSVGElement, ticks = document.createElementNS(SVG, 'g');
  picture.append(ticks);
  return { svg, left: of('x'), width: of('width'), bottom: of('y') + of('height'), height: svg.viewBox.baseVal.height, picture, ticks };
});
const shown = { begin: 0, end: runs };
const TICK_DISTANCE = 80; // pixels, at least
const OUTLINED_RUN = 2.5; // pixels, from which on boxes have outlines

/** Below a view that shows a part: numbers of runs, where none stands already. */
function showTicks(view) {
  view.ticks.replaceChildren();
  const span = shown.end - shown.begin;
  if (span === runs) return;
  const row = view.picture.querySelector('[data-run="0"]').getAttribute('y');
  const taken = [...view.picture.querySelectorAll(`[data-run][y="${row}"]`)].filter(text => !text.style.visibility);
  const least = Math.max(span * TICK_DISTANCE / view.width, 1), power = 10 ** Math.floor(Math.log10(least));
  const step = [1, 2, 5, 10].find(factor => factor * power >= least) * power;
  for (let run = Math.ceil(shown.begin / step) * step; run <= shown.end; run += step) {
    const x = view.left + (run - shown.begin) / span * view.width;
    if (taken.some(text => Math.abs(Number(text.getAttribute('x')) - x) < TICK_DISTANCE / 2)) continue;
    const line = document.createElementNS(SVG, 'line'), text = document.createElementNS(SVG, 'text');
    place(line, { x1: x, x2: x, y1: view.bottom, y2: view.bottom + 4, class: 'axis' });
    const anchor = x < view.left + 15 ? 'start' : x > view.left + view.width - 15 ? 'end' : 'middle';
    place(text, { x, y: row, class: 'small', 'text-anchor': anchor });
    text.textContent = run;
    view.ticks.append(line, text);
  }
}

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
    showTicks(view);
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

setUpZoom();
setUpHover();

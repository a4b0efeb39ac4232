// The table of layers. A column: heading, what it tells, index in the rows of the data, how it is written.
const COLUMNS = [
  ['Layer', 'in the order of the net', 0, null],
  ['Divided', 'dimension along which each halving of the devices cuts the layer', 11, text => text],
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
  const difference = (a, b) => (typeof a === 'string' ? a.localeCompare(b) : a - b);
  rows.sort((a, b) => sign * difference(a[order.column], b[order.column]) || a[0] - b[0]);
  const some = order.all ? rows : rows.slice(0, FIRST_ROWS);
  byId('table').tBodies[0].replaceChildren(...some.map(row => make('tr', {},
    ...columns.map(([, , index, text]) => text ? cell(text, row[index]) :
      make('td', { title: data.layer_names[row[0]] }, data.layer_names[row[0]])))));
  const total = index => (index === 11 ? '' : rows.reduce((sum, row) => sum + row[index], 0));
  byId('table').tFoot.replaceChildren(make('tr', {},
    ...columns.map(([, , index, text]) => text ? cell(text, total(index)) : make('td', {}, `${rows.length} layers`))));
  byId('more').hidden = some.length === rows.length;
  byId('more').textContent = `Show all ${rows.length} layers`;
}

function setUpTable() {
  const columns = COLUMNS.filter(([, , index]) =>
    (index !== 10 || data.summary.measured_seconds !== null) && (index !== 11 || data.division !== null));
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

setUpTable();

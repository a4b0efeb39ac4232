// What the page adds to its pictures: key figures here; pictures.js, curves.js and layers.js follow in the same script.
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
  show('Device memory', sizeText(summary.total_device_bytes), budget === null ? '' : `of ${sizeText(budget)}`);
  if (summary.measured_device_bytes !== null) {
    show('Device, measured', sizeText(summary.measured_device_bytes), 'at most, while training');
  }
  if (summary.total_device_bytes !== summary.device_peak_bytes) {
    show('Training net', sizeText(summary.device_peak_bytes), 'the rest is of test nets');
  }
  show('Of keep', percent(summary.device_peak_bytes, summary.keep_peak_bytes),
    `which takes ${sizeText(summary.keep_peak_bytes)}`);
  const stateStays = summary.state_floor_bytes === summary.floor_bytes;
  show('Floor', sizeText(summary.floor_bytes),
    stateStays ? 'no plan takes less' : 'no plan with all state on the device takes less');
  if (!stateStays) show('State floor', sizeText(summary.state_floor_bytes), 'no plan takes less');
  show('Host memory', summary.host_peak_bytes ? sizeText(summary.host_peak_bytes) : 'none');
  if (summary.spill_bytes) show('Spill file', sizeText(summary.spill_bytes), 'what does not fit into --host_memory');
  const factor = summary.keep_seconds ? `${(summary.predicted_seconds / summary.keep_seconds).toFixed(2)} × keep's, ` : '';
  show('Iteration, predicted', timeText(summary.predicted_seconds), `${factor}machine ${summary.machine}`);
  if (summary.measured_seconds !== null) {
    show('Iteration, measured', timeText(summary.measured_seconds),
      `${timeText(summary.measured_stalled)} of it waiting for copies`);
  }
  show('Waiting for copies', timeText(summary.predicted_stalled),
    `${percent(summary.predicted_stalled, summary.predicted_seconds || 1)} of the iteration, predicted`);
  const division = data.division;
  if (division !== null) {
    show('Devices', division.devices, `partition ${division.partition}`);
    show('Received', sizeText(division.received_bytes), 'by each device in an iteration');
    show('Speed', percent(division.whole_seconds / division.devices, summary.predicted_seconds),
      `of ${division.devices} devices that exchange nothing and hold everything`);
  }
  const count = figures.children.length;
  figures.style.setProperty('--columns', count > 6 ? Math.ceil(count / 2) : count);
}

showFigures();

// Curves of a training.
/** A chart over iterations: `lines` are [name, colour, points [x, y]...]; the axis of `axis.text`, from 0 if `axis.zero`. */
function showChart(title, lines, axis) {
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
          label: item => `${item.dataset.label}: ${axis.text(item.parsed.y)}`,
        } },
      },
      scales: {
        x: { type: 'linear', ticks: { precision: 0 } },
        y: { beginAtZero: Boolean(axis.zero), ticks: { stepSize: axis.step, callback: value => axis.text(value) } },
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
  const number = { text: value => String(Number(value.toPrecision(4))) };
  const loss = of('loss'), smoothed = of('smoothed_loss');
  const lines = [['loss', '#56b4e9', loss]];
  // With average_loss: 1 the two are the same, but for rounding.
  if (smoothed.some(([, y], i) => Math.abs(y - loss[i]?.[1]) > 1e-5 * Math.abs(y))) lines.unshift(['smoothed', '#d55e00', smoothed]);
  showChart('Loss', lines, number);
  const scores = new Map(); // name -> test net -> points
  for (const { iteration, test, scores: values } of tests) {
    for (const [name, value] of Object.entries(values)) {
      if (!Number.isFinite(value)) continue;
      if (!scores.has(name)) scores.set(name, new Map());
      const nets = scores.get(name);
      if (!nets.has(test)) nets.set(test, []);
      nets.get(test).push([iteration, value]);
    }
  }
  const colors = ['#cc79a7', '#009e73', '#0072b2', '#e69f00', '#8493a8'];
  for (const [name, nets] of scores) {
    showChart(`Test: ${name}`, [...nets].map(([net, points], i) => [`test net ${net}`, colors[i % colors.length], points]), number);
  }
  showChart('Learning rate', [['learning rate', '#009e73', of('lr')]], number);
  const { items, items_name: name } = data.summary;
  const rate = `${items ? name : 'iterations'} per second`;
  showChart(rate[0].toUpperCase() + rate.slice(1), [[rate, '#0072b2', of('', line => (items ?? 1) / line.seconds)]],
    { ...number, zero: true });
  const bytes = [['device', '#e69f00', of('device_bytes')], ['host', '#8493a8', of('host_bytes')]];
  const most = Math.max(...bytes.flatMap(([, , points]) => points.map(([, y]) => y)), 1);
  showChart('Bytes of the plan', bytes, { text: sizeText, zero: true, step: 2 ** Math.ceil(Math.log2(most / 8)) });
}

showCurves();

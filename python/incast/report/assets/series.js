// Samples over time: queue, throughput and utilisation of a port; window, rate and RTT of flows.

const SERIES = [
  { key: 'queue', title: 'Queue', kind: 'bytes', of: 'port', column: 'queue_bytes' },
  { key: 'throughput', title: 'Throughput', kind: 'rate', of: 'port', steps: 'before', column: 'throughput_bps' },
  { key: 'utilisation', title: 'Utilisation', kind: 'percent', of: 'port', steps: 'before', most: 100, column: 'utilisation_percent' },
  { key: 'window', title: 'Window', kind: 'bytes', of: 'flow', column: 'window_bytes' },
  { key: 'rate', title: 'Rate', kind: 'rate', of: 'flow', column: 'rate_bps' },
  { key: 'rtt', title: 'RTT', kind: 'time', of: 'flow', column: 'rtt_ps' },
  { key: 'inflight', title: 'In flight', kind: 'bytes', of: 'flow', column: 'inflight_bytes', off: true },
];
const FIRST_FLOWS = 4;
const FEW_CHANGES = 4;

// Throughput between samples, from the counter of bytes; the first sample has none before it and
// repeats the second one's. The mean over a stretch is that of the counter: exact at every zoom.
function throughput(time, sent, scale) {
  const values = new Float64Array(time.length);
  const between = (a, b) => ((sent[b] - sent[a]) * 8e12 * scale) / (time[b] - time[a]);
  for (let i = 1; i < time.length; i++) values[i] = between(i - 1, i);
  if (time.length > 1) values[0] = values[1];
  return { x: time, pyramid: new Pyramid(values), mean: (from, end) => between(Math.max(from - 1, 0), Math.max(end - 1, 1)) };
}

class SeriesSection {
  constructor(content) {
    this.section = document.getElementById('series');
    this.section.hidden = false;
    this.results = content.results;
    this.ready = new Map();
    this.ports = this.union('ports', (p) => `${p.node}:${p.port}`);
    this.flows = this.union('flows', (f) => String(f.flow));
    if (!this.ports.size && !this.flows.size) {
      this.section.append(element('p', {}, 'Nothing was sampled. Name ports or flows under [probe] in the scenario to see queues, throughput, windows and rates over time.'));
      return;
    }
    if (content.thinned) {
      const all = content.samples.toLocaleString('en-US');
      this.section.append(element('p', { className: 'small' }, `Of ${all} samples only some are in this file; the peaks and troughs of queues and windows are among them. All are in the results.`));
    }
    this.group = new Group({ kind: 'time', smallest: 1000 });
    this.changes = content.changes;
    this.group.shades = content.changes.shades;
    // The port with the longest queue first: it is the one that a probe is mostly there for.
    const longest = (name) => Math.max(...[...this.ports.get(name).at].map(([entry, index]) => this.results[entry].ports[index].peak));
    [this.port] = [...this.ports.keys()].sort((a, b) => longest(b) - longest(a));
    this.chosen = new Set([...this.flows.keys()].slice(0, FIRST_FLOWS));
    this.build();
    this.limits();
    this.update();
    const lines = this.changeList.querySelectorAll('li').length;
    this.changeList.open = this.changes.unread.length > 0 || (lines > 0 && lines <= FEW_CHANGES);
  }

  // What the results have of a kind, each once: key, and where each result has it.
  union(kind, key) {
    const found = new Map();
    this.results.forEach((result, entry) => result[kind].forEach((one, index) => {
      const name = key(one);
      if (!found.has(name)) found.set(name, { about: one, at: new Map() });
      found.get(name).at.set(entry, index);
    }));
    return found;
  }

  has(form) { return form.of === 'port' ? this.ports.size > 0 : this.flows.size > 0; }

  build() {
    const { section, group } = this;
    const controls = element('div', { className: 'controls' });
    const range = element('span', { className: 'small' });
    const button = (words, title, act) => element('button', { type: 'button', title, 'aria-label': title, onclick: act }, words);
    controls.append(
      element('span', { className: 'choice' },
        element('span', { className: 'buttons zoom' },
          button('+', 'Zoom in', () => group.zoom(0.5)),
          button('−', 'Zoom out', () => group.zoom(2)),
          button('◂', 'Earlier', () => group.pan(-0.25)),
          button('▸', 'Later', () => group.pan(0.25)),
          button('all', 'Show all of the time', () => group.reset())), range));
    group.whenZoomed = () => {
      range.textContent = group.words();
      link?.keep();
    };
    if (this.ports.size) {
      const select = element('select', { onchange: () => this.choosePort(select.value) });
      this.select = select;
      for (const name of this.ports.keys()) select.append(element('option', { value: name }, portName(this.ports.get(name).about)));
      select.value = this.port;
      controls.append(element('label', {}, element('span', {}, 'Port'), select));
    }
    section.append(controls);
    const toggles = element('div', { className: 'controls' });
    const buttons = element('span', { className: 'buttons', role: 'group', 'aria-label': 'Charts' });
    toggles.append(element('span', { className: 'choice' }, element('span', {}, 'Charts'), buttons));
    section.append(toggles);
    if (this.flows.size > 1) section.append(this.flowList());
    const grid = element('div', { className: 'charts' });
    this.charts = [];
    for (const form of SERIES.filter((f) => this.has(f))) {
      const { title, kind, steps = null, most = null } = form;
      const chart = new Chart(grid, { title, kind, steps, most, group, common: true, columns: ['time_ps', form.column] });
      this.charts.push([form, chart]);
      const toggle = element('button', { type: 'button' }, form.title);
      const set = (on) => {
        toggle.setAttribute('aria-pressed', on);
        chart.figure.hidden = !on;
      };
      toggle.onclick = () => {
        set(chart.figure.hidden);
        this.tellLines();
      };
      set(!form.off);
      buttons.append(toggle);
    }
    this.lines = element('div', { className: 'legend' });
    this.changeList = element('details', {});
    section.append(this.lines, grid, this.changeList, element('p', { className: 'hint' }, 'Drag to zoom, Shift and drag to pan, double-click to see all; or Ctrl and the wheel, or two fingers. ', KEYS, ' Where there are more samples than pixels, the shade is all that they span and the line is their mean.'));
  }

  flowList() {
    const list = element('div', { className: 'flows-list' });
    for (const [name, { about }] of this.flows) {
      const box = element('input', { type: 'checkbox', checked: this.chosen.has(name) });
      box.onchange = () => {
        if (box.checked) this.chosen.add(name);
        else this.chosen.delete(name);
        this.update();
      };
      list.append(element('label', {}, box, element('span', {}, `flow ${about.flow} (${about.about})`)));
    }
    return element('details', { className: 'control' }, element('summary', {}, `Flows: ${this.flows.size.toLocaleString('en-US')} were sampled`), list);
  }

  choosePort(name) {
    this.port = name;
    this.select.value = name;
    this.update();
    link?.keep();
  }

  limits() {
    let low = Infinity, high = -Infinity;
    this.results.forEach((result, entry) => {
      for (const kind of ['ports', 'flows']) {
        result[kind].forEach((_, index) => {
          const { time } = this.load(entry, kind, index);
          if (!time.length) return;
          low = Math.min(low, time[0]);
          high = Math.max(high, time[time.length - 1]);
        });
      }
    });
    this.group.setLimits(low, high);
  }

  // The columns of a port or a flow, unpacked when they are first needed.
  load(entry, kind, index) {
    const name = `${entry} ${kind} ${index}`;
    if (!this.ready.has(name)) {
      const packed = this.results[entry][kind][index];
      this.ready.set(name, { packed, time: column(packed.time_ps) });
    }
    return this.ready.get(name);
  }

  one(form, entry, kind, index) {
    const loaded = this.load(entry, kind, index);
    if (!(form.key in loaded)) {
      const { packed, time } = loaded;
      if (form.key === 'queue') loaded.queue = { x: time, pyramid: new Pyramid(column(packed.queue_bytes)) };
      else if (form.key === 'throughput') loaded.throughput = throughput(time, column(packed.transmitted_bytes), 1);
      else if (form.key === 'utilisation') loaded.utilisation = packed.rate === null ? null : throughput(time, column(packed.transmitted_bytes), 100 / packed.rate);
      else loaded[form.key] = { x: time, pyramid: new Pyramid(column(packed[form.column])) };
    }
    return loaded[form.key];
  }

  update() {
    for (const [form, chart] of this.charts) {
      const series = [];
      if (form.of === 'port') {
        chart.about = portName({ ...this.ports.get(this.port).about, rate: null });
        for (const [entry, index] of this.ports.get(this.port).at) {
          const one = this.one(form, entry, 'ports', index);
          if (one) series.push({ ...one, entry, label: entries[entry].title, dashes: entries[entry].dashes });
        }
      } else {
        [...this.flows].filter(([name]) => this.chosen.has(name)).forEach(([name, { at }], place) => {
          for (const [entry, index] of at) {
            const many = this.chosen.size > 1;
            const who = entries.length > 1 ? entries[entry].title : '';
            const label = [who, many || !who ? `flow ${name}` : ''].filter(Boolean).join(' ');
            const dashes = many && place % 4 ? [[], [4, 1.5], [1, 1.2], [5, 1.2, 1, 1.2]][place % 4] : entries[entry].dashes;
            series.push({ ...this.one(form, entry, 'flows', index), entry, label, dashes, alpha: Math.max(1 - 0.18 * place, 0.4) });
          }
        });
        series.sort((a, b) => a.entry - b.entry);
      }
      chart.setSeries(series);
    }
    this.tellLines();
    this.tellChanges();
  }

  // The lines of all charts that are shown, each once.
  tellLines() {
    const lines = this.charts.filter(([, chart]) => !chart.figure.hidden).flatMap(([, chart]) => chart.shown);
    const once = new Map(lines.map((s) => [`${s.entry} ${s.label}`, s]));
    this.lines.replaceChildren(...[...once.values()].map((s) => element('span', {}, sample(s), element('span', {}, s.label))));
  }

  // The changes of links in words, which the shades have no room for.
  tellChanges() {
    const { shades, unread } = this.changes;
    const shown = shades.filter((shade) => shade.entries.some((i) => entries[i].visible));
    const notRead = unread.map((i) => element('li', {}, `The saved scenario of ${entries[i].title} cannot be read, so its changes are not shown.`));
    const lines = shown.flatMap((shade) => shade.lines.map((words) => {
      const who = shade.entries.length < entries.length ? ` (${shade.entries.map((i) => entries[i].title).join(', ')})` : '';
      return element('li', {}, `${words}, ${shade.when}${who}`);
    }));
    const count = `${lines.length.toLocaleString('en-US')} change${lines.length === 1 ? '' : 's'} of links, shaded in the charts`;
    this.changeList.hidden = !lines.length && !notRead.length;
    this.changeList.replaceChildren(element('summary', {}, count), element('ul', { className: 'changes' }, ...notRead, ...lines));
  }

  refresh() {
    if (!this.charts) return;
    for (const [, chart] of this.charts) chart.setSeries(chart.series);
    this.tellLines();
    this.tellChanges();
  }
}

function portName({ node, port, rate }) {
  return `${node}, port ${port}${rate === null ? '' : ` (${quantity(rate, 'rate')})`}`;
}

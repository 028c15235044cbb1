// Flow completion times: slowdown by size, and distributions.

const STATISTICS = ['mean', 'p50', 'p99', 'p99.9'];
const FIRST_STATISTIC = 'p99';
// A percentile of fewer flows than this is little more than their largest value.
const ENOUGH = { mean: 1, p50: 2, p99: 100, 'p99.9': 1000 };

class FlowsSection {
  constructor(pictures) {
    this.section = document.getElementById('flows');
    this.section.hidden = false;
    if (!pictures.length) {
      this.section.append(element('p', {}, 'No flow with a size finished, so there are no completion times.'));
      return;
    }
    this.pictures = pictures;
    Object.assign(this, { picture: pictures[0], statistic: FIRST_STATISTIC, measure: 'slowdown', shape: 'cdf' });
    const controls = element('div', { className: 'controls' });
    if (pictures.length > 1) {
      const select = element('select', { onchange: () => { this.picture = pictures[select.value]; this.update(); } });
      pictures.forEach((p, i) => select.append(element('option', { value: i }, p.group ?? 'all')));
      controls.append(element('label', {}, element('span', {}, 'Traffic'), select));
    }
    this.statistics = choice('Slowdown', STATISTICS.map((s) => [s, s]), this.statistic, (s) => this.choose(s));
    controls.append(
      this.statistics,
      choice('Distribution of', [['slowdown', 'slowdown'], ['fct', 'FCT']], this.measure, (m) => { this.measure = m; this.update(); }),
      choice('as', [['cdf', 'CDF'], ['tail', 'tail']], this.shape, (s) => { this.shape = s; this.update(); }));
    this.grid = element('div', { className: 'charts two tall' });
    this.table = element('div', { className: 'wide', tabIndex: 0, role: 'group' });
    this.table.setAttribute('aria-label', 'Slowdown by size, scrolls sideways');
    this.note = element('p', { className: 'hint' });
    this.section.append(controls, this.grid, this.note, element('details', {}, element('summary', {}, 'Slowdown by size as a table'), this.table));
    this.update();
  }

  choose(statistic) {
    this.statistic = statistic;
    this.statistics.choose(statistic);
    this.update();
    link?.keep();
  }

  get few() { return this.picture.results.some((r) => r.bins.some((b) => b && b.n < ENOUGH[this.statistic])); }

  update() {
    this.grid.replaceChildren();
    this.bySize();
    this.distribution();
    this.rows();
    const { flows } = this.picture.results.reduce((a, b) => (b.flows > a.flows ? b : a));
    const few = `Hollow marks: fewer than ${ENOUGH[this.statistic].toLocaleString('en-US')} flows of that size, too few for this percentile.`;
    this.note.textContent = `Slowdown: completion time over that on the idle path, of ${flows.toLocaleString('en-US')} finished flows. Each mark stands at the mean size of its flows; the table has their numbers.${this.few ? ` ${few}` : ''}`;
  }

  bySize() {
    const group = new Group({ kind: 'bytes', log: true });
    const chart = new Chart(this.grid, { title: `FCT slowdown by flow size, ${this.statistic}`, kind: 'plain', log: true, lowest: 1, group, columns: ['size_bytes', `slowdown_${this.statistic}`] });
    const series = this.picture.results.map((result, entry) => {
      const bins = result.bins.filter(Boolean);
      return {
        entry,
        label: entries[entry].title,
        dashes: entries[entry].dashes,
        x: Float64Array.from(bins, (b) => b.size),
        pyramid: new Pyramid(Float64Array.from(bins, (b) => b[this.statistic])),
        weak: bins.map((b) => b.n < ENOUGH[this.statistic]),
        marker: MARKERS[entry % MARKERS.length],
      };
    }).filter((s) => s.x.length);
    const sizes = series.flatMap((s) => [...s.x]);
    group.setLimits(Math.min(...sizes) * 0.8, Math.max(...sizes) * 1.25);
    chart.setSeries(series);
    this.sizes = chart;
  }

  distribution() {
    const slowdown = this.measure === 'slowdown';
    const tail = this.shape === 'tail';
    const group = new Group({ kind: slowdown ? 'plain' : 'time', log: true });
    const what = slowdown ? 'FCT slowdown' : 'FCT';
    const series = this.picture.results.map((result, entry) => {
      const value = column(result[this.measure].value);
      const share = column(result[this.measure].share).map((s) => 100 * s);
      // A tail at a value: the flows beyond it. Its last value has none and no place on a logarithmic axis.
      const shown = tail ? share.map((s) => (s < 100 - 1e-9 ? 100 - s : NaN)) : share;
      return { entry, label: entries[entry].title, dashes: entries[entry].dashes, x: value, pyramid: new Pyramid(shown) };
    }).filter((s) => s.x.length);
    const chart = new Chart(this.grid, {
      title: tail ? `Flows beyond a ${what}` : `Flows up to a ${what}`, kind: 'percent', log: tail, lowest: tail ? null : 0, most: 100, steps: 'after', group, columns: [slowdown ? 'slowdown' : 'fct_ps', tail ? 'flows_beyond_percent' : 'flows_up_to_percent'],
    });
    const low = Math.min(...series.map((s) => s.x[0]));
    const high = Math.max(...series.map((s) => s.x[s.x.length - 1]));
    group.setLimits(low, Math.max(high, low * 1.01));
    chart.setSeries(series);
    this.cdf = chart;
  }

  rows() {
    const shown = entries.map((e, i) => i).filter((i) => entries[i].visible);
    const head = element('tr', {}, element('th', { scope: 'col' }, 'sizes up to'), element('th', { scope: 'col' }, 'flows'),
      ...shown.map((i) => element('th', { scope: 'col' }, `${entries[i].title}, ${this.statistic}`)));
    const body = this.picture.edges.map((edge, n) => {
      const bins = this.picture.results.map((r) => r.bins[n]);
      const many = Math.max(...bins.map((b) => b?.n ?? 0));
      return element('tr', {}, element('th', { scope: 'row' }, quantity(edge, 'bytes')), element('td', {}, many.toLocaleString('en-US')),
        ...shown.map((i) => element('td', {}, bins[i] ? digits(bins[i][this.statistic]) : '–')));
    });
    this.table.replaceChildren(element('table', {}, element('thead', {}, head), element('tbody', {}, ...body)));
  }

  refresh() {
    if (!this.pictures) return;
    for (const chart of [this.sizes, this.cdf]) chart.setSeries(chart.series);
    this.rows();
  }
}

// Buttons of which one is chosen.
function choice(name, options, chosen, act) {
  const buttons = element('span', { className: 'buttons', role: 'radiogroup', 'aria-label': name });
  const choose = (value, focus) => {
    for (const b of buttons.children) {
      const is = b.dataset.value === value;
      b.setAttribute('aria-checked', is);
      b.tabIndex = is ? 0 : -1;
      if (is && focus) b.focus();
    }
  };
  for (const [value, words] of options) {
    const button = element('button', { type: 'button', role: 'radio', onclick: () => { choose(value); act(value); } }, words);
    button.dataset.value = value;
    buttons.append(button);
  }
  buttons.addEventListener('keydown', (event) => {
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    const now = options.findIndex(([value]) => buttons.querySelector('[aria-checked="true"]').dataset.value === value);
    const [value] = options[(now + by + options.length) % options.length];
    choose(value, true);
    act(value);
  });
  choose(chosen);
  const whole = element('span', { className: 'choice' }, element('span', {}, name), buttons);
  whole.choose = choose;
  return whole;
}

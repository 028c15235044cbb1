// The network as a heat map: a row for each kind of link and direction, a cell for each link in it, coloured
// by the share of it that was used over the whole run. It is as wide as its box, whatever the network.

// Heights of a cell and of a line of words, distances, and the narrowest and the widest cell; below `one` pixels
// the words of a row take two lines.
const HEAT = { cell: 22, words: 15, gap: 12, edge: 12, least: 3, most: 28, one: 560 };

// The words for each node's tier: what the names of all its nodes begin with, or host and switch; the
// number of the tier too where two would have the same.
function tierNames(shape) {
  const words = shape.tiers.map((tier, level) => {
    const beginnings = new Set(tier.map((n) => shape.names[n].replace(/[^A-Za-z]+[^]*$/, '')));
    const [beginning] = beginnings;
    if (level === 0) return 'host';
    return beginnings.size === 1 && beginning.length > 1 ? beginning : 'switch';
  });
  return words.map((word, level) => (words.indexOf(word) === words.lastIndexOf(word) ? word : `${word} of tier ${level}`));
}

// The rows: title, and ports as [node, far node, row of the table of ports], in the order of the lower nodes.
function heatRows(shape) {
  if (shape.heat) return shape.heat;
  const names = tierNames(shape);
  const level = new Map(shape.tiers.flatMap((tier, i) => tier.map((n) => [n, i])));
  const kinds = new Map();
  for (let i = 0; i < shape.from.length; i++) {
    const ends = [shape.from[i], shape.to[i]];
    const [up, down] = [shape.there[i], shape.back[i]];
    const turned = level.get(ends[0]) > level.get(ends[1]);
    const [low, high] = turned ? [ends[1], ends[0]] : ends;
    const key = `${level.get(low)} ${level.get(high)}`;
    if (!kinds.has(key)) kinds.set(key, { low: level.get(low), high: level.get(high), up: [], down: [] });
    kinds.get(key).up.push([low, high, turned ? down : up]);
    kinds.get(key).down.push([high, low, turned ? up : down]);
  }
  const inOrder = (lower) => (a, b) => a[lower] - b[lower] || a[1 - lower] - b[1 - lower] || shape.port[a[2]] - shape.port[b[2]];
  shape.heat = [...kinds.values()].sort((a, b) => a.low - b.low || a.high - b.high).flatMap(({ low, high, up, down }) => {
    const back = low === high ? `${names[high]} → ${names[low]}, back` : `${names[high]} → ${names[low]}`;
    return [
      { title: `${names[low]} → ${names[high]}`, ports: up.sort(inOrder(0)) },
      { title: back, ports: down.sort(inOrder(1)) },
    ];
  });
  return shape.heat;
}

// Draws the map into a box, and tells which ports are pointed at or chosen.
class HeatMap {
  // `tell(row, ports)`, `point(row, ports)`: called with what is chosen (null: nothing) and pointed at.
  constructor(network, used, width, { tell, point }) {
    Object.assign(this, { used, tell, point, at: null });
    const inner = width - 2 * HEAT.edge;
    const lines = width < HEAT.one ? 2 : 1;
    const pitch = lines * HEAT.words + 5 + HEAT.cell + HEAT.gap;
    this.rows = heatRows(network).map((row) => ({ ...row, cells: cellsOf(row.ports, inner) }));
    const height = this.rows.length * pitch + HEAT.gap;
    this.svg = shape('svg', { class: 'heat', width, height, viewBox: `0 0 ${width} ${height}`, tabindex: 0, role: 'img' });
    this.svg.setAttribute('aria-label', `Use of ${network.from.length.toLocaleString('en-US')} links as a heat map. Arrow keys go from cell to cell, Escape leaves.`);
    this.rows.forEach((row, r) => {
      const y = HEAT.gap + r * pitch + lines * HEAT.words;
      const words = lines === 2 ? [row.title, this.numbers(row)] : [`${row.title}: ${this.numbers(row)}`];
      words.forEach((said, i) => this.svg.append(shape('text', { x: HEAT.edge, y: y - 5 - (lines - 1 - i) * HEAT.words }, said)));
      const wide = Math.min(inner / row.cells.length, HEAT.most);
      row.cells.forEach((ports, c) => {
        const gap = wide > 6 ? 1 : 0;
        const rect = shape('rect', { class: 'cell', x: HEAT.edge + c * wide, y, width: Math.max(wide - gap, 0.5), height: HEAT.cell, 'data-row': r, 'data-cell': c });
        rect.style.fill = useColour(this.largest(ports));
        this.svg.append(rect);
      });
    });
    // Around the chosen cell, above its neighbours.
    this.frame = shape('rect', { class: 'frame', display: 'none' });
    this.svg.append(this.frame);
    this.svg.addEventListener('pointerover', ({ target }) => {
      if (target.dataset.cell !== undefined) this.point(this.rows[target.dataset.row], this.rows[target.dataset.row].cells[target.dataset.cell]);
    });
    this.svg.addEventListener('click', ({ target }) => this.choose(target.dataset.cell === undefined ? null : [Number(target.dataset.row), Number(target.dataset.cell)]));
    this.svg.addEventListener('keydown', (event) => this.key(event));
  }

  largest(ports) { return ports.reduce((most, [, , row]) => Math.max(most, this.used[row]), 0); }

  numbers({ ports, cells }) {
    const mean = ports.reduce((sum, [, , row]) => sum + this.used[row], 0) / ports.length;
    const many = ports.length.toLocaleString('en-US');
    const shared = cells.length < ports.length ? `, up to ${Math.ceil(ports.length / cells.length)} a cell` : '';
    return `${many} link${ports.length === 1 ? '' : 's'}${shared}; mean use ${digits(100 * mean)} %, largest ${digits(100 * this.largest(ports))} %`;
  }

  choose(at) {
    this.at = at;
    this.frame.setAttribute('display', at ? 'inline' : 'none');
    if (!at) return void this.tell(null, null);
    const [r, c] = at;
    const rect = this.svg.querySelector(`[data-row="${r}"][data-cell="${c}"]`);
    for (const name of ['x', 'y', 'width', 'height']) this.frame.setAttribute(name, rect.getAttribute(name));
    this.tell(this.rows[r], this.rows[r].cells[c]);
  }

  // Chooses the cell that was chosen before the map was drawn anew, where it still is one.
  again([r, c]) {
    if (r < this.rows.length) this.choose([r, Math.min(c, this.rows[r].cells.length - 1)]);
  }

  key(event) {
    if (event.key === 'Escape') return void this.choose(null);
    const move = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    if (!move) return;
    event.preventDefault();
    if (!this.at) return void this.choose([0, 0]);
    const [r, c] = this.at;
    const row = Math.min(Math.max(r + move[0], 0), this.rows.length - 1);
    const [before, many] = [this.rows[r].cells.length, this.rows[row].cells.length];
    // Up and down lead to the cell at the same share of the row.
    const cell = row === r ? c + move[1] : Math.floor(((c + 0.5) / before) * many);
    this.choose([row, Math.min(Math.max(cell, 0), many - 1)]);
  }
}

// The ports of each cell: one, or where cells would be narrower than `HEAT.least` pixels as many as it takes.
function cellsOf(ports, width) {
  const cells = Math.min(ports.length, Math.max(Math.floor(width / HEAT.least), 1));
  return [...Array(cells).keys()].map((c) => ports.slice(Math.floor((c * ports.length) / cells), Math.floor(((c + 1) * ports.length) / cells)));
}

// The colour of a share of use.
function useColour(share) {
  return `color-mix(in oklab, var(--unused), var(--used) ${Math.round(100 * Math.min(Math.max(share, 0), 1))}%)`;
}

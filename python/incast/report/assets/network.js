// The network: tiers of nodes, links coloured and drawn thicker by their use over the whole run, and the
// ports of a chosen node in numbers. Where that is wider than its box, or by a button, a heat map of links.

const SVG = 'http://www.w3.org/2000/svg';
const HOST_PITCH = 24;
const SWITCH_PITCH = 46;
const TIER_PITCH = 96;
const BUSIEST = 10;

function shape(name, attributes, ...children) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

class NetworkSection {
  constructor(content) {
    this.section = document.getElementById('network');
    this.section.hidden = false;
    this.content = content;
    this.there = entries.map((e, i) => i).filter((i) => content.results[i]);
    if (!this.there.length) {
      this.section.append(element('p', {}, 'Totals per port are written when a run comes to its end. This one did not, so the network cannot be shown.'));
      return;
    }
    this.shapes = content.networks.map((n) => ({
      ...n, from: column(n.ends[0]), to: column(n.ends[1]), there: column(n.rows[0]), back: column(n.rows[1]), port: column(n.port), rate: column(n.rate),
    }));
    this.totals = new Map();
    [this.entry] = this.there;
    this.build();
    this.update();
  }

  build() {
    const controls = element('div', { className: 'controls' });
    this.select = element('select', { onchange: () => { this.entry = Number(this.select.value); this.update(); } });
    if (this.there.length > 1) controls.append(element('label', {}, element('span', {}, 'Result'), this.select));
    this.asked = null;
    this.toggle = element('button', { type: 'button', onclick: () => { this.asked = !this.heated; this.chosen = null; this.heat = null; this.draw(); this.tell(); } }, 'Heat map');
    controls.append(this.toggle, element('span', { className: 'ramp' }, 'used: 0 %', element('i'), '100 %'));
    this.map = element('div', { className: 'map' });
    this.readout = element('div', { className: 'readout', 'aria-live': 'polite' });
    this.ports = element('div', { className: 'wide', tabIndex: 0, role: 'group' });
    this.ports.setAttribute('aria-label', 'Ports, scrolls sideways');
    this.section.append(controls, this.map, this.readout, this.ports);
    new ResizeObserver(() => { if (this.map.clientWidth !== this.drawnFor) this.draw(); }).observe(this.map);
  }

  // Whether the network is shown as a heat map: as asked for, else where its nodes do not fit.
  get heated() {
    if (!this.shape.drawn) return true;
    return this.asked ?? this.layout().width > this.map.clientWidth;
  }

  get shape() { return this.shapes[this.content.results[this.entry].network]; }

  // The numbers of a result's ports by row of its table, and the share of each link that was used.
  get numbers() {
    if (!this.totals.has(this.entry)) {
      const packed = this.content.results[this.entry];
      const n = {
        sent: column(packed.transmitted_bytes), peak: column(packed.peak_queue_bytes), dropped: column(packed.dropped_packets),
        marked: column(packed.marked_packets), paused: column(packed.paused_ps),
      };
      n.used = n.sent.map((s, row) => (packed.now_ps ? (s * 8e12) / packed.now_ps / this.shape.rate[row] : 0));
      this.totals.set(this.entry, n);
    }
    return this.totals.get(this.entry);
  }

  // A number of switches in a line: hosts, switches, links.
  get words() {
    const { shape: s } = this;
    const count = (n, one) => `${n.toLocaleString('en-US')} ${one}${n === 1 ? '' : one.endsWith('ch') ? 'es' : 's'}`;
    return `${count(s.hosts, 'host')}, ${count(s.names.length - s.hosts, 'switch')}, ${count(s.from.length, 'link')}`;
  }

  update() {
    const visible = this.there.filter((i) => entries[i].visible);
    if (visible.length && !visible.includes(this.entry)) [this.entry] = visible;
    this.select.replaceChildren(...this.there.map((i) => element('option', { value: i, disabled: !entries[i].visible }, entries[i].title)));
    this.select.value = this.entry;
    this.chosen = null;
    this.heat = null;
    this.draw();
    this.tell();
  }

  refresh() {
    if (!this.shapes) return;
    if (entries[this.entry].visible) {
      for (const option of this.select.options) option.disabled = !entries[option.value].visible;
      this.draw();
    } else {
      this.update();
    }
  }

  // Where each node stands. Hosts stand under their switch; where there are too many, as one box.
  layout() {
    const s = this.shape;
    if (s.place && s.drawnFor === this.map.clientWidth) return s;
    const [hosts, ...tiers] = s.tiers;
    const above = new Map();
    for (let i = 0; i < s.from.length; i++) if (s.from[i] < s.hosts) above.set(s.from[i], s.to[i]);
    s.under = new Map();
    for (const host of hosts) {
      const at = above.get(host);
      if (!s.under.has(at)) s.under.set(at, []);
      s.under.get(at).push(host);
    }
    const cell = (n) => Math.max(SWITCH_PITCH, s.grouped ? SWITCH_PITCH + 14 : (s.under.get(n)?.length ?? 0) * HOST_PITCH + 10);
    const needed = Math.max((tiers[0] ?? []).reduce((sum, n) => sum + cell(n), 0), ...tiers.slice(1).map((t) => t.length * SWITCH_PITCH), 200);
    const stretch = Math.max(1, Math.min((this.map.clientWidth - 34) / needed, 2.4));
    s.width = needed * stretch + 32;
    s.height = (s.tiers.length - 1) * TIER_PITCH + 84;
    s.place = new Map();
    const y = (tier) => s.height - 40 - tier * TIER_PITCH;
    const total = (tiers[0] ?? []).reduce((sum, n) => sum + cell(n), 0) * stretch;
    let x = 16 + (s.width - 32 - total) / 2;
    for (const n of tiers[0] ?? []) {
      const wide = cell(n) * stretch;
      s.place.set(n, [x + wide / 2, y(1)]);
      const mine = s.under.get(n) ?? [];
      mine.forEach((host, i) => {
        const pitch = Math.min(HOST_PITCH * stretch, 64);
        s.place.set(host, s.grouped ? [x + wide / 2, y(0)] : [x + wide / 2 + (i - (mine.length - 1) / 2) * pitch, y(0)]);
      });
      x += wide;
    }
    tiers.slice(1).forEach((tier, above) => tier.forEach((n, i) => {
      s.place.set(n, [16 + ((i + 0.5) / tier.length) * (s.width - 32), y(above + 2)]);
    }));
    s.drawnFor = this.map.clientWidth;
    return s;
  }

  draw() {
    const s = this.shape;
    this.drawnFor = this.map.clientWidth;
    if (!this.drawnFor) return;
    this.toggle.hidden = !s.drawn;
    this.toggle.setAttribute('aria-pressed', this.heated);
    if (this.heated) return void this.drawHeat();
    this.layout();
    const { used } = this.numbers;
    const svg = shape('svg', { width: s.width, height: s.height, viewBox: `0 0 ${s.width} ${s.height}`, tabindex: 0, role: 'img' });
    svg.setAttribute('aria-label', `${this.words}. Arrow keys go from node to node, Escape leaves.`);
    const seen = new Map();
    const lines = shape('g', {}), near = shape('g', {}), nodes = shape('g', {}), words = shape('g', {});
    for (let i = 0; i < s.from.length; i++) {
      const [a, b] = [s.from[i], s.to[i]];
      const pair = s.grouped && a < s.hosts ? `${b} hosts` : `${a} ${b}`;
      if (s.grouped && a < s.hosts) {
        if (seen.has(pair)) continue;
        seen.set(pair, 1);
        const links = s.under.get(b).map((host) => this.linkOf(host));
        const mean = (rows) => links.reduce((sum, l) => sum + used[rows[l]], 0) / links.length;
        this.link(lines, near, i, 0, [mean(s.there), mean(s.back)]);
        continue;
      }
      const parallel = seen.get(pair) ?? 0;
      seen.set(pair, parallel + 1);
      this.link(lines, near, i, parallel, [used[s.there[i]], used[s.back[i]]]);
    }
    const drawn = new Set();
    for (const [n, [x, y]] of s.place) {
      const host = n < s.hosts;
      const box = host && s.grouped ? `${x}` : n;
      if (drawn.has(box)) continue;
      drawn.add(box);
      const width = host ? (s.grouped ? 52 : 12) : Math.max(30, Math.min(s.names[n].length * 7 + 10, SWITCH_PITCH - 4));
      const height = host && !s.grouped ? 12 : 20;
      nodes.append(shape('rect', { class: 'node', x: x - width / 2, y: y - height / 2, width, height, rx: host && !s.grouped ? 6 : 4, 'data-node': n },
        shape('title', {}, host && s.grouped ? this.hostsOf(n) : s.names[n])));
      const inside = !host || s.grouped;
      const text = host && s.grouped ? `${s.under.get(this.switchOf(n)).length} hosts` : s.names[n];
      const room = inside ? width / 6 : 5;
      if (text.length <= room + 1) words.append(shape('text', { x, y: inside ? y + 4 : y + 20 }, text));
    }
    svg.append(lines, near, nodes, words);
    svg.addEventListener('pointerover', (event) => this.point(event.target));
    svg.addEventListener('click', (event) => this.choose(event.target.dataset?.node));
    svg.addEventListener('keydown', (event) => this.key(event));
    const focused = this.map.firstChild === document.activeElement;
    this.map.replaceChildren(svg);
    if (focused) svg.focus();
    this.mark();
  }

  drawHeat() {
    const { at } = this.heat ?? {};
    const focused = this.map.firstChild === document.activeElement;
    this.heat = new HeatMap(this.shape, this.numbers.used, this.map.clientWidth, {
      point: (row, ports) => this.pointAt(row, ports),
      tell: (row, ports) => this.tell(row && { title: `Ports of ${row.title}, ${this.endsOf(ports)}`, ports }),
    });
    this.map.replaceChildren(this.heat.svg);
    if (focused) this.heat.svg.focus();
    if (at) this.heat.again(at);
  }

  // The nodes whose ports these are: "h0", or "h0 to h7".
  endsOf(ports) {
    const { names } = this.shape;
    const pairs = [ports[0], ports[ports.length - 1]].map(([from, to]) => `${names[from]} → ${names[to]}`);
    return ports.length > 1 ? pairs.join(' to ') : pairs[0];
  }

  pointAt(row, ports) {
    if (ports.length === 1) return void this.say(this.direction(...ports[0]));
    const { used } = this.numbers;
    const shares = ports.map(([, , port]) => 100 * used[port]);
    this.say(`${row.title}, ${this.endsOf(ports)}: ${ports.length} links, ${digits(Math.min(...shares))} to ${digits(Math.max(...shares))} % used`);
  }

  linkOf(host) {
    const s = this.shape;
    s.hostLinks ??= new Map([...s.from].map((a, i) => [a, i]).filter(([a]) => a < s.hosts));
    return s.hostLinks.get(host);
  }

  switchOf(host) { return this.shape.to[this.linkOf(host)]; }

  hostsOf(host) {
    const mine = this.shape.under.get(this.switchOf(host));
    return `${this.shape.names[mine[0]]} to ${this.shape.names[mine[mine.length - 1]]}`;
  }

  // A link as two lines beside each other, one for each direction.
  link(lines, near, i, parallel, used) {
    const s = this.shape;
    const [[x0, y0], [x1, y1]] = [s.place.get(s.from[i]), s.place.get(s.to[i])];
    const length = Math.hypot(x1 - x0, y1 - y0) || 1;
    const [nx, ny] = [-(y1 - y0) / length, (x1 - x0) / length];
    // A link inside a tier that passes other nodes goes around them.
    const bend = y0 === y1 && this.apart(s.from[i], s.to[i]) > 1 ? -40 : 0;
    const path = (offset) => {
      const [dx, dy] = [nx * offset, ny * offset];
      const middle = bend ? `Q${(x0 + x1) / 2 + dx} ${y0 + 2 * bend + dy} ` : 'L';
      return `M${x0 + dx} ${y0 + dy}${middle}${x1 + dx} ${y1 + dy}`;
    };
    const side = 6 * parallel;
    used.forEach((share, direction) => {
      const line = shape('path', { class: 'link', d: path(side + (direction ? 1.9 : -1.9)), 'data-a': s.from[i], 'data-b': s.to[i] });
      const percent = Math.round(100 * Math.min(Math.max(share, 0), 1));
      line.style.stroke = `color-mix(in oklab, var(--unused), var(--used) ${percent}%)`;
      line.style.strokeWidth = `${1 + 2.4 * Math.min(share, 1)}px`;
      lines.append(line);
    });
    near.append(shape('path', { class: 'near', d: path(side), 'data-link': i }));
  }

  apart(a, b) {
    const tier = this.shape.tiers.find((t) => t.includes(a));
    return Math.abs(tier.indexOf(a) - tier.indexOf(b));
  }

  port(row) {
    const { port } = this.shape;
    return `port ${port[row]}`;
  }

  // What one direction of a link carried.
  direction(from, to, row) {
    const n = this.numbers;
    const s = this.shape;
    return `${s.names[from]} → ${s.names[to]} (${this.port(row)}, ${quantity(s.rate[row], 'rate')}): ${digits(100 * n.used[row])} % used, ${quantity(n.sent[row], 'bytes')} sent, longest queue ${quantity(n.peak[row], 'bytes')}, ${n.dropped[row].toLocaleString('en-US')} dropped`;
  }

  point(target) {
    const link = target.dataset?.link;
    if (link === undefined) return;
    const s = this.shape;
    const [a, b] = [s.from[link], s.to[link]];
    if (s.grouped && a < s.hosts) {
      const { used } = this.numbers;
      const links = s.under.get(b).map((host) => this.linkOf(host));
      const mean = (rows) => digits((100 * links.reduce((sum, l) => sum + used[rows[l]], 0)) / links.length);
      this.say(`${this.hostsOf(a)} → ${s.names[b]}: ${mean(s.there)} % used on average`, `${s.names[b]} → ${this.hostsOf(a)}: ${mean(s.back)} % used on average`);
      return;
    }
    this.say(this.direction(a, b, s.there[link]), this.direction(b, a, s.back[link]));
  }

  say(...lines) { this.readout.replaceChildren(...lines.map((words) => element('div', {}, words))); }

  choose(node) {
    this.chosen = node === undefined ? null : Number(node);
    this.mark();
    this.tell();
  }

  mark() {
    const is = (text) => this.chosen !== null && Number(text) === this.chosen;
    for (const node of this.map.querySelectorAll('.node')) node.classList.toggle('chosen', is(node.dataset.node));
    for (const link of this.map.querySelectorAll('.link')) link.classList.toggle('other', this.chosen !== null && !is(link.dataset.a) && !is(link.dataset.b));
  }

  key(event) {
    if (event.key === 'Escape') return void this.choose();
    const tiers = this.shape.tiers.map((tier) => tier.filter((n) => this.map.querySelector(`[data-node="${n}"]`)));
    const moves = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [1, 0], ArrowDown: [-1, 0] };
    const move = moves[event.key];
    if (!move) return;
    event.preventDefault();
    if (this.chosen === null) return void this.choose(tiers[Math.min(1, tiers.length - 1)][0]);
    const level = tiers.findIndex((tier) => tier.includes(this.chosen));
    const to = Math.min(Math.max(level + move[0], 0), tiers.length - 1);
    if (to !== level) {
      const [x] = this.shape.place.get(this.chosen);
      const far = (n) => Math.abs(this.shape.place.get(n)[0] - x);
      this.choose(tiers[to].reduce((best, n) => (far(n) < far(best) ? n : best)));
    } else {
      const tier = tiers[level];
      this.choose(tier[Math.min(Math.max(tier.indexOf(this.chosen) + move[1], 0), tier.length - 1)]);
    }
    this.map.querySelector('.chosen')?.scrollIntoView({ block: 'nearest', inline: 'center' });
  }

  // The ports of the chosen node or cell; without one, the busiest of all.
  tell(picked = null) {
    const s = this.shape;
    const n = this.numbers;
    let ports = [];
    for (let i = 0; i < s.from.length; i++) {
      ports.push([s.from[i], s.to[i], s.there[i]], [s.to[i], s.from[i], s.back[i]]);
    }
    let title;
    if (picked) {
      ({ title, ports } = picked);
    } else if (this.chosen === null) {
      const which = this.heated ? 'a cell' : 'a node';
      title = `${this.words}. The ${Math.min(BUSIEST, ports.length)} busiest ports; choose ${which} to see its own.`;
      ports = ports.sort((a, b) => n.used[b[2]] - n.used[a[2]] || a[2] - b[2]).slice(0, BUSIEST);
    } else {
      const group = this.chosen < s.hosts && s.grouped ? s.under.get(this.switchOf(this.chosen)) : [this.chosen];
      title = `Ports of ${group.length > 1 ? this.hostsOf(this.chosen) : s.names[this.chosen]}`;
      ports = ports.filter(([a]) => group.includes(a)).sort((a, b) => a[0] - b[0] || s.port[a[2]] - s.port[b[2]]);
    }
    this.say(title);
    const many = (value) => value.toLocaleString('en-US');
    const head = ['port', 'to', 'rate', 'used', 'sent', 'longest queue', 'dropped', 'marked', 'paused'];
    const rows = ports.map(([a, b, row]) => [
      `${s.names[a]}, ${this.port(row)}`, s.names[b], quantity(s.rate[row], 'rate'), `${(100 * n.used[row]).toFixed(1)} %`, quantity(n.sent[row], 'bytes'),
      quantity(n.peak[row], 'bytes'), many(n.dropped[row]), many(n.marked[row]), n.paused[row] ? quantity(n.paused[row], 'time') : '0',
    ]);
    const cell = (words, i) => (i ? element('td', {}, words) : element('th', { scope: 'row' }, words));
    this.ports.replaceChildren(element('table', {},
      element('thead', {}, element('tr', {}, ...head.map((words) => element('th', { scope: 'col' }, words)))),
      element('tbody', {}, ...rows.map((row) => element('tr', {}, ...row.map(cell))))));
  }
}

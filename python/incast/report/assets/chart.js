// A chart on a canvas, and the group of charts that share its horizontal axis: zoom, pan and cursor of
// one are those of all.

const theme = { ink: '', soft: '', rule: '', grid: '', accent: '', paper: '', dark: false };

function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key in made) made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

// Charts with one horizontal axis. Positions are in units of the axis, or their logarithm.
class Group {
  constructor({ kind, log = false, smallest = 0 }) {
    Object.assign(this, { kind, log, smallest, charts: [], shades: [], cursor: null, whenZoomed: () => {} });
    this.setLimits(0, 1);
  }

  get whole() { return this.low === this.limits[0] && this.high === this.limits[1]; }
  to(x) { return this.log ? Math.log10(x) : x; }
  from(u) { return this.log ? 10 ** u : u; }

  setLimits(low, high) {
    if (!(high > low)) [low, high] = this.log ? [low / 2, low * 2] : [low - 0.5, low + 0.5];
    this.limits = [this.to(low), this.to(high)];
    [this.low, this.high] = this.limits;
    this.cursor = null;
    this.redraw();
  }

  show(low, high) {
    const [first, last] = this.limits;
    const span = Math.min(Math.max(high - low, (last - first) * 1e-7, this.smallest), last - first);
    const middle = (low + high) / 2;
    this.low = Math.min(Math.max(middle - span / 2, first), last - span);
    this.high = span === last - first ? last : this.low + span;
    this.redraw();
  }

  // Makes the span shown `factor` times as long; the position `fixed` stays where it is.
  zoom(factor, fixed = this.cursor ?? (this.low + this.high) / 2) {
    const inside = Math.min(Math.max(fixed, this.low), this.high);
    this.show(inside - (inside - this.low) * factor, inside + (this.high - inside) * factor);
  }

  pan(share) {
    const by = (this.high - this.low) * share;
    this.show(this.low + by, this.high + by);
  }

  reset() { this.show(...this.limits); }

  setCursor(position, spoken = false) {
    this.cursor = position === null ? null : Math.min(Math.max(position, this.limits[0]), this.limits[1]);
    for (const chart of this.charts) chart.scheduleCursor();
    if (spoken && this.cursor !== null) {
      if (this.cursor < this.low || this.cursor > this.high) {
        const half = (this.high - this.low) / 2;
        this.show(this.cursor - half, this.cursor + half);
      }
    }
  }

  redraw() {
    for (const chart of this.charts) chart.schedule();
    this.whenZoomed();
  }

  // "120 – 180 µs"
  words() {
    const [low, high] = [this.from(this.low), this.from(this.high)];
    const unit = unitFor(this.kind, Math.max(Math.abs(low), Math.abs(high)));
    const span = this.log ? low : high - low;
    return `${position(low, this.kind, span, [unit[0], ''])} – ${position(high, this.kind, span, unit)}`;
  }
}

// Pixels above the lines; rows of the names of shades, the height of each, and the least width of a name.
const EDGE = 8;
const SHADE_ROWS = 3;
const SHADE_PITCH = 13;
const SHADE_ROOM = 40;

// As much of the words as fits in a width.
function cut(pen, words, width) {
  if (pen.measureText(words).width <= width) return words;
  let end = words.length;
  while (end > 0 && pen.measureText(`${words.slice(0, end)}…`).width > width) end--;
  return `${words.slice(0, end)}…`;
}

function shadeName({ lines }) {
  return lines.length > 1 ? `${lines[0]} and ${lines.length - 1} more` : lines[0];
}

const KEYS = 'Arrow keys move the cursor, with Shift they pan; + and − zoom, 0 shows everything, Escape removes the cursor.';

class Chart {
  // `form`: title, kind (of the vertical axis), log, group, lowest (where the vertical axis begins), most
  // (where it ends at most), steps ('before' or 'after': values hold up to or from their position), common
  // (whether a legend of the section names the lines, and the chart only their values at the cursor), columns
  // (names of position and value in a file).
  constructor(parent, form) {
    Object.assign(this, { log: false, lowest: 0, most: null, steps: null, common: false, ...form });
    this.series = [];
    this.unit = element('span');
    this.heading = element('h3', {}, `${this.title} `, this.unit);
    this.where = element('span', { className: 'where' });
    this.values = element('div', { className: this.common ? 'values common' : 'values' });
    this.canvas = element('canvas');
    this.over = element('canvas');
    this.plot = element('div', { className: 'plot', tabIndex: 0, role: 'img' }, this.canvas, this.over);
    this.plot.setAttribute('aria-label', `${this.title}. ${KEYS}`);
    this.figure = element('figure', {}, element('figcaption', {}, this.heading, this.where, saving(this)), this.values, this.plot);
    parent.append(this.figure);
    this.figure.chart = this;
    this.group.charts.push(this);
    this.listen();
    new ResizeObserver(() => this.schedule()).observe(this.plot);
  }

  // Each series: entry, label, x (ascending), pyramid (of the values), dashes, and perhaps marker, weak
  // (whether each point rests on too little), mean (from, end: the exact mean of a stretch).
  setSeries(series) {
    this.series = series;
    this.legend();
    this.schedule();
  }

  get shown() { return this.series.filter((s) => entries[s.entry].visible); }

  schedule() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      this.draw();
      this.drawCursor();
    });
  }

  scheduleCursor() {
    if (this.pendingCursor || this.pending) return;
    this.pendingCursor = true;
    requestAnimationFrame(() => {
      this.pendingCursor = false;
      this.drawCursor();
    });
  }

  size(canvas) {
    const scale = window.devicePixelRatio || 1;
    const { clientWidth, clientHeight } = this.plot;
    const [width, height] = [Math.round(clientWidth * scale), Math.round(clientHeight * scale)];
    if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
    const pen = canvas.getContext('2d');
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, clientWidth, clientHeight);
    return [pen, clientWidth, clientHeight];
  }

  x(u) { return this.left + ((u - this.group.low) / (this.group.high - this.group.low)) * this.width; }
  u(x) { return this.group.low + ((x - this.left) / this.width) * (this.group.high - this.group.low); }
  y(value) {
    const v = this.log ? Math.log10(Math.max(value, 1e-300)) : value;
    return this.top + (1 - (v - this.bottomValue) / (this.topValue - this.bottomValue)) * this.height;
  }

  // The indices of a series that are visible, with one more at each side.
  visible(s) {
    const from = firstFrom(s.x, this.group.from(this.group.low));
    const end = firstFrom(s.x, this.group.from(this.group.high));
    return [Math.max(from - 1, 0), Math.min(end + 1, s.x.length)];
  }

  // The vertical axis: all that is visible, from `lowest` on where that is set.
  fit() {
    let low = Infinity, high = -Infinity;
    for (const s of this.shown) {
      const range = s.pyramid.range(...this.visible(s));
      if (!range) continue;
      low = Math.min(low, range.low);
      high = Math.max(high, range.high);
    }
    if (low > high) [low, high] = [this.log ? 1 : 0, this.log ? 10 : 1];
    if (this.log) {
      const bottom = Math.max(this.lowest || low, 1e-300);
      this.bottomValue = Math.log10(bottom);
      this.topValue = Math.max(Math.log10(high) + 0.04, this.bottomValue + 0.3);
    } else {
      this.bottomValue = this.lowest ?? low;
      if (this.most !== null) high = Math.max(high, this.most);
      this.topValue = high > this.bottomValue ? this.bottomValue + (high - this.bottomValue) * 1.06 : this.bottomValue + 1;
    }
  }

  draw() {
    if (!this.plot.clientWidth) return;
    const [pen, width, height] = this.size(this.canvas);
    pen.font = `11px ${getComputedStyle(this.plot).fontFamily}`;
    Object.assign(this, { left: 46, width: width - 46 - 10 });
    const shades = this.shadesShown();
    const names = this.namesOf(pen, shades);
    // Lines stay below the names.
    const top = EDGE + SHADE_PITCH * Math.max(0, ...names.map(({ row }) => row + 1));
    Object.assign(this, { top, height: height - top - 22 });
    this.fit();
    this.shade(pen, shades);
    this.axes(pen);
    pen.save();
    pen.beginPath();
    pen.rect(this.left, this.top - 1, this.width, this.height + 2);
    pen.clip();
    for (const s of this.shown) this.line(pen, s);
    pen.restore();
    this.nameShades(pen, names);
  }

  // The shades in view, each from `left` to `right`.
  shadesShown() {
    const { group } = this;
    const end = this.left + this.width;
    return group.shades.filter((shade) => shade.entries.some((i) => entries[i].visible)).map((shade) => {
      const [from, until] = [this.x(group.to(shade.from)), this.x(shade.until === null ? group.limits[1] : group.to(shade.until))];
      return { ...shade, begins: from >= this.left, ends: until <= end, left: Math.max(from, this.left), right: Math.min(until, end) };
    }).filter(({ left, right }) => left <= end && right >= this.left && right >= left);
  }

  shade(pen, shades) {
    pen.fillStyle = pen.strokeStyle = theme.soft;
    pen.lineWidth = 1;
    for (const { left, right, begins, ends } of shades) {
      pen.globalAlpha = 0.13;
      const bottom = this.top + this.height;
      pen.fillRect(left, EDGE, Math.max(right - left, 1), bottom - EDGE);
      pen.globalAlpha = 0.6;
      for (const [is, x] of [[begins, left], [ends, right]]) if (is) line(pen, Math.round(x) + 0.5, EDGE, Math.round(x) + 0.5, bottom);
    }
    pen.globalAlpha = 1;
  }

  // The names of shades, each where its shade begins and in the first row that has room, cut to what room
  // there is; a name without room is only in the list below the charts.
  namesOf(pen, shades) {
    const rows = [];
    const end = this.left + this.width;
    return shades.flatMap((shade) => {
      const x = shade.left + 4;
      const row = [...Array(SHADE_ROWS).keys()].find((i) => (rows[i] ?? 0) < x);
      if (row === undefined || end - x < SHADE_ROOM) return [];
      const words = cut(pen, shadeName(shade), end - x);
      rows[row] = x + pen.measureText(words).width + 6;
      return [{ words, x, row }];
    });
  }

  nameShades(pen, names) {
    pen.textBaseline = 'top';
    pen.textAlign = 'left';
    pen.lineJoin = 'round';
    pen.strokeStyle = theme.paper;
    pen.fillStyle = theme.ink;
    pen.lineWidth = 3;
    for (const { words, x, row } of names) {
      const y = EDGE + 1 + SHADE_PITCH * row;
      pen.strokeText(words, x, y);
      pen.fillText(words, x, y);
    }
  }

  axes(pen) {
    const top = this.log ? 10 ** this.topValue : this.topValue;
    const bottom = this.log ? 10 ** this.bottomValue : this.bottomValue;
    const [size, name] = unitFor(this.kind, Math.max(Math.abs(top), Math.abs(bottom)));
    this.valueUnit = name;
    const unit = name && `(${name})`;
    if (this.unit.textContent !== unit) this.unit.textContent = unit;
    pen.lineWidth = 1;
    pen.textBaseline = 'middle';
    pen.textAlign = 'right';
    const count = this.height / 38;
    for (const tick of (this.log ? logTicks : linearTicks)(bottom / size, top / size, count)) {
      const y = Math.round(this.y(tick * size)) + 0.5;
      if (y < this.top - 2 || y > this.top + this.height + 1) continue;
      pen.strokeStyle = theme.grid;
      line(pen, this.left, y, this.left + this.width, y);
      pen.fillStyle = theme.soft;
      pen.fillText(label(tick), this.left - 6, y);
    }
    const { group } = this;
    const [low, high] = [group.from(group.low), group.from(group.high)];
    const [xSize, xName] = unitFor(group.kind, group.log ? 0 : Math.max(Math.abs(low), Math.abs(high)));
    const y = this.top + this.height;
    pen.strokeStyle = theme.soft;
    line(pen, this.left, Math.round(y) + 0.5, this.left + this.width, Math.round(y) + 0.5);
    pen.textBaseline = 'top';
    const across = this.width / 80;
    const ticks = (group.log ? logTicks : linearTicks)(low / xSize, high / xSize, across);
    const inner = ticks.filter((t) => { const x = this.x(group.to(t * xSize)); return x >= this.left - 1 && x <= this.left + this.width + 1; });
    inner.forEach((tick, i) => {
      const x = Math.round(this.x(group.to(tick * xSize))) + 0.5;
      pen.strokeStyle = theme.soft;
      line(pen, x, y, x, y + 4);
      pen.fillStyle = theme.soft;
      const words = group.log ? short(tick, group.kind) : label(tick) + (i === inner.length - 1 && xName ? ` ${xName}` : '');
      const half = pen.measureText(words).width / 2;
      pen.textAlign = 'center';
      const place = Math.min(Math.max(x, half), this.left + this.width + 10 - half);
      pen.fillText(words, place, y + 7);
    });
  }

  line(pen, s) {
    const [from, end] = this.visible(s);
    pen.strokeStyle = pen.fillStyle = entries[s.entry].shade;
    pen.globalAlpha = s.alpha ?? 1;
    pen.lineJoin = 'bevel';
    pen.setLineDash(s.dashes.map((d) => d * 1.6));
    if (!this.group.log && end - from > (this.steps ? 0.7 : 2.5) * this.width) this.band(pen, s, from, end);
    else this.through(pen, s, from, end);
    pen.setLineDash([]);
    pen.globalAlpha = 1;
  }

  // Many samples a pixel: all that they span, and their mean. Rates jump by whole packets from one
  // sample to the next; three pixels at a time make their mean readable.
  band(pen, s, from, end) {
    const wide = this.steps ? 3 : 1;
    const columns = [];
    let i = from;
    for (let x = Math.floor(this.x(Math.max(s.x[from], this.group.low))); x <= this.left + this.width && i < end; x += wide) {
      const next = Math.min(firstFrom(s.x, this.u(x + wide)), end);
      if (next > i) {
        const range = s.pyramid.range(i, next);
        columns.push(range && [x + wide / 2, this.y(range.high), this.y(range.low), this.y(s.mean ? s.mean(i, next) : range.mean)]);
        i = next;
      }
    }
    const stretches = [[]];
    for (const c of columns) {
      if (c) stretches[stretches.length - 1].push(c);
      else stretches.push([]);
    }
    const dashes = pen.getLineDash();
    for (const part of stretches) {
      if (!part.length) continue;
      const alpha = pen.globalAlpha;
      pen.globalAlpha = alpha * (this.shown.length > 3 ? 0.13 : 0.28);
      // Rectangles on whole pixels are far cheaper to fill than one jagged outline.
      for (const [x, high, low] of part) {
        const top = Math.floor(high - 0.5);
        pen.fillRect(Math.round(x - wide / 2), top, wide, Math.ceil(low + 0.5) - top);
      }
      pen.globalAlpha = alpha;
      const way = part.reduce((sum, c, i) => sum + (i ? Math.abs(c[3] - part[i - 1][3]) : 0), 0);
      if (wide === 1 && way > 12 * this.height) {
        // A line that jumps up and down at every pixel is as jagged in rectangles, and cheaper.
        part.forEach(([x, , , mean], i) => {
          const before = i ? part[i - 1][3] : mean;
          pen.fillRect(Math.round(x - wide / 2), Math.min(mean, before) - 0.7, wide, Math.abs(mean - before) + 1.4);
        });
        continue;
      }
      pen.lineWidth = 1.4;
      pen.setLineDash(dashes);
      pen.beginPath();
      for (const [x, , , mean] of part) pen.lineTo(x, mean);
      pen.stroke();
    }
  }

  through(pen, s, from, end) {
    pen.lineWidth = 1.6;
    pen.beginPath();
    let before = null;
    for (let i = from; i < end; i++) {
      const value = s.pyramid.values[i];
      if (value !== value) {
        before = null;
        continue;
      }
      const [x, y] = [this.x(this.group.to(s.x[i])), this.y(value)];
      if (!before) {
        if (this.steps === 'before' && i > 0) {
          pen.moveTo(this.x(this.group.to(s.x[i - 1])), y);
          pen.lineTo(x, y);
        } else {
          pen.moveTo(x, y);
        }
      } else {
        if (this.steps === 'before') pen.lineTo(before[0], y);
        if (this.steps === 'after') pen.lineTo(x, before[1]);
        pen.lineTo(x, y);
      }
      before = [x, y];
    }
    pen.stroke();
    if (!s.marker) return;
    pen.setLineDash([]);
    for (let i = from; i < end; i++) {
      const value = s.pyramid.values[i];
      if (value === value) mark(pen, s.marker, this.x(this.group.to(s.x[i])), this.y(value), !s.weak?.[i]);
    }
  }

  // The sample that the cursor stands for: the last one that is not after it, or in a chart of steps up
  // to a position the first one that is not before it; where points are few the nearest.
  at(s) {
    const x = this.group.from(this.group.cursor);
    const next = firstFrom(s.x, x);
    if (s.marker) {
      const u = this.group.cursor;
      const nearer = next > 0 && (next >= s.x.length || u - this.group.to(s.x[next - 1]) < this.group.to(s.x[next]) - u);
      return nearer ? next - 1 : next;
    }
    if (this.steps === 'before') return next;
    return next < s.x.length && s.x[next] === x ? next : next - 1;
  }

  legend() {
    const parts = this.shown.map((s) => {
      const value = element('b');
      s.value = value;
      return element('span', {}, sample(s), element('span', { className: this.common ? 'silent' : '' }, s.label), value);
    });
    this.values.replaceChildren(...parts);
  }

  drawCursor() {
    if (!this.plot.clientWidth || this.width === undefined) return;
    const [pen] = this.size(this.over);
    const { group } = this;
    if (this.selection) {
      pen.fillStyle = theme.accent;
      pen.globalAlpha = 0.15;
      const [a, b] = this.selection;
      pen.fillRect(Math.min(a, b), this.top, Math.abs(b - a), this.height);
      pen.globalAlpha = 1;
    }
    const inside = group.cursor !== null && group.cursor >= group.low && group.cursor <= group.high;
    this.values.classList.toggle('idle', !inside);
    if (inside) {
      const x = Math.round(this.x(group.cursor)) + 0.5;
      pen.strokeStyle = theme.soft;
      line(pen, x, this.top, x, this.top + this.height);
    }
    for (const s of this.shown) {
      const i = inside ? this.at(s) : -1;
      const value = i >= 0 && i < s.x.length ? s.pyramid.values[i] : NaN;
      s.value.textContent = inside ? quantity(value, this.kind) : '';
      if (value !== value) continue;
      pen.fillStyle = entries[s.entry].shade;
      pen.strokeStyle = theme.paper;
      pen.lineWidth = 1.5;
      const x = s.marker ? this.x(group.to(s.x[i])) : this.x(group.cursor);
      pen.beginPath();
      pen.arc(x, this.y(value), 4, 0, 7);
      pen.fill();
      pen.stroke();
    }
    const x = group.from(group.cursor ?? group.low);
    const span = group.from(group.high) - group.from(group.low);
    const largest = Math.max(Math.abs(group.from(group.high)), Math.abs(group.from(group.low)));
    const words = group.log ? quantity(x, group.kind) : position(x, group.kind, span, unitFor(group.kind, largest));
    this.where.textContent = inside ? `at ${words}` : '';
  }

  listen() {
    const { plot, group } = this;
    const touches = new Map();
    const place = (event) => event.clientX - plot.getBoundingClientRect().left;
    let start = null;
    plot.addEventListener('pointerdown', (event) => {
      if (event.button) return;
      plot.setPointerCapture(event.pointerId);
      touches.set(event.pointerId, place(event));
      const pans = event.pointerType === 'touch' ? !group.whole : event.shiftKey;
      start = { x: place(event), low: group.low, high: group.high, pans, pinch: null };
      if (touches.size === 2) {
        const [a, b] = [...touches.values()];
        start.pinch = { a: this.u(a), b: this.u(b) };
      }
      group.setCursor(this.u(place(event)));
    });
    plot.addEventListener('pointermove', (event) => {
      const x = place(event);
      if (touches.has(event.pointerId)) touches.set(event.pointerId, x);
      if (start?.pinch && touches.size === 2) {
        // The span in which both fingers stay on what they touched.
        const [a, b] = [...touches.values()];
        if (Math.abs(b - a) < 10) return;
        const span = ((start.pinch.b - start.pinch.a) / (b - a)) * this.width;
        const low = start.pinch.a - ((a - this.left) / this.width) * span;
        if (span > 0) group.show(low, low + span);
        return;
      }
      if (start?.pans) {
        const by = ((start.x - x) / this.width) * (start.high - start.low);
        group.show(start.low + by, start.high + by);
      } else if (start && event.pointerType !== 'touch') {
        this.selection = Math.abs(x - start.x) > 5 ? [start.x, x] : null;
      }
      group.setCursor(this.u(x));
    });
    const release = (event) => {
      touches.delete(event.pointerId);
      if (this.selection && event.type === 'pointerup') {
        const [a, b] = this.selection.map((x) => this.u(Math.min(Math.max(x, this.left), this.left + this.width)));
        group.show(Math.min(a, b), Math.max(a, b));
      }
      this.selection = null;
      start = null;
      this.scheduleCursor();
    };
    plot.addEventListener('pointerup', release);
    plot.addEventListener('pointercancel', release);
    plot.addEventListener('pointerleave', (event) => {
      if (event.pointerType === 'mouse' && !start) group.setCursor(null);
    });
    plot.addEventListener('dblclick', () => group.reset());
    plot.addEventListener('wheel', (event) => {
      if (event.ctrlKey || event.metaKey) {
        event.preventDefault();
        group.zoom(Math.exp(Math.min(Math.max(event.deltaY, -60), 60) * 0.01), this.u(place(event)));
      } else if (Math.abs(event.deltaX) > Math.abs(event.deltaY) && !group.whole) {
        event.preventDefault();
        group.pan(event.deltaX / this.width);
      }
    }, { passive: false });
    plot.addEventListener('keydown', (event) => this.press(event));
  }

  press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { group } = this;
    const step = (group.high - group.low) / 100;
    const cursor = group.cursor ?? (group.low + group.high) / 2;
    const actions = {
      ArrowLeft: () => (event.shiftKey ? group.pan(-0.25) : group.setCursor(cursor - step, true)),
      ArrowRight: () => (event.shiftKey ? group.pan(0.25) : group.setCursor(cursor + step, true)),
      Home: () => group.setCursor(group.low, true),
      End: () => group.setCursor(group.high, true),
      '+': () => group.zoom(0.5),
      '=': () => group.zoom(0.5),
      '-': () => group.zoom(2),
      0: () => group.reset(),
      Escape: () => group.setCursor(null),
    };
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
    requestAnimationFrame(() => this.speak());
  }

  // What the cursor shows, for who cannot see it.
  speak() {
    const said = document.getElementById('spoken');
    const values = this.shown.map((s) => `${s.label} ${s.value.textContent}`).join(', ');
    said.textContent = this.group.cursor === null ? `${this.title}: ${this.group.words()}` : `${this.title} ${this.where.textContent}: ${values}`;
  }
}

function line(pen, x0, y0, x1, y1) {
  pen.beginPath();
  pen.moveTo(x0, y0);
  pen.lineTo(x1, y1);
  pen.stroke();
}

function label(tick) {
  if (tick !== 0 && Math.abs(tick) < 1e-4) return tick.toExponential(0);
  return tick.toLocaleString('en-US', { maximumFractionDigits: 6 });
}

// A round quantity: "20 KB", where a measured one would be "20.0 KB".
function short(tick, kind) {
  const [size, unit] = unitFor(kind, tick);
  return label(tick / size) + (unit && ` ${unit}`);
}

const MARKERS = ['circle', 'square', 'up', 'diamond', 'down', 'cross'];

// A mark of a point; hollow where it rests on too little.
function mark(pen, marker, x, y, solid) {
  const r = 3.6;
  pen.beginPath();
  if (marker === 'circle') pen.arc(x, y, r, 0, 7);
  else if (marker === 'square') pen.rect(x - r * 0.9, y - r * 0.9, r * 1.8, r * 1.8);
  else if (marker === 'cross') {
    pen.moveTo(x - r, y - r); pen.lineTo(x + r, y + r); pen.moveTo(x + r, y - r); pen.lineTo(x - r, y + r);
  } else {
    const corners = { up: [[0, -1.2], [1.1, 0.8], [-1.1, 0.8]], down: [[0, 1.2], [1.1, -0.8], [-1.1, -0.8]], diamond: [[0, -1.3], [1.3, 0], [0, 1.3], [-1.3, 0]] };
    for (const [dx, dy] of corners[marker]) pen.lineTo(x + dx * r, y + dy * r);
    pen.closePath();
  }
  const colour = pen.fillStyle;
  pen.fillStyle = solid ? colour : theme.paper;
  pen.fill();
  pen.fillStyle = colour;
  pen.lineWidth = 1.4;
  pen.stroke();
}

// A piece of a series' line, for legends.
function sample(s) {
  const name = 'http://www.w3.org/2000/svg';
  const svg = document.createElementNS(name, 'svg');
  svg.setAttribute('width', '20');
  svg.setAttribute('height', '8');
  svg.setAttribute('aria-hidden', 'true');
  const path = document.createElementNS(name, 'path');
  path.setAttribute('d', 'M0 4H20');
  path.style.stroke = `var(--entry-${s.entry})`;
  path.style.strokeWidth = '2';
  path.style.strokeDasharray = s.dashes.map((d) => d * 1.6).join(' ');
  path.style.opacity = s.alpha ?? 1;
  svg.append(path);
  return svg;
}

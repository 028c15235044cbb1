// The address of the page keeps what is shown, so that a link leads to it: #port=s0:15&from=0&to=2e8&hide=2,3&stat=p99,
// times in ps. What is as when the page was opened is left out.

class Link {
  constructor(flows, series) {
    Object.assign(this, { flows, series, first: series.port, pending: null });
    this.note = element('div', { className: 'note', role: 'status', hidden: true });
    document.getElementById('trouble').after(this.note);
    addEventListener('hashchange', () => this.read());
    if (location.hash) this.read();
  }

  // Called after whatever is kept has changed; browsers allow few writes of the address in a short time.
  keep() {
    clearTimeout(this.pending);
    this.pending = setTimeout(() => this.write(), 250);
  }

  get words() {
    const { flows, series } = this;
    const { group } = series;
    const parts = {};
    if (series.port !== this.first) parts.port = series.port;
    if (group && !group.whole) Object.assign(parts, { from: Math.round(group.low), to: Math.round(group.high) });
    const hidden = [...entries.keys()].filter((i) => !entries[i].visible);
    if (hidden.length) parts.hide = hidden.join(',');
    if (flows.statistic !== undefined && flows.statistic !== FIRST_STATISTIC) parts.stat = flows.statistic;
    // Colons and commas need no escape here, and are easier to read.
    const escaped = (value) => encodeURIComponent(value).replaceAll('%3A', ':').replaceAll('%2C', ',');
    return Object.entries(parts).map(([key, value]) => `${key}=${escaped(value)}`).join('&');
  }

  write() {
    const { words } = this;
    if (words === location.hash.slice(1)) return;
    // A name of a part of the page stays until there is something to keep.
    if (!words && !location.hash.includes('=')) return;
    try {
      history.replaceState(null, '', words ? `#${words}` : location.pathname + location.search);
    } catch {
      // Inside of another page there is no address of its own.
    }
  }

  // Shows what the address says; what it says wrong is named above the figures.
  read() {
    const words = location.hash.slice(1);
    if (words && !words.includes('=')) return;
    clearTimeout(this.pending);
    const asked = Object.fromEntries(new URLSearchParams(words));
    const wrong = [];
    const has = (is, key, what) => {
      if (!is) wrong.push(`${key}=${asked[key]}: ${what}`);
      return is;
    };
    const { flows, series } = this;
    for (const key of Object.keys(asked)) has(['port', 'from', 'to', 'hide', 'stat'].includes(key), key, 'a link has port, from, to, hide, stat');
    this.readPort(asked, has);
    this.readTimes(asked, has);
    const hidden = (asked.hide ?? '').split(',').filter(Boolean);
    const known = hidden.every((text) => /^\d+$/.test(text) && Number(text) < entries.length);
    if (asked.hide === undefined || has(known, 'hide', `the numbers of results are 0 to ${entries.length - 1}`)) {
      show(entries.map((_, i) => !hidden.map(Number).includes(i)));
    }
    if (flows.statistic !== undefined) {
      const { stat = FIRST_STATISTIC } = asked;
      if (has(STATISTICS.includes(stat), 'stat', `there are ${STATISTICS.join(', ')}`)) flows.choose(stat);
    } else {
      has(asked.stat === undefined, 'stat', 'this report has no slowdowns');
    }
    clearTimeout(this.pending);
    this.note.hidden = !wrong.length;
    this.note.replaceChildren(...(wrong.length ? [element('p', {}, 'The link to this page says what cannot be shown:')] : []), ...wrong.map((line) => element('p', {}, line)));
  }

  readPort(asked, has) {
    const { series } = this;
    const { port = this.first } = asked;
    if (port === undefined) return;
    if (has(series.ports.has(port), 'port', 'this port was not sampled') && port !== series.port) series.choosePort(port);
  }

  readTimes(asked, has) {
    const { group } = this.series;
    const given = ['from', 'to'].filter((key) => asked[key] !== undefined);
    if (!group) {
      for (const key of given) has(false, key, 'nothing was sampled');
      return;
    }
    const number = (key, other) => (asked[key] ? Number(asked[key]) : other);
    const [from, to] = [number('from', group.limits[0]), number('to', group.limits[1])];
    const right = Number.isFinite(from) && Number.isFinite(to) && from < to && from < group.limits[1] && to > group.limits[0];
    if (right) group.show(Math.max(from, group.limits[0]), Math.min(to, group.limits[1]));
    else for (const key of given) has(false, key, `the times are ${group.limits[0]} to ${group.limits[1]} ps, and from is before to`);
  }
}

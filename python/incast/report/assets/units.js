// Numbers as people read them: units of the right size, round ticks.

const SCALES = {
  time: [[1e12, 's'], [1e9, 'ms'], [1e6, 'µs'], [1e3, 'ns'], [1, 'ps']],
  bytes: [[1e9, 'GB'], [1e6, 'MB'], [1e3, 'KB'], [1, 'B']],
  rate: [[1e12, 'Tbps'], [1e9, 'Gbps'], [1e6, 'Mbps'], [1e3, 'kbps'], [1, 'bps']],
  percent: [[1, '%']],
  plain: [[1, '']],
};

// The unit in which a quantity of this size is written: [its size, its name].
function unitFor(kind, largest) {
  const scale = SCALES[kind];
  return scale.find(([size]) => Math.abs(largest) >= size) ?? scale[scale.length - 1];
}

// Three significant digits, whole digits never rounded away, thousands grouped.
function digits(value, places) {
  if (!Number.isFinite(value)) return '–';
  if (value === 0) return '0';
  const whole = Math.floor(Math.log10(Math.abs(value))) + 1;
  const shown = places ?? Math.min(Math.max(3 - whole, 0), 6);
  return value.toLocaleString('en-US', { minimumFractionDigits: shown, maximumFractionDigits: shown });
}

function quantity(value, kind) {
  if (!Number.isFinite(value)) return '–';
  const [size, unit] = unitFor(kind, value);
  return digits(value / size) + (unit && ` ${unit}`);
}

// A position on an axis that shows `span`, fine enough to tell neighbouring pixels apart.
function position(value, kind, span, unit) {
  const [size, name] = unit;
  const step = span / size / 1000;
  const places = kind === 'plain' ? undefined : Math.min(Math.max(Math.ceil(-Math.log10(step)), 0), 9);
  return digits(value / size, places) + (name && ` ${name}`);
}

// Round values from `low` to `high`, about `count` of them.
function linearTicks(low, high, count) {
  const rough = (high - low) / Math.max(count, 1);
  if (!(rough > 0)) return [];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough * 0.999);
  const ticks = [];
  for (let n = Math.ceil(low / step - 1e-9); n * step <= high + step * 1e-9; n++) {
    // From whole numbers, so that 0.3 is not 0.30000000000000004.
    ticks.push(Number((n * step).toPrecision(12)));
  }
  return ticks;
}

// 1, 2, 5 of each decade where few decades are shown, whole decades otherwise.
function logTicks(low, high, count) {
  const decades = Math.log10(high / low);
  const parts = decades * 3 <= count * 1.6 ? [1, 2, 5] : [1];
  const every = Math.max(1, Math.ceil(decades / Math.max(count, 1)));
  const ticks = [];
  for (let e = Math.floor(Math.log10(low)); e <= Math.ceil(Math.log10(high)); e++) {
    if (parts.length === 1 && ((e % every) + every) % every) continue;
    for (const part of parts) {
      const tick = Number((part * 10 ** e).toPrecision(3));
      if (tick >= low * 0.999 && tick <= high * 1.001) ticks.push(tick);
    }
  }
  // Less than a decade may hold none of these.
  return ticks.length >= 2 ? ticks : linearTicks(low, high, count);
}

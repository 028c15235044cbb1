// Least, largest and mean value of any stretch of a long array, in about as many steps as the array has
// digits. What is drawn of a million samples costs as much as what is drawn of a thousand.

const BLOCK = 16;

class Pyramid {
  constructor(values) {
    this.values = values;
    this.levels = [];
    let below = { low: values, high: values, sum: values, count: null };
    for (let n = Math.floor(values.length / BLOCK); n >= 1; n = Math.floor(n / BLOCK)) {
      below = Pyramid.level(below, n);
      this.levels.push(below);
    }
  }

  static level(below, n) {
    const level = { low: new Float64Array(n), high: new Float64Array(n), sum: new Float64Array(n), count: new Uint32Array(n) };
    for (let i = 0; i < n; i++) {
      let low = Infinity, high = -Infinity, sum = 0, count = 0;
      for (let j = i * BLOCK; j < (i + 1) * BLOCK; j++) {
        const some = below.count ? below.count[j] : below.sum[j] === below.sum[j] ? 1 : 0;
        if (!some) continue;
        if (below.low[j] < low) low = below.low[j];
        if (below.high[j] > high) high = below.high[j];
        sum += below.sum[j];
        count += some;
      }
      level.low[i] = low;
      level.high[i] = high;
      level.sum[i] = sum;
      level.count[i] = count;
    }
    return level;
  }

  // Of the values from index `from` up to, not including, `end`; null when all of them are missing.
  range(from, end) {
    let low = Infinity, high = -Infinity, sum = 0, count = 0;
    let i = Math.max(from, 0);
    const last = Math.min(end, this.values.length);
    while (i < last) {
      let size = 1, level = -1;
      while (level + 1 < this.levels.length && i % (size * BLOCK) === 0 && i + size * BLOCK <= last) {
        size *= BLOCK;
        level++;
      }
      if (level < 0) {
        const value = this.values[i];
        if (value === value) {
          if (value < low) low = value;
          if (value > high) high = value;
          sum += value;
          count++;
        }
      } else {
        const { low: lows, high: highs, sum: sums, count: counts } = this.levels[level];
        const block = i / size;
        if (lows[block] < low) low = lows[block];
        if (highs[block] > high) high = highs[block];
        sum += sums[block];
        count += counts[block];
      }
      i += size;
    }
    return count ? { low, high, mean: sum / count } : null;
  }
}

// The first index whose value is not below `x`, in ascending values.
function firstFrom(values, x) {
  let low = 0, high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] < x) low = middle + 1;
    else high = middle;
  }
  return low;
}

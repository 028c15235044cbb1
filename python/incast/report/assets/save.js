// A chart as a file: what it shows as CSV, in the units of the tables, and its picture as PNG.

// `columns`: names of the position and of the value. What is out of view is left out; lines whose positions
// differ have empty cells where others have values.
function csvOf(chart) {
  const { group, columns } = chart;
  const [low, high] = group.whole ? [-Infinity, Infinity] : [group.from(group.low), group.from(group.high)];
  const lines = chart.shown.map((s) => ({ ...s, at: firstFrom(s.x, low) }));
  const quoted = (words) => (/[",\r\n]/.test(words) ? `"${words.replaceAll('"', '""')}"` : words);
  const rows = [[columns[0], ...lines.map((s) => quoted(`${columns[1]} (${s.label})`))].join(',')];
  for (;;) {
    let x = Infinity;
    for (const s of lines) if (s.at < s.x.length && s.x[s.at] < x) x = s.x[s.at];
    if (x > high || x === Infinity) break;
    let row = String(x);
    for (const s of lines) {
      const value = s.at < s.x.length && s.x[s.at] === x ? s.pyramid.values[s.at++] : NaN;
      row += value === value ? `,${value}` : ',';
    }
    rows.push(row);
  }
  return `${rows.join('\r\n')}\r\n`;
}

// The picture with its title and the names of its lines, in the colours of the page.
function pictureOf(chart) {
  const { plot, canvas } = chart;
  const width = plot.clientWidth;
  const scale = canvas.width / width;
  const family = getComputedStyle(plot).fontFamily;
  const pen = document.createElement('canvas').getContext('2d');
  const fonts = { title: `600 14px ${family}`, label: `12px ${family}` };
  const [margin, sampleWidth, pitch] = [12, 20, 18];
  pen.font = fonts.label;
  let [x, y] = [margin, 40];
  const places = chart.shown.map((s) => {
    const words = cut(pen, s.label, width - sampleWidth - 6);
    const wide = sampleWidth + 6 + pen.measureText(words).width;
    if (x > margin && x + wide > margin + width) [x, y] = [margin, y + pitch];
    const place = { s, words, x, y };
    x += wide + 18;
    return place;
  });
  const top = y + pitch;
  pen.canvas.width = Math.round((width + 2 * margin) * scale);
  pen.canvas.height = Math.round((top + plot.clientHeight + margin) * scale);
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.fillStyle = theme.paper;
  pen.fillRect(0, 0, width + 2 * margin, top + plot.clientHeight + margin);
  pen.textBaseline = 'middle';
  pen.fillStyle = theme.ink;
  pen.font = fonts.title;
  pen.fillText(cut(pen, `${chart.heading.textContent.trim()}${chart.about ? `, ${chart.about}` : ''}`, width), margin, 18);
  pen.font = fonts.label;
  for (const { s, words, x: left, y: middle } of places) {
    pen.strokeStyle = entries[s.entry].shade;
    pen.globalAlpha = s.alpha ?? 1;
    pen.lineWidth = 2;
    pen.setLineDash(s.dashes.map((d) => d * 1.6));
    line(pen, left, middle, left + sampleWidth, middle);
    pen.globalAlpha = 1;
    pen.fillStyle = theme.ink;
    pen.fillText(words, left + sampleWidth + 6, middle);
  }
  pen.drawImage(canvas, margin, top, width, plot.clientHeight);
  return pen.canvas;
}

// A file name of what the page and the chart are called: "three-algorithms-queue-leaf1-port-0.csv".
function fileName(chart, ending) {
  const words = [document.querySelector('h1').textContent.slice(0, 60), chart.title, chart.about ?? ''].join(' ');
  return `${words.toLowerCase().replace(/[^a-z0-9.]+/g, '-').replace(/^[-.]+|[-.]+$/g, '') || 'chart'}.${ending}`;
}

function download(blob, name) {
  const link = element('a', { href: URL.createObjectURL(blob), download: name });
  link.click();
  // The browser reads it after this function has returned.
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

// The buttons of a chart.
function saving(chart) {
  const button = (words, act) => {
    const made = element('button', { type: 'button', title: `Save as ${words}`, onclick: act }, words);
    made.setAttribute('aria-label', `Save ${chart.title} as ${words}`);
    return made;
  };
  return element('span', { className: 'save' },
    button('CSV', () => download(new Blob([csvOf(chart)], { type: 'text/csv' }), fileName(chart, 'csv'))),
    button('PNG', () => pictureOf(chart).toBlob((blob) => download(blob, fileName(chart, 'png')))));
}

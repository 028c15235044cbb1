// The numbers of the page: JSON for the structure, one compressed blob for the columns.

let blob = new Uint8Array();

async function inflate() {
  const element = document.getElementById('blob');
  const packed = atob(element.textContent);
  element.remove();
  const bytes = new Uint8Array(packed.length);
  for (let i = 0; i < packed.length; i++) bytes[i] = packed.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
  blob = new Uint8Array(await new Response(stream).arrayBuffer());
}

// A column as an array of numbers, NaN where there is none.
function column(c) {
  const values = new Float64Array(c.n);
  if (c.kind === 'even') {
    for (let i = 0; i < c.n; i++) values[i] = c.first + i * c.step;
  } else if (c.kind === 'integers') {
    integers(c, values);
  } else {
    floats(c, values);
  }
  if (c.missing) {
    const missing = column(c.missing);
    for (let i = 0; i < c.n; i++) if (missing[i]) values[i] = NaN;
  }
  return values;
}

// Differences from one value to the next: sign in the lowest bit, low bytes of all before high ones.
function integers(c, values) {
  const many = c.n - 1;
  let value = c.first;
  values[0] = value;
  for (let i = 0; i < many; i++) {
    let folded = 0;
    for (let byte = c.width - 1; byte >= 0; byte--) folded = folded * 256 + blob[c.at + byte * many + i];
    value += folded % 2 ? -(folded + 1) / 2 : folded / 2;
    values[i + 1] = value;
  }
}

// The bytes of all values that are lowest, then those above them.
function floats(c, values) {
  const bytes = new Uint8Array(values.buffer);
  for (let byte = 0; byte < 8; byte++) {
    for (let i = 0; i < c.n; i++) bytes[8 * i + byte] = blob[c.at + byte * c.n + i];
  }
}

// The page: theme, which results are shown, and the sections.

const entries = [];
const sections = [];
const dark = matchMedia('(prefers-color-scheme: dark)');
let picked = 'auto';
let printing = false;
let link = null;

function applyTheme() {
  const root = document.documentElement;
  theme.dark = !printing && (picked === 'auto' ? dark.matches : picked === 'dark');
  root.dataset.theme = theme.dark ? 'dark' : 'light';
  const styles = getComputedStyle(root);
  for (const name of ['ink', 'soft', 'rule', 'grid', 'accent', 'paper']) theme[name] = styles.getPropertyValue(`--${name}`).trim();
  entries.forEach((entry, i) => {
    entry.shade = theme.dark ? entry.dark : entry.colour;
    root.style.setProperty(`--entry-${i}`, entry.shade);
  });
  document.getElementById('theme').textContent = `Theme: ${picked}`;
  refresh();
}

function refresh() {
  for (const section of sections) section.refresh();
}

function themeSwitch() {
  const button = document.getElementById('theme');
  button.hidden = false;
  button.onclick = () => {
    picked = { auto: 'light', light: 'dark', dark: 'auto' }[picked];
    applyTheme();
  };
  dark.addEventListener('change', applyTheme);
}

function show(chosen) {
  entries.forEach((entry, i) => { entry.visible = chosen[i]; });
  document.querySelectorAll('#entries button[data-entry]').forEach((button) => {
    button.setAttribute('aria-pressed', entries[button.dataset.entry].visible);
  });
  for (const cell of document.querySelectorAll('#summary [data-entry], #jobs [data-entry]')) cell.hidden = !entries[cell.dataset.entry].visible;
  refresh();
  link?.keep();
}

// On paper the page is light, and nothing is folded. The canvases are drawn before this returns: the browser
// takes what is there then.
function print(on) {
  if (on === printing) return;
  printing = on;
  for (const details of document.querySelectorAll(on ? 'details:not([open], .control)' : 'details[data-unfolded]')) {
    details.open = on;
    details.toggleAttribute('data-unfolded', on);
  }
  applyTheme();
  for (const figure of document.querySelectorAll('figure')) figure.chart?.draw();
}

function toggles() {
  const nav = document.getElementById('entries');
  nav.hidden = entries.length < 2;
  entries.forEach((entry, i) => {
    const swatch = element('span', { className: 'swatch' });
    const button = element('button', { type: 'button', title: 'Click: show or hide. Shift and click: show only this.' }, swatch, entry.title);
    button.dataset.entry = i;
    button.setAttribute('aria-pressed', true);
    button.onclick = (event) => {
      show(event.shiftKey ? entries.map((_, j) => j === i) : entries.map((e, j) => (j === i ? !e.visible : e.visible)));
    };
    nav.append(button);
  });
  nav.append(element('button', { type: 'button', onclick: () => show(entries.map(() => true)) }, 'all'));
  document.querySelectorAll('.swatch').forEach((swatch) => {
    const i = swatch.dataset.entry ?? swatch.parentElement.dataset.entry;
    swatch.style.background = `var(--entry-${i})`;
  });
}

// The table that compares entries: a click on a head sorts its rows, a second one the other way round.
function sortable() {
  const heads = [...document.querySelectorAll('#differences th[data-sort]')];
  const key = (row, column) => {
    const cell = row.cells[column];
    if (column === 0) return cell.textContent;
    return 'value' in cell.dataset ? Number(cell.dataset.value) : NaN;
  };
  heads.forEach((head, column) => {
    const button = element('button', { type: 'button' }, head.textContent);
    head.replaceChildren(button);
    button.onclick = () => {
      const sign = head.getAttribute('aria-sort') === 'ascending' ? -1 : 1;
      for (const other of heads) other.removeAttribute('aria-sort');
      head.setAttribute('aria-sort', sign > 0 ? 'ascending' : 'descending');
      const body = head.closest('table').tBodies[0];
      const rows = [...body.rows].map((row) => ({ row, key: key(row, column) }));
      // What has no value stays at the end.
      const missing = (one) => (Number.isNaN(one.key) ? 1 : 0);
      rows.sort((a, b) => missing(a) - missing(b) || (missing(a) ? 0 : sign * (column === 0 ? a.key.localeCompare(b.key) : a.key - b.key)));
      body.append(...rows.map((one) => one.row));
    };
  });
}

async function start() {
  sortable();
  const source = document.getElementById('data');
  const content = JSON.parse(source.textContent);
  for (const entry of content.entries) entries.push({ ...entry, visible: true });
  themeSwitch();
  toggles();
  applyTheme();
  if (!('DecompressionStream' in window)) throw new Error('this browser is too old to unpack them (it lacks DecompressionStream); Chrome 80, Firefox 113, Safari 16.4 and later have it');
  await inflate();
  document.body.append(element('div', { id: 'spoken', className: 'silent', 'aria-live': 'polite' }));
  const [flows, series] = [new FlowsSection(content.flows), new SeriesSection(content.series)];
  sections.push(flows, series, new NetworkSection(content.network));
  refresh();
  link = new Link(flows, series);
  addEventListener('beforeprint', () => print(true));
  addEventListener('afterprint', () => print(false));
  matchMedia('print').addEventListener('change', ({ matches }) => print(matches));
  document.documentElement.dataset.ready = 'yes';
}

start().catch((error) => {
  const trouble = document.getElementById('trouble');
  trouble.hidden = false;
  trouble.textContent = `The figures cannot be shown: ${error.message}. The words and tables on this page are complete.`;
});

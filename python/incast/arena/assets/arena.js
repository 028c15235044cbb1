(() => {
'use strict';
const content = JSON.parse(document.getElementById('data').textContent);
const duels = new Map(content.duels.map((row) => [`${row[0]} ${row[1]}`, row]));
const dialog = document.getElementById('duel');
const make = (name, attributes, words) => {
  const node = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (words !== undefined) node.textContent = words;
  return node;
};
const picture = (title, points) => {
  const [width, height, left, bottom] = [560, 240, 44, 210];
  const x = (n) => left + ((n + 0.5) / points.length) * (width - left - 10);
  const y = (share) => bottom - share * (bottom - 16);
  const svg = make('svg', { viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': title });
  svg.append(make('path', { class: 'axis', d: `M${left} 16V${bottom}H${width - 10}` }));
  svg.append(make('path', { class: 'half', d: `M${left} ${y(0.5)}H${width - 10}` }));
  for (const share of [0, 0.5, 1]) {
    svg.append(make('text', { x: left - 6, y: y(share) + 4, 'text-anchor': 'end' }, `${100 * share} %`));
  }
  svg.append(make('text', { x: width / 2, y: height - 8, 'text-anchor': 'middle' }, 'time, to 600 base RTTs'));
  let path = '';
  points.forEach((share, n) => {
    if (share !== null) path += `${path && points[n - 1] !== null ? 'L' : 'M'}${x(n).toFixed(1)} ${y(share).toFixed(1)}`;
  });
  svg.append(make('path', { class: 'share', d: path }));
  return svg;
};
const open = (key) => {
  const [one, other, share, use, queue, points] = duels.get(key);
  const title = `${content.titles[one]} beside ${content.titles[other]}`;
  document.getElementById('duel-title').textContent = title;
  document.getElementById('duel-text').textContent =
    `Share ${(100 * share).toFixed(1)} %, use of the link ${(100 * use).toFixed(1)} %, mean queue ${(queue / 1000).toFixed(1)} KB.`;
  document.getElementById('duel-picture').replaceChildren(picture(`Share of ${title} over time`, points));
  dialog.showModal();
};
for (const button of document.querySelectorAll('button[data-duel]')) {
  button.addEventListener('click', () => open(button.dataset.duel));
}
const shown = () => {
  const target = location.hash.length > 1 ? document.getElementById(location.hash.slice(1)) : null;
  if (target && target.tagName === 'DETAILS') target.open = true;
};
addEventListener('hashchange', shown);
shown();
})();

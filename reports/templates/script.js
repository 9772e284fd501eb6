// Filters the matrix and moves about in it. The page is complete without this; it never makes markup from text.
(() => {
  'use strict';
  const root = document.documentElement;
  const byId = (id) => document.getElementById(id);
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const rows = all('#matrix tbody tr[data-r]');
  const chips = all('.chip[data-s]');
  const flags = { odd: byId('fo'), differ: byId('fd') };
  const fields = { q: byId('q'), area: byId('fa'), level: byId('fl'), host: byId('fh'), with: byId('fw') };
  const grid = document.querySelector('#matrix .grid');
  for (const option of [...fields.host.options].slice(1)) fields.with.add(new Option('beside ' + option.text, option.value));
  const texts = rows.map((row) => (row.cells[0].textContent + ' ' + byId('r' + row.dataset.r).querySelector('.says').textContent).toLowerCase());

  // The fragment is an element's id, a filter, or both: `#c3-1?state=fail&host=2&with=5&differ=1`.
  const read = () => {
    const [id, query = ''] = location.hash.slice(1).split('?');
    return { id, query: new URLSearchParams(query) };
  };
  const current = () => {
    const query = new URLSearchParams();
    for (const [name, field] of Object.entries(fields)) if (field.value) query.set(name, field.value);
    if (!query.has('host') || query.get('with') === query.get('host')) query.delete('with');
    const states = chips.filter((chip) => chip.ariaPressed === 'true').map((chip) => chip.dataset.s);
    if (states.length) query.set('state', states.join(','));
    for (const [name, chip] of Object.entries(flags)) if (chip && chip.ariaPressed === 'true') query.set(name, '1');
    if (!query.has('with')) query.delete('differ');
    return query;
  };
  const show = (query) => {
    for (const [name, field] of Object.entries(fields)) field.value = query.get(name) || '';
    const states = (query.get('state') || '').split(',');
    for (const chip of chips) chip.ariaPressed = String(states.includes(chip.dataset.s));
    for (const [name, chip] of Object.entries(flags)) if (chip) chip.ariaPressed = String(query.get(name) === '1');
    apply();
  };
  const apply = () => {
    const query = current();
    const states = query.has('state') ? query.get('state').split(',') : null;
    const words = (query.get('q') || '').toLowerCase().split(/\s+/);
    const columns = [query.get('host'), query.get('with')].map(Number).filter((column) => column > 0);
    const state = (cell) => cell.className.slice(2);
    let shown = 0;
    rows.forEach((row, index) => {
      const cells = columns.length ? columns.map((column) => row.cells[column]) : [...row.cells].slice(1);
      const match = words.every((word) => texts[index].includes(word))
        && (!query.has('area') || row.parentElement.dataset.a === query.get('area'))
        && (!query.has('level') || row.dataset.l === query.get('level'))
        && (!query.has('odd') || 'o' in row.dataset)
        && (!query.has('differ') || state(cells[0]) !== state(cells[1]))
        && (!states || cells.some((cell) => cell && states.includes(state(cell))));
      row.hidden = !match;
      byId('r' + row.dataset.r).hidden = !match;
      shown += match;
    });
    const off = (column) => columns.length > 0 && !columns.includes(column);
    for (const row of all('#matrix tr:not(.area)')) [...row.cells].forEach((cell, index) => { cell.hidden = index > 0 && off(index); });
    for (const cell of all('details.cell')) cell.hidden = off(Number(cell.dataset.h));
    for (const cells of all('.cells')) cells.classList.toggle('two', columns.length === 2);
    grid.classList.toggle('few', columns.length > 0);
    settle();
    fields.with.disabled = !query.has('host');
    flags.differ.hidden = !query.has('with');
    for (const body of all('#matrix tbody')) body.hidden = !all('tr[data-r]', body).some((row) => !row.hidden);
    for (const group of all('.group')) group.hidden = !all('.row', group).some((row) => !row.hidden);
    const filtered = query.size > 0;
    byId('count').textContent = filtered ? shown + ' of ' + rows.length + ' requirements' : '';
    byId('clear').hidden = !filtered;
    byId('none').hidden = shown > 0;
  };
  const open = (id) => {
    const target = id && byId(id);
    if (!target) return;
    for (let at = target; at; at = at.parentElement) if (at.tagName === 'DETAILS') at.open = true;
    target.scrollIntoView();
  };
  const go = () => {
    const { id, query } = read();
    show(query);
    open(id);
  };
  const store = () => {
    const query = current().toString();
    history.replaceState(null, '', '#' + (query ? '?' + query : ''));
    apply();
  };

  for (const field of Object.values(fields)) field.addEventListener('input', store);
  for (const chip of [...chips, ...Object.values(flags).filter(Boolean)]) {
    chip.addEventListener('click', () => { chip.ariaPressed = String(chip.ariaPressed !== 'true'); store(); });
  }
  byId('clear').addEventListener('click', () => { show(new URLSearchParams()); store(); fields.q.focus(); });

  document.addEventListener('click', (event) => {
    const link = event.target.closest('a[href^="#"]');
    if (link) {
      // Following a link inside the page keeps the filter.
      const query = current().toString();
      const hash = link.getAttribute('href') + (query ? '?' + query : '');
      if (query || location.hash === hash) {
        event.preventDefault();
        if (location.hash === hash) open(link.getAttribute('href').slice(1));
        else location.hash = hash;
      }
      return;
    }
    const button = event.target.closest('.copy');
    if (button) copy(button);
  });
  const copy = (button) => {
    const command = button.previousElementSibling;
    const done = (word) => { button.textContent = word; setTimeout(() => { button.textContent = 'Copy'; }, 1500); };
    const select = () => { getSelection().selectAllChildren(command); done('Selected'); };
    if (navigator.clipboard) navigator.clipboard.writeText(command.textContent).then(() => done('Copied'), select);
    else select();
  };

  // Arrows move between the cells of the matrix; `/` goes to the filter; Escape leaves it.
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName);
    if (event.key === '/' && !typing) { event.preventDefault(); fields.q.focus(); return; }
    if (event.key === 'Escape' && document.activeElement === fields.q) { fields.q.value = ''; store(); fields.q.blur(); return; }
    const cell = document.activeElement.closest('#matrix td, #matrix tbody th.req');
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    if (!cell || !step) return;
    const visible = rows.filter((row) => !row.hidden);
    const row = visible[visible.indexOf(cell.parentElement) + step[0]];
    const cells = row ? [...row.cells].filter((other) => !other.hidden) : [];
    const at = [...cell.parentElement.cells].filter((other) => !other.hidden).indexOf(cell) + step[1];
    const link = cells[at] && cells[at].querySelector('a');
    if (link) { event.preventDefault(); link.focus(); }
  });

  // The matrix is one stop for the Tab key; arrows move inside it. Thousands of stops would be a wall.
  const stops = all('#matrix tbody a');
  const stop = (link) => {
    for (const other of stops) if (other.tabIndex === 0 && other !== link) other.tabIndex = -1;
    if (link) link.tabIndex = 0;
  };
  const settle = () => stop(stops.find((link) => link.tabIndex === 0 && link.offsetParent) || stops.find((link) => link.offsetParent));
  document.addEventListener('focusin', (event) => { if (stops.includes(event.target)) stop(event.target); });

  addEventListener('hashchange', go);
  byId('filters').hidden = false;
  root.classList.add('js');
  go();
})();

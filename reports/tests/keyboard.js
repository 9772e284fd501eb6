// Asks a page what a keyboard and a screen reader meet, and answers in its title. Runs in a copy of a report only.
(() => {
  'use strict';
  const wrong = [];
  const check = (holds, what) => { if (!holds) wrong.push(what); };
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const press = (key) => document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
  const at = () => document.activeElement;
  const rows = () => all('#matrix tbody tr[data-r]').filter((row) => !row.hidden);
  const columns = () => [...document.querySelector('#matrix thead tr').cells].slice(1).filter((cell) => !cell.hidden);
  const address = (query) => { location.hash = query; dispatchEvent(new HashChangeEvent('hashchange')); };

  // The order of Tab.
  const reachable = all('a[href], button, input, select, summary, [tabindex]').filter((one) => one.tabIndex >= 0 && !one.disabled && one.offsetParent);
  check(all('a[href], button').findIndex((one) => one.classList.contains('skip')) === 0, 'the first stop is not the link past the head');
  check(!all('[tabindex]').some((one) => one.tabIndex > 0), 'a stop jumps the queue');
  const inside = all('#matrix a').filter((one) => one.tabIndex === 0 && one.closest('tbody'));
  check(rows().length === 0 || inside.length === 1, 'the matrix has ' + inside.length + ' stops');
  check(reachable.every((one) => one.textContent.trim() || one.ariaLabel || one.getAttribute('aria-label')), 'a stop has no name');

  // Arrows, the way to the filter and out of it.
  if (rows().length > 1 && columns().length > 0) {
    inside[0].focus();
    const first = at();
    press('ArrowRight');
    check(at() !== first && at().closest('td'), 'the right arrow does not reach a cell');
    press('ArrowDown');
    check(at().closest('tr') === rows()[1], 'the down arrow does not reach the next row');
    check(at().tabIndex === 0 && first.tabIndex === -1, 'the stop does not follow the focus');
    press('ArrowUp');
    press('ArrowLeft');
    check(at() === first, 'the way back ends elsewhere');
    press('/');
    check(at().id === 'q', 'the slash does not reach the filter');
    at().value = 'no-such-requirement-anywhere';
    at().dispatchEvent(new Event('input', { bubbles: true }));
    check(rows().length === 0 && location.hash.includes('q='), 'what is typed is not in the address');
    press('Escape');
    check(rows().length > 1, 'Escape does not clear the filter');
  }

  // Two hosts side by side, from the address alone.
  const hosts = columns().length;
  if (hosts > 1) {
    address('#?host=2&with=1');
    check(columns().length === 2, 'two hosts are ' + columns().length + ' columns');
    check(!document.getElementById('fd').hidden, 'what differs can not be asked for');
    const states = (row) => [...row.cells].slice(1).filter((cell) => !cell.hidden).map((cell) => cell.className);
    const differ = rows().filter((row) => new Set(states(row)).size > 1).length;
    address('#?host=2&with=1&differ=1');
    check(rows().length === differ, differ + ' rows differ, ' + rows().length + ' are shown');
    check(all('#support td, #support tbody').every((one) => !one.hidden), 'the filter hides what hosts can do');
    check(all('.cells').every((cells) => cells.classList.contains('two')), 'cells do not stand side by side');
    address('#?host=2&with=2&differ=1');
    check(columns().length === 1, 'a host stands beside itself');
    address('#');
    check(columns().length === hosts, 'hosts stay hidden');
  }

  // Hostile addresses are only addresses.
  for (const query of ['#?host=999999&with=-1&differ=1', '#?state=%3Cimg%20src%3Dx%3E&area=__proto__', '#constructor?odd=1', '#%', '#?q=%E0%A4%A']) {
    try { address(query); } catch (error) { wrong.push(query + ' throws ' + error.message); }
  }
  address('#');

  // What a reader of screens hears.
  check(all('table').every((table) => table.caption && table.caption.textContent.trim()), 'a table has no caption');
  check(all('thead th').every((cell) => cell.scope), 'a head has no scope');
  check(all('select, input').every((one) => one.ariaLabel), 'a field has no label');
  check(all('svg').every((one) => one.getAttribute('aria-hidden') === 'true' || one.getAttribute('aria-label')), 'a picture has no words');
  check(all('.matrix td a, .matrix td i').every((one) => /[a-z]{2}/.test(one.textContent)), 'a cell has no word');
  const levels = all('h1, h2, h3, h4, h5').map((head) => Number(head.tagName[1]));
  check(levels.every((level, index) => index === 0 || level <= levels[index - 1] + 1), 'a heading skips a level');
  const dead = all('a[href^="#"]').find((link) => !document.getElementById(link.getAttribute('href').slice(1)));
  check(!dead, 'a link leads nowhere: ' + (dead && dead.getAttribute('href')));
  const ids = all('[id]').map((one) => one.id);
  check(new Set(ids).size === ids.length, 'an id is there twice');

  // The lanes of a wire: each line in the lane of its way.
  for (const lane of all('.wire tbody tr[id] td:nth-child(3) i')) check(lane.textContent.length > 3, 'a line on the wire has no way');

  document.title = 'KEYS ' + (wrong.length ? wrong.slice(0, 5).join('; ') : 'all well');
})();

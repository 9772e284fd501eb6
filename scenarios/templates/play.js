'use strict';
// Keeps the page like the server's own rendering of it. Texts only ever travel as elements that the server escaped.
(() => {
  const root = document.documentElement;
  root.classList.add('js');
  const problem = document.getElementById('problem');
  const ago = document.getElementById('ago');
  const pause = (ms) => new Promise((done) => setTimeout(done, ms));
  let version = Number(document.body.dataset.version);
  let asked = null;

  const complain = (text) => {
    problem.hidden = !text;
    if (problem.textContent !== text) problem.textContent = text;
  };

  const atEnd = (list) => list.scrollHeight - list.scrollTop - list.clientHeight < 80;
  const toEnd = (list) => { list.scrollTop = list.scrollHeight; };

  // Lists gain and lose items by their ids; what is marked as live is replaced when it differs. Forms stay as they are.
  const patch = (fresh) => {
    for (const list of fresh.querySelectorAll('[data-list]')) {
      const mine = document.getElementById(list.id);
      if (!mine) continue;
      const follow = atEnd(mine);
      const ids = new Set();
      for (const item of list.children) {
        ids.add(item.id);
        if (!document.getElementById(item.id)) mine.append(document.importNode(item, true));
      }
      for (const item of [...mine.children]) if (!ids.has(item.id)) item.remove();
      if (follow) toEnd(mine);
    }
    for (const live of fresh.querySelectorAll('[data-live]')) {
      const mine = document.getElementById(live.id);
      if (mine && !mine.isEqualNode(live)) mine.replaceWith(document.importNode(live, true));
    }
    version = Number(fresh.body.dataset.version);
  };

  const refresh = async () => {
    const answer = await fetch(location.href, { cache: 'no-store' });
    if (!answer.ok) throw new Error(String(answer.status));
    patch(new DOMParser().parseFromString(await answer.text(), 'text/html'));
  };

  const tick = () => {
    if (asked !== null) ago.textContent = `It last asked ${Math.floor((Date.now() - asked) / 1000)} s ago.`;
  };

  const watch = async () => {
    let lost = false;
    for (;;) {
      try {
        const answer = await fetch(`state?brief&since=${version}`, { cache: 'no-store' });
        if (!answer.ok) throw new Error(String(answer.status));
        const state = await answer.json();
        if (lost) complain('');
        lost = false;
        asked = state.polling.ago_ms === null ? null : Date.now() - state.polling.ago_ms;
        tick();
        if (state.version !== version) await refresh();
      } catch {
        lost = true;
        complain('The sandbox does not answer. Was it ended in the terminal?');
        await pause(2000);
      }
    }
  };

  // The typed text is cleared at once, so that a user who types on is not disturbed. It comes back when it was refused.
  const emptied = (form) => {
    const names = form.id === 'say' ? ['text', 'subject', 'sample'] : ['text'];
    const fields = names.map((name) => form.elements[name]).filter(Boolean);
    const kept = fields.map((field) => field.value);
    for (const field of fields) field.value = '';
    return () => fields.forEach((field, n) => { if (!field.value) field.value = kept[n]; });
  };

  const sent = async (form, body) => {
    try {
      const answer = await fetch(form.getAttribute('action'), { method: 'POST', body, redirect: 'manual' });
      const done = answer.type === 'opaqueredirect';
      complain(done ? '' : (await answer.text()).trim());
      return done;
    } catch {
      complain('It was not sent: the sandbox does not answer.');
      return false;
    }
  };

  document.addEventListener('submit', async (event) => {
    event.preventDefault();
    const form = event.target;
    const body = new URLSearchParams(new FormData(form, event.submitter));
    if (form.getAttribute('action') === 'change') {
      if (!await sent(form, body)) return;
      const details = form.closest('details');
      const inside = details.contains(document.activeElement);
      details.open = false;
      if (inside) details.firstElementChild.focus();
      return;
    }
    const restore = emptied(form);
    if (form.id === 'say') form.elements.text.focus();
    if (!await sent(form, body)) restore();
  });

  document.addEventListener('keydown', (event) => {
    if (event.target.id !== 'text' || event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    event.target.form.requestSubmit();
  });

  document.querySelector('a[href="#setup"]').addEventListener('click', () => {
    document.getElementById('setup').open = true;
  });

  for (const list of document.querySelectorAll('ol[data-list]')) toEnd(list);
  setInterval(tick, 1000);
  watch();
})();

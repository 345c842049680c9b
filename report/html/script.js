
(() => {
'use strict';
const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const form = document.getElementById('filters');
const found = document.getElementById('found');
const nothing = document.getElementById('nothing');
const facets = ['verdict', 'level', 'side', 'transport'];
const places = ['case', 'requirement', 'group'];
const boxes = all('#facets input');
const panel = document.getElementById('facets');
form.hidden = panel.hidden = false;
panel.open = !matchMedia('(max-width:63.99rem)').matches;

// What can be filtered, with what it is filtered by.
const words = text => text ? text.split(' ') : [];
const cases = all('details.case').map(el => ({
	el, level: words(el.dataset.l), side: words(el.dataset.s),
	results: all('[data-v]', el).map(r => ({el: r, verdict: [r.dataset.v], transport: [r.dataset.t]})),
}));
const requirements = all('details.req').map(el => ({
	el, verdict: [el.dataset.v], level: words(el.dataset.l), side: words(el.dataset.s), transport: words(el.dataset.t),
}));
const containers = all('.group, .sec, .area, main > section');
const text = item => item.text ??= (item.el.querySelector('[id]').id + ' ' + item.el.textContent).toLowerCase();

// The address holds the place that is looked at, then the filters.
const decode = s => { try { return decodeURIComponent(s); } catch { return s; } };
const encode = s => encodeURIComponent(s).replace(/%(2F|40|2C)/g, decodeURIComponent);
function read() {
	const state = {place: '', q: ''};
	for (const f of facets) state[f] = [];
	for (const part of location.hash.slice(1).split('&')) {
		const at = part.indexOf('=');
		const name = at < 0 ? part : part.slice(0, at), value = at < 0 ? '' : decode(part.slice(at + 1));
		if (places.includes(name)) state.place = name + '=' + value;
		else if (facets.includes(name)) state[name] = value.split(',').filter(Boolean);
		else if (name === 'q') state.q = value;
		else if (at < 0 && name) state.place = decode(name);
	}
	return state;
}
function address(state) {
	const parts = [];
	if (state.place) {
		const at = state.place.indexOf('=');
		parts.push(at < 0 ? encode(state.place) : state.place.slice(0, at + 1) + encode(state.place.slice(at + 1)));
	}
	for (const f of facets) if (state[f].length) parts.push(f + '=' + state[f].map(encode).join(','));
	if (state.q) parts.push('q=' + encode(state.q));
	return '#' + parts.join('&');
}
function controls() {
	const state = {place: '', q: form.elements.q.value.trim()};
	for (const f of facets) state[f] = boxes.filter(i => i.name === f && i.checked).map(i => i.value);
	return state;
}

const fits = (item, state, f) => !state[f].length || item[f].some(v => state[f].includes(v));
function filter(state) {
	const sought = state.q.toLowerCase().split(/\s+/).filter(Boolean);
	const says = item => sought.every(word => text(item).includes(word));
	const active = sought.length > 0 || facets.some(f => state[f].length);
	let shown = 0, total = 0, required = 0;
	for (const c of cases) {
		const may = fits(c, state, 'level') && fits(c, state, 'side') && says(c);
		let any = false;
		for (const r of c.results) {
			const on = may && fits(r, state, 'verdict') && fits(r, state, 'transport');
			r.el.hidden = !on;
			any ||= on;
			total++;
			if (on) shown++;
		}
		c.el.hidden = !any;
	}
	for (const q of requirements) {
		const on = facets.every(f => fits(q, state, f)) && says(q);
		q.el.hidden = !on;
		if (on) required++;
	}
	for (const box of containers) {
		box.hidden = active && !box.querySelector('details.case:not([hidden]), details.req:not([hidden])');
		if (box.matches('.area')) box.open = active && !box.hidden && shown <= 200;
	}
	nothing.hidden = shown + required > 0;
	found.textContent = active ? `${shown} of ${total} results, ${required} of ${requirements.length} requirements` : `${total} results, ${requirements.length} requirements`;
	form.querySelector('[type=reset]').hidden = !active;
}

function show(place) {
	const el = place && document.getElementById(place);
	if (!el) return;
	for (let up = el; up; up = up.parentElement) if (up.matches('details')) up.open = true;
	// The name stands behind the line that opens the place.
	const before = el.previousElementSibling;
	const first = before?.matches('summary') ? before : el;
	first.scrollIntoView({block: 'start'});
	if (!first.matches('summary, a, [tabindex]')) first.tabIndex = -1;
	// Who has gone on into the place already, before the browser told of it, stays there.
	if (!el.contains(document.activeElement)) first.focus({preventScroll: true});
}

function apply(jump) {
	const state = read();
	for (const input of boxes) input.checked = state[input.name].includes(input.value);
	if (form.elements.q.value.trim() !== state.q) form.elements.q.value = state.q;
	filter(state);
	if (jump) show(state.place);
}
addEventListener('hashchange', () => apply(true));

function change(how) {
	const to = address(controls());
	if (to === (location.hash || '#')) return;
	history[how](null, '', to === '#' ? location.pathname + location.search : to);
	apply(false);
}
panel.addEventListener('change', () => change('pushState'));
form.elements.q.addEventListener('input', () => change('replaceState'));
form.addEventListener('submit', event => event.preventDefault());
form.addEventListener('reset', event => {
	event.preventDefault();
	form.elements.q.value = '';
	for (const input of boxes) input.checked = false;
	change('pushState');
	form.elements.q.focus();
});

// A link within the page keeps the filters, unless they would hide where it leads.
document.addEventListener('click', event => {
	const link = event.target.closest('a[href^="#"]');
	if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
	const place = decode(link.getAttribute('href').slice(1));
	const el = document.getElementById(place);
	if (!el) return;
	event.preventDefault();
	const state = controls();
	if (el.closest('[hidden]')) { state.q = ''; for (const f of facets) state[f] = []; }
	state.place = place;
	const to = address(state);
	if (to !== location.hash) history.pushState(null, '', to);
	apply(true);
});

// The arrows go from line to line.
document.getElementById('results').addEventListener('keydown', event => {
	const step = {ArrowDown: 1, ArrowUp: -1}[event.key];
	if (!step || event.target.tagName !== 'SUMMARY' || event.altKey || event.ctrlKey || event.metaKey) return;
	const lines = all('summary', event.currentTarget).filter(s => s.checkVisibility());
	const next = lines[lines.indexOf(event.target) + step];
	if (next) { event.preventDefault(); next.focus(); }
});

for (const code of all('code.copy')) {
	const button = document.createElement('button');
	button.type = 'button';
	button.className = 'copy';
	button.textContent = 'Copy';
	button.addEventListener('click', async () => {
		try {
			await navigator.clipboard.writeText(code.textContent);
		} catch {
			getSelection().selectAllChildren(code);
			document.execCommand('copy');
		}
		button.textContent = 'Copied';
		setTimeout(() => { button.textContent = 'Copy'; }, 2000);
	});
	code.after(button);
}

// On paper nothing can be opened.
let opened = [];
addEventListener('beforeprint', () => {
	opened = all('#attention details:not([open])');
	for (const d of opened) d.open = true;
});
addEventListener('afterprint', () => { for (const d of opened) d.open = false; });

// While a page loads, the browser goes to the place by itself, and takes the focus
// away after this script has run.
apply(false);
const arrive = () => requestAnimationFrame(() => show(read().place));
if (document.readyState === 'complete') arrive(); else addEventListener('load', arrive);
})();

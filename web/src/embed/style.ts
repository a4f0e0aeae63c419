// The look of the elements; a page changes it by custom properties that begin with `--tocsin-`, and `theme`.
export const style = `
:host {
  display: inline-block;
  --bg: var(--tocsin-background, light-dark(#ffffff, #21252c));
  --text: var(--tocsin-text, light-dark(#1a1d23, #e8eaee));
  --muted: var(--tocsin-muted, light-dark(#596270, #a1aab9));
  --line: var(--tocsin-line, light-dark(#e3e6eb, #2b3038));
  --control: var(--tocsin-control, light-dark(#808997, #748091));
  --accent: var(--tocsin-accent, light-dark(#3b5bdb, #8ea6ff));
  --on-accent: var(--tocsin-on-accent, light-dark(#ffffff, #14161a));
  --hover: var(--tocsin-hover, light-dark(#edf1ff, #222b4d));
  font: 14px/1.4 var(--tocsin-font, system-ui, sans-serif);
  color: var(--text);
}
:host([hidden]) { display: none; }
:host([theme='light']) { color-scheme: light; }
:host([theme='dark']) { color-scheme: dark; }
:host([theme='auto']) { color-scheme: light dark; }
* { box-sizing: border-box; }
svg { width: 18px; height: 18px; fill: none; stroke: currentColor; stroke-width: 2; stroke-linecap: round;
  stroke-linejoin: round; flex: none; }
button { font: inherit; color: inherit; cursor: pointer; border-radius: var(--tocsin-radius, 6px); }
button:focus-visible, a:focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
.bell { position: relative; display: grid; place-items: center; width: 32px; height: 32px; border: 0; padding: 0;
  background: none; }
.bell:hover, .bell[aria-expanded='true'] { background: var(--hover); }
.count { position: absolute; top: 0; inset-inline-end: -4px; min-width: 16px; padding: 0 4px; border-radius: 8px;
  background: var(--accent); color: var(--on-accent); font-size: 10px; line-height: 16px; font-weight: 600;
  text-align: center; }
.count:empty { display: none; }
.panel { position: fixed; inset: auto; margin: 0; width: 380px; max-width: calc(100vw - 16px); max-height: 70vh;
  overflow: auto; padding: 0; border: 1px solid var(--line); border-radius: var(--tocsin-radius, 6px);
  background: var(--bg); color: var(--text); box-shadow: 0 8px 28px #0003; }
.panel:focus { outline: none; }
h2 { margin: 0; padding: 10px 14px; font-size: 14px; }
ul { list-style: none; margin: 0; padding: 0; }
li, .note, .open { border-top: 1px solid var(--line); }
a { display: grid; grid-template-columns: 8px minmax(0, 1fr) auto; gap: 0 8px; padding: 8px 14px; color: inherit;
  text-decoration: none; }
a:hover, a:focus-visible { background: var(--hover); }
a:focus-visible { outline-offset: -2px; }
.dot { width: 8px; height: 8px; margin-top: 6px; border-radius: 50%; }
.unread .dot { background: var(--accent); }
.unread .title { font-weight: 600; }
.title { overflow-wrap: anywhere; }
time, small { font-size: 12px; color: var(--muted); }
small { grid-column: 2 / 4; overflow-wrap: anywhere; }
.note { margin: 0; padding: 10px 14px; color: var(--muted); }
.note button, .follow { border: 1px solid var(--control); background: var(--bg); padding: 4px 12px; min-height: 32px; }
.open { display: block; color: var(--accent); }
.follow { display: inline-flex; align-items: center; gap: 6px; }
.follow:hover { background: var(--hover); }
.follow[aria-pressed='true'] svg { fill: currentColor; }
.follow[aria-disabled='true'] { opacity: 0.6; cursor: default; }
.wrong { display: block; font-size: 12px; color: var(--muted); max-width: 260px; }
.rings svg { animation: ring 0.6s; transform-origin: 50% 10%; }
@keyframes ring { 25% { rotate: 14deg; } 50% { rotate: -12deg; } 75% { rotate: 6deg; } }
@media (prefers-reduced-motion: reduce) { .rings svg { animation: none; } }
`;

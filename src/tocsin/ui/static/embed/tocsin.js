(function(){function e(e){return t(e??``).slice(0,-1).join(` / `)}function t(e){return(e.match(/"(?:[^"]|"")*"|[^.]+/g)??[]).map(e=>e.startsWith(`"`)?e.slice(1,-1).replaceAll(`""`,`"`):e)}var n=6e4,r=60*n,i=24*r;function a(e,t,a){let o=Math.max(0,t-e);if(o<n)return`now`;if(o<r)return`${Math.floor(o/n)} min`;if(o<i)return`${Math.floor(o/r)} h`;if(o<7*i){let e=Math.floor(o/i);return e===1?`1 day`:`${e} days`}return c(`day`,{day:`numeric`,month:`short`,year:`numeric`},a).format(e)}var o=(e,t)=>c(`exact`,{dateStyle:`full`,timeStyle:`long`},t).format(e),s=new Map;function c(e,t,n=``){let r=`${e} ${n}`,i=s.get(r)??new Intl.DateTimeFormat(`en-GB`,{...t,...n?{timeZone:n}:{}});return s.set(r,i),i}function l(e){return e.replace(/ \(alert [^()]*\)$/,``)}var u=new Map;async function d(e,t){let n=await u.get(e)?.catch(()=>void 0);if(n!==void 0&&n!==t)return n;let r=u.get(e),i=typeof e==`string`?f(e):e();return r===u.get(e)&&u.set(e,i),i.catch(()=>u.delete(e)),i}async function f(e){let t=await fetch(e,{cache:`no-store`,headers:{Accept:`application/json`}}),n=await t.json().catch(()=>null);if(!t.ok||typeof n?.token!=`string`)throw Error(`This page has no access to Tocsin.`);return n.token}async function p(e,t,n,r=`GET`){let i=async t=>fetch(`${e}/api/v1/embed/${n}`,{method:r,headers:{Authorization:`Bearer ${t}`},credentials:`omit`,cache:`no-store`}).catch(()=>{throw Error(`Tocsin cannot be reached.`)}),a=await d(t),o=await i(a);o.status===401&&(o=await i(await d(t,a)));let s=await o.json().catch(()=>null);if(!o.ok||s===null)throw Error(s?.message??`Tocsin cannot be reached.`);return s}var m=`
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
`,h=document.currentScript,g=h instanceof HTMLScriptElement&&h.src?new URL(h.src).origin:``,_=class extends HTMLElement{source;root=this.attachShadow({mode:`open`});said=v(`span`,{class:`hidden`,role:`status`});constructor(){super();let e=new CSSStyleSheet;e.replaceSync(m),this.root.adoptedStyleSheets=[e];let t=Object.getOwnPropertyDescriptor(this,`getToken`);t&&delete this.getToken,this.source=t?.value}get getToken(){return this.source}set getToken(e){this.source=e,this.isConnected&&this.refresh()}ask(e,t){let n=this.source??this.getAttribute(`token-url`),r=this.getAttribute(`server`)??g;return!n||!r?Promise.reject(Error(`<${this.localName}> needs ${r?`token-url`:`server`}.`)):p(r.replace(/\/$/,``),n,e,t)}tell(e,t,n){n&&(this.said.textContent=n),this.dispatchEvent(new CustomEvent(e,{detail:t,bubbles:!0,composed:!0}))}};function v(e,t={},...n){let r=document.createElement(e);for(let[e,n]of Object.entries(t))r.setAttribute(e,n);return r.append(...n),r}function y(...e){let t=`http://www.w3.org/2000/svg`,n=document.createElementNS(t,`svg`);n.setAttribute(`viewBox`,`0 0 24 24`),n.setAttribute(`aria-hidden`,`true`);for(let r of e){let e=document.createElementNS(t,`path`);e.setAttribute(`d`,r),n.append(e)}return n}var b=e=>e instanceof Error?e.message:String(e),x=30,S=5,C=5,w=class extends _{static observedAttributes=[`token-url`,`server`];count=v(`span`,{class:`count`,part:`count`,"aria-hidden":`true`});button=v(`button`,{type:`button`,class:`bell`,part:`button`,"aria-label":`Notifications`},y(`M6 8a6 6 0 0 1 12 0c0 7 3 9 3 9H3s3-2 3-9`,`M10.3 21a1.94 1.94 0 0 0 3.4 0`),this.count);list=v(`div`);panel=v(`div`,{class:`panel`,part:`panel`,role:`dialog`,"aria-label":`Notifications`,popover:``,tabindex:`-1`},v(`h2`,{},`Notifications`),this.list);timer;failures=0;asked=0;unread;content;constructor(){super(),this.root.append(this.button,this.panel,this.said),this.button.popoverTargetElement=this.panel,this.button.setAttribute(`aria-haspopup`,`dialog`),this.panel.addEventListener(`toggle`,e=>this.toggled(e.newState===`open`)),this.show()}connectedCallback(){addEventListener(`focus`,this.look),addEventListener(`scroll`,this.place,!0),addEventListener(`resize`,this.place),document.addEventListener(`visibilitychange`,this.look),this.refresh()}disconnectedCallback(){removeEventListener(`focus`,this.look),removeEventListener(`scroll`,this.place,!0),removeEventListener(`resize`,this.place),document.removeEventListener(`visibilitychange`,this.look),clearTimeout(this.timer)}attributeChangedCallback(){this.isConnected&&this.refresh()}refresh(){clearTimeout(this.timer),document.visibilityState!==`hidden`&&this.isConnected&&this.read().finally(()=>{let e=Math.max(S,Number(this.getAttribute(`every`))||x);clearTimeout(this.timer),this.timer=setTimeout(this.look,e*1e3*2**Math.min(this.failures,C))})}look=()=>this.refresh();async read(){let e=++this.asked;try{let t=await this.ask(`inbox`);if(e!==this.asked)return;this.failures=0,this.content=t,this.ring(t.unread),this.show()}catch(t){if(e!==this.asked)return;this.failures+=1,this.show(b(t))}}ring(e){let t=this.unread;if(this.unread=e,this.count.textContent=e===0?``:e>99?`99+`:String(e),this.button.setAttribute(`aria-label`,e?`Notifications, ${e} unread`:`Notifications`),t===e)return;let n=t===void 0?0:e-t;this.button.classList.toggle(`rings`,n>0);let r=n>0?`${n} new ${n===1?`notification`:`notifications`}`:``;this.tell(`tocsin-unread`,{unread:e},r)}show(e){let{content:t}=this;this.button.title=e??``,e?this.list.replaceChildren(this.note(e,!0),...t?[this.entries(t)]:[]):t?this.list.replaceChildren(this.entries(t)):this.list.replaceChildren(this.note(`Loading …`)),t&&this.list.append(v(`a`,{class:`open`,href:t.url,...T},`Open the inbox`))}note(e,t=!1){let n=v(`p`,{class:`note`},e);if(t){let e=v(`button`,{type:`button`},`Try again`);e.addEventListener(`click`,this.look),n.append(` `,e)}return n}entries({entries:e}){return e.length===0?this.note(`You have no notifications.`):v(`ul`,{},...e.map(e=>v(`li`,{},E(e))))}toggled(e){e&&(this.place(),this.panel.focus(),this.refresh(),this.ask(`inbox/seen`,`PUT`).catch(()=>null))}place=()=>{if(!this.panel.matches(`:popover-open`))return;let e=this.button.getBoundingClientRect(),t=this.panel.offsetWidth,n=e.left+e.width/2>innerWidth/2?e.right-t:e.left;this.panel.style.left=`${Math.max(8,Math.min(n,innerWidth-t-8))}px`,this.panel.style.top=`${e.bottom+6}px`}},T={target:`_blank`,rel:`noopener`};function E(t){let n=v(`time`,{title:o(t.timestamp)},a(t.timestamp,Date.now())),r=[e(t.entityFullyQualifiedName),l(t.reason)].filter(Boolean),i=v(`span`,{class:`title`},t.title);return t.read||i.append(v(`span`,{class:`hidden`},`, unread`)),v(`a`,{href:t.url,class:t.read?``:`unread`,...T},v(`span`,{class:`dot`}),i,n,v(`small`,{},r.join(` · `)))}var D={"tocsin-bell":w,"tocsin-follow":class extends _{static observedAttributes=[`type`,`fqn`,`token-url`,`server`];words=v(`span`,{},`Follow`);wrong=v(`span`,{class:`wrong`,part:`error`,role:`alert`});button=v(`button`,{type:`button`,class:`follow`,part:`button`,"aria-pressed":`false`,"aria-disabled":`true`},y(`m12 2 3.1 6.3 6.9 1-5 4.9 1.2 6.8-6.2-3.2L5.8 21 7 14.2 2 9.3l6.9-1z`),this.words);asked=0;follow;constructor(){super(),this.root.append(this.button,this.wrong,this.said),this.button.addEventListener(`click`,()=>void this.press())}connectedCallback(){this.refresh()}attributeChangedCallback(){this.isConnected&&this.refresh()}refresh(){this.load()}async load(){this.follow=void 0,await this.attempt(`GET`)}async press(){let e=this.follow;if(!e)return this.load();if(await this.attempt(e.follows?`DELETE`:`PUT`),this.follow&&this.follow!==e){let{name:e,follows:t}=this.follow;this.tell(`tocsin-follow`,{follows:t},`You ${t?``:`no longer `}follow ${e}.`)}}async attempt(e){let[t,n,r]=[this.getAttribute(`type`),this.getAttribute(`fqn`),++this.asked];if(!t||!n)return this.show(`<${this.localName}> needs type and fqn.`);try{let i=`follows/${encodeURIComponent(t)}/${encodeURIComponent(n)}`,a=await this.ask(i,e);r===this.asked&&(this.follow=a)}catch(e){r===this.asked&&this.show(b(e));return}r===this.asked&&this.show()}show(e=``){let{follow:t}=this;this.wrong.textContent=e,this.words.textContent=t?.follows?`Following`:`Follow`,this.button.setAttribute(`aria-pressed`,String(t?.follows??!1)),this.button.setAttribute(`aria-disabled`,String(!t&&!e)),t&&this.button.setAttribute(`aria-label`,`Follow ${t.name}`)}}};for(let[e,t]of Object.entries(D))customElements.get(e)||customElements.define(e,t)})();
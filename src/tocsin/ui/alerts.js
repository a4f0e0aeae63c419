// Which alerts are noise, and what would one have told? The ranking, what a tighter rule would spare, and backtests.
// Everything that comes from the server is put in as text, never as markup.

import { backtestForm } from "./backtest.js";
import { call } from "./api.js";
import { amount, chart } from "./drawn.js";

const PATH = "/events/subscriptions";
const WINDOWS = [
  ["7d", "the last 7 days"],
  ["30d", "the last 30 days"],
  ["90d", "the last 90 days"],
];

// Fills the page about alerts.
export async function showAlerts(make, place) {
  const since = make("select", { "aria-label": "Of which time" });
  WINDOWS.forEach(([value, text]) => since.append(make("option", { value, text: `of ${text}` })));
  since.value = "30d";
  const ranking = make("div", { id: "noise" });
  const fill = async () => ranking.replaceChildren(...(await ranked(make, since.value)));
  since.addEventListener("change", () => fill().catch((error) => ranking.replaceChildren(make("p", { text: error.message }))));
  await fill();
  const alerts = await call("GET", `${PATH}?limit=1000`);
  place.replaceChildren(
    make("div", { class: "row" }, make("h2", { text: "Which alerts are noise?" }), since),
    ranking,
    make("h2", { text: "What would an alert have told?" }),
    backtestForm(make, alerts.data),
  );
}

async function ranked(make, since) {
  const { data, formula, paging } = await call("GET", `${PATH}/noise?since=${since}&limit=10`);
  if (!data.length) return [make("p", { text: "No alert matched anything." })];
  const most = Math.max(...data.map((one) => one.told), 1);
  const hidden = paging.total > data.length ? `${paging.total - data.length} more alerts matched something. ` : "";
  return [
    make("ol", {}, ...data.map((one) => noisy(make, one, most, since))),
    make("p", { class: "soft", text: `${hidden}${formula}.` }),
  ];
}

function noisy(make, one, most, since) {
  const parts = [
    ["opened", one.opened],
    ["unopened", one.told - one.opened],
  ];
  const label = `${one.told} told, ${one.opened} of it opened`;
  const spare = make("div", { "aria-live": "polite" });
  const box = make("details", { class: "why-this" }, make("summary", { text: "What would a tighter rule spare?" }), spare);
  box.addEventListener("toggle", async () => {
    if (!box.open) return;
    try {
      spare.replaceChildren(...suggested(make, await call("GET", `${PATH}/${one.id}/noise?since=${since}`)));
    } catch (error) {
      spare.replaceChildren(make("p", { text: error.message }));
    }
  });
  const name = make("strong", { text: one.displayName || one.name });
  return make("li", { class: "card" }, name, chart([parts], most, label), make("div", { class: "soft", text: numbers(one) }), box);
}

function numbers(one) {
  const silent = one.toldNobody ? ` (${one.toldNobody} told nobody)` : "";
  const people = one.people ? ` to ${amount(one.people, "person", "people")}` : "";
  const rest = ["opened", "muted", "unsubscribed"].map((key) => `${one[key]} ${key}`).join(", ");
  return `${amount(one.fired, "event")}${silent}, ${one.told} told${people}, ${rest}`;
}

function suggested(make, { suggestions, toldInApp }) {
  const nothing = "Nothing: whatever was tried leaves out nothing, or all of it, or too much of what people opened.";
  if (!suggestions.length) return [make("p", { text: nothing })];
  const none = toldInApp ? ", none of them opened" : "";
  const lines = suggestions.map((one) => {
    const missed = one.missed ? `, of which ${one.missed} were opened` : none;
    const text = make("div", { text: `${one.says}: ${one.saved} of ${one.told}${missed}` });
    return make("li", {}, text, make("code", { text: one.condition }));
  });
  return [make("ul", { class: "plain" }, ...lines)];
}

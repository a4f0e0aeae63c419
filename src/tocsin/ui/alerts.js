// The page about alerts: the noise ranking, suggested conditions, and backtests.
// Everything from the server is inserted as text, never as markup.

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
  const since = make("select", { "aria-label": "Period" });
  WINDOWS.forEach(([value, text]) => since.append(make("option", { value, text })));
  since.value = "30d";
  const ranking = make("div", { id: "noise" });
  const fill = async () => ranking.replaceChildren(...(await ranked(make, since.value)));
  since.addEventListener("change", () => fill().catch((error) => ranking.replaceChildren(make("p", { text: error.message }))));
  await fill();
  const alerts = await call("GET", `${PATH}?limit=1000`);
  place.replaceChildren(
    make("div", { class: "row" }, make("h2", { text: "Noisy alerts" }), since),
    ranking,
    make("h2", { text: "Backtest" }),
    backtestForm(make, alerts.data),
  );
}

async function ranked(make, since) {
  const { data, formula, paging } = await call("GET", `${PATH}/noise?since=${since}&limit=10`);
  if (!data.length) return [make("p", { text: "No alert matched any event." })];
  const most = Math.max(...data.map((one) => one.notified), 1);
  const hidden = paging.total > data.length ? `${paging.total - data.length} more alerts matched events. ` : "";
  return [
    make("ol", {}, ...data.map((one) => noisy(make, one, most, since))),
    make("p", { class: "soft", text: `${hidden}${formula}.` }),
  ];
}

function noisy(make, one, most, since) {
  const parts = [
    ["opened", one.opened],
    ["unopened", one.notified - one.opened],
  ];
  const label = `${amount(one.notified, "notification")}, ${one.opened} opened`;
  const place = make("div", { "aria-live": "polite" });
  const box = make("details", { class: "why-this" }, make("summary", { text: "How to reduce it" }), place);
  box.addEventListener("toggle", async () => {
    if (!box.open) return;
    try {
      place.replaceChildren(...suggested(make, await call("GET", `${PATH}/${one.id}/noise?since=${since}`)));
    } catch (error) {
      place.replaceChildren(make("p", { text: error.message }));
    }
  });
  const name = make("strong", { text: one.displayName || one.name });
  return make("li", { class: "card" }, name, chart([parts], most, label), make("div", { class: "soft", text: numbers(one) }), box);
}

function numbers(one) {
  const silent = one.notifiedNobody ? ` (${one.notifiedNobody} notified nobody)` : "";
  const people = one.people ? ` to ${amount(one.people, "person", "people")}` : "";
  const rest = ["opened", "muted", "unsubscribed"].map((key) => `${one[key]} ${key}`).join(", ");
  return `${amount(one.fired, "event")}${silent}, ${amount(one.notified, "notification")}${people}, ${rest}`;
}

function suggested(make, { suggestions, notifiedInApp }) {
  const nothing = "None: no condition that was tried helps without hiding too much of what people opened.";
  if (!suggestions.length) return [make("p", { text: nothing })];
  const none = notifiedInApp ? ", none of them opened" : "";
  const lines = suggestions.map((one) => {
    const missed = one.missed ? `; opened of these: ${one.missed}` : none;
    const text = make("div", { text: `${one.says}: saves ${one.saved} of ${one.notified} notifications${missed}` });
    return make("li", {}, text, make("code", { text: one.condition }));
  });
  return [make("ul", { class: "plain" }, ...lines)];
}

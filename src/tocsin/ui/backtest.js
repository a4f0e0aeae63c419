// The form and result of a backtest.
// Everything from the server is inserted as text, never as markup.

import { call } from "./api.js";
import { amount, columns } from "./drawn.js";

const PATH = "/events/subscriptions/backtest";
const WINDOWS = [
  ["30d", "the last 30 days"],
  ["90d", "the last 90 days"],
  ["365d", "the last 365 days"],
  ["", "the whole history"],
];
const ROWS = 10;
const DAY_MS = 86_400_000;

// Returns the form for alert and period; the result appears below it.
export function backtestForm(make, alerts) {
  const which = make("select", { "aria-label": "Alert" });
  alerts.forEach((one) => which.append(make("option", { value: one.id, text: one.displayName || one.name })));
  const since = make("select", { "aria-label": "Since" });
  WINDOWS.forEach(([value, text]) => since.append(make("option", { value, text })));
  since.value = "90d";
  const start = make("button", { type: "button", text: "Backtest" });
  const place = make("div", { id: "backtest", "aria-live": "polite" });
  start.addEventListener("click", async () => {
    start.disabled = true;
    try {
      const window = since.value ? { since: since.value } : {};
      place.replaceChildren(...shown(make, await followed(make, place, { id: which.value, ...window })));
    } catch (error) {
      place.replaceChildren(make("p", { text: error.message }));
    } finally {
      start.disabled = false;
    }
  });
  return make("div", {}, make("div", { class: "row start" }, which, since, start), place);
}

// Returns the backtest once it has ended; shows its progress, and cancels it if the user leaves the page.
async function followed(make, place, asked) {
  let test = await call("POST", `${PATH}?wait=1`, asked);
  const cancel = make("button", { type: "button", class: "quiet", text: "Cancel" });
  cancel.addEventListener("click", () => call("DELETE", `${PATH}/${test.id}`).catch(() => {}));
  const bar = make("progress", { "aria-label": "Progress of the backtest" });
  const message = make("span", { class: "soft" });
  place.replaceChildren(make("div", { class: "row start" }, bar, cancel, message));
  while (["waiting", "running"].includes(test.state)) {
    const { done, total } = test.progress;
    if (total) [bar.max, bar.value] = [total, done];
    message.textContent = test.message || (total ? `${done.toLocaleString("en")} of ${amount(total, "event")}` : "");
    if (!place.isConnected) return call("DELETE", `${PATH}/${test.id}`);
    test = await call("GET", `${PATH}/${test.id}?wait=1`);
  }
  return test;
}

function recipientOf({ name, target, destinations = [] }) {
  const who = name || target || "a person";
  return destinations.length ? `${destinations.join(", ")} (${who})` : who;
}

function shown(make, test) {
  if (test.state !== "done") return [make("p", { text: test.message || test.reason })];
  const { result } = test;
  const recipients = result.recipients.map((one) => [recipientOf(one), one.channel, one.notified, one.because.join(", ")]);
  const triggered = (result.triggered || []).map((one) => [one.name || "an alert that you may not view", one.notified, one.heldBack]);
  const samples = result.samples.map((one) => [
    new Date(one.timestamp).toLocaleString(),
    one.eventType,
    one.entityFullyQualifiedName || "",
    one.userName || "",
  ]);
  return [
    make("p", { class: "answer", text: summary(result) }),
    ...(result.matched ? plot(make, days(test)) : []),
    ...table(make, "Assets", ["Asset", "Type", "Matched"], result.assets.map((one) => [one.fullyQualifiedName, one.type, one.matched])),
    ...table(make, "Recipients", ["Recipient", "Channel", "Notifications", "Reasons"], recipients),
    ...table(make, "Triggered alerts", ["Alert", "Notifications", "Held back"], triggered),
    ...table(make, "Newest events", ["When", "Event", "Asset", "By"], samples),
    make("p", { class: "soft", text: result.people }),
  ];
}

function plot(make, drawn) {
  const most = Math.max(...drawn.map(([, count]) => count));
  const text = `Matches per day, ${drawn[0][0]} to ${drawn.at(-1)[0]} (UTC), at most ${most.toLocaleString("en")}`;
  return [columns(drawn, text), make("p", { class: "soft", text: `${text}.` })];
}

function summary(result) {
  const head = `${result.matched.toLocaleString("en")} of ${amount(result.events, "event")} match`;
  if (!result.matched) return `${head}.`;
  const silent = result.notifiedNobody ? `; ${result.notifiedNobody.toLocaleString("en")} of them notify nobody` : "";
  const held = result.heldBack ? `; incidents hold back ${result.heldBack.toLocaleString("en")} of them` : "";
  const through = result.channels.map((one) => `${one.channel} ${one.notified.toLocaleString("en")}`).join(", ");
  return (
    `${head}, on ${amount(result.assetCount, "asset")}${silent}${held}. It would have sent ` +
    `${amount(result.notified, "notification")} to ${amount(result.recipientCount, "recipient")}${through ? ` (${through})` : ""}; ` +
    `${amount(result.merged, "duplicate")} merged.`
  );
}

// Returns each day (UTC) of the period as [date, count], days without matches included.
function days(test) {
  const counts = new Map(test.result.perDay.map((one) => [one.date, one.matched]));
  const known = [...counts.keys()].map((date) => Date.parse(date));
  const first = Math.min(...known, test.since ?? Infinity);
  const last = Math.max(...known, Math.min(test.until ?? Infinity, test.endedAt));
  const found = [];
  for (let at = Math.floor(first / DAY_MS) * DAY_MS; at <= last; at += DAY_MS) {
    const date = new Date(at).toISOString().slice(0, 10);
    found.push([date, counts.get(date) || 0]);
  }
  return found;
}

function table(make, title, heads, rows) {
  if (!rows.length) return [];
  const cells = (values, kind) => make("tr", {}, ...values.map((text) => make(kind, { text: String(text) })));
  const body = rows.slice(0, ROWS).map((values) => cells(values, "td"));
  return [make("h3", { text: title }), make("table", {}, make("thead", {}, cells(heads, "th")), make("tbody", {}, ...body))];
}

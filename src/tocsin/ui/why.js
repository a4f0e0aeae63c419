// The explanation of a notification, rule by rule, as the server gives it.
// Everything from the server is inserted as text, never as markup.

import { call } from "./api.js";

const MOST_ALERTS = 100;
const JOINED = { and: "all of", or: "one of", not: "not" };
const MARKS = new Map([
  [true, ["✓", "holds"]],
  [false, ["✗", "does not hold"]],
  [null, ["?", "depends on the recipient"]],
]);

// Returns the closed explanation box of a notification; each opening loads it again.
export function whyThis(make, me, one) {
  const place = make("div", { "aria-live": "polite" });
  const box = make("details", { class: "why-this" }, make("summary", { text: "Why did I get this?" }), place);
  box.addEventListener("toggle", async () => {
    if (!box.open) return;
    place.replaceChildren(make("p", { class: "soft", text: "Loading …" }));
    try {
      const path = `/events/${one.eventId}/explain?user=${me.id}&limit=${MOST_ALERTS}`;
      place.replaceChildren(...explained(make, one, await call("GET", path)));
    } catch (error) {
      place.replaceChildren(make("p", { text: error.message }));
    }
  });
  return box;
}

function explained(make, one, answer) {
  const reasons = new Set(one.reasons.map((reason) => reason.subscriptionId));
  const shown = answer.alerts.filter((alert) => reasons.has(alert.id) || (alert.matched && alert.reached.total));
  const hidden = answer.paging.total - shown.length;
  const others = hidden ? [make("li", { class: "soft", text: `${hidden} other ${hidden === 1 ? "alert does" : "alerts do"} not notify you of this event.` })] : [];
  const differing = answer.disagreements.map((each) => make("li", { text: `! ${each.says}` }));
  const asOf = `Alerts and relations as of now, ${new Date(answer.asOf).toLocaleString()}.`;
  return [
    make("p", { class: "answer", text: answer.answer }),
    make("ul", { class: "tree" }, ...shown.map((alert) => alertBranch(make, alert, reasons.has(alert.id))), ...others, ...differing),
    make("p", { class: "soft", text: asOf }),
  ];
}

function alertBranch(make, alert, isNotified) {
  const below = [
    ...alert.gates.map((gate) => branch(make, gate.holds, gate.says)),
    ...alert.rules.map((rule) => ruleBranch(make, rule)),
    ...alert.reached.data.map((person) => personBranch(make, person)),
  ];
  const otherwise = isNotified ? "would not match now, but matched then" : "did not match";
  const verdict = alert.matched ? "matched" : otherwise;
  return branch(make, alert.matched, `alert ${alert.displayName || alert.name} ${verdict}`, below);
}

function ruleBranch(make, rule) {
  if (!rule.trace) return branch(make, false, rule.says);
  const name = `${rule.part.slice(0, -1)} ${rule.name || rule.number + 1} (${rule.effect})`;
  return branch(make, rule.holds, name, [traceBranch(make, rule.trace)]);
}

function traceBranch(make, trace) {
  if (trace.joined) {
    return branch(make, trace.holds, JOINED[trace.joined], trace.parts.map((part) => traceBranch(make, part)));
  }
  const line = branch(make, trace.holds, trace.text);
  const seen = trace.seen.map((each) => `${each.name} is ${valuesOf(each)}`).join("; ");
  if (seen) line.append(make("div", { class: "soft", text: seen }));
  return line;
}

function valuesOf(seen) {
  if (seen.isMissing) return "missing";
  const more = seen.total - seen.values.length;
  return seen.values.join(", ") + (more > 0 ? ` and ${more} more` : "") + (seen.isInherited ? ", inherited" : "");
}

function personBranch(make, person) {
  const ways = person.ways.map(({ reason, stoppedBy }) =>
    branch(make, !stoppedBy, reason.sentence + (stoppedBy ? `: ${stoppedBy.says}` : "")),
  );
  const others = person.mergedWith.join(", ");
  if (others) ways.push(make("li", { class: "soft", text: `sent as one notification with ${others}` }));
  const who = person.destinations.length ? `${person.destinations.join(", ")} (${person.name})` : person.name;
  return branch(make, person.isDue || person.notification !== null, `${who} by ${person.channel}`, ways);
}

function branch(make, holds, text, below = []) {
  const [sign, words] = MARKS.get(holds);
  const mark = make("span", { class: `mark ${words.replaceAll(" ", "-")}`, role: "img", "aria-label": words, text: sign });
  const line = make("li", {}, mark, make("span", { text: ` ${text}` }));
  if (below.length) line.append(make("ul", {}, ...below));
  return line;
}

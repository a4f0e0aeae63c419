// The page of an incident, which the buttons in chat channels lead to: what happened, and a button to acknowledge it.
// Everything from the server is inserted as text, never as markup.

import { call } from "./api.js";
import { amount } from "./drawn.js";

const when = (ms) => new Date(ms).toLocaleString();
const nameOf = (one) =>
  (one.displayName || one.fullyQualifiedName || one.name || one.id) + (one.deleted ? " (deleted)" : "");

// Fills the page of an incident; `say` shows a message.
export async function showIncident(make, place, name, say) {
  const fill = (incident) => place.replaceChildren(...drawn(make, incident, acknowledge));
  async function acknowledge() {
    try {
      fill(await call("PUT", `/incidents/${name}/acknowledge`));
      say("");
    } catch (error) {
      say(error.message);
    }
  }
  fill(await call("GET", `/incidents/${name}`));
}

// Returns since when what a notification is about fails, or failed, how often in a row, and its incident; [] of others.
export function failureFacts(make, { failure, incident }) {
  const facts = [];
  if (failure) {
    const until = failure.until ? ` until ${when(failure.until)}` : "";
    const verb = failure.until ? "failed" : "failing";
    const usual = failure.usualDuration ? `, usually takes ${span(failure.usualDuration)}` : "";
    facts.push(`${verb} since ${when(failure.since)}${until}, ${amount(failure.count, "time")} in a row${usual}`);
  }
  const link = incident ? [make("a", { href: `#/incidents/${incident.name}`, text: incident.name })] : [];
  const who = incident?.acknowledgedBy ? [` acknowledged by ${incident.acknowledgedBy}`] : [];
  if (!facts.length && !link.length) return [];
  const between = facts.length && link.length ? [" · "] : [];
  const line = make("div", { class: "soft" });
  line.append(...facts, ...between, ...link, ...who);
  return [line];
}

// Returns a duration in words, as messages say it: "40 s", "11 min", "1 h 30 min".
function span(ms) {
  const seconds = Math.floor(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  const [hours, rest] = [Math.floor(minutes / 60), minutes % 60];
  return [hours ? `${hours} h` : "", rest ? `${rest} min` : ""].filter(Boolean).join(" ");
}

function drawn(make, incident, acknowledge) {
  const heading = make("div", { class: "row" }, make("h2", { text: incident.name }));
  if (incident.status === "open") {
    const button = make("button", { type: "button", id: "acknowledge", text: "Acknowledge" });
    button.addEventListener("click", acknowledge);
    heading.append(button);
  }
  const assignee = incident.assignee ? `, assigned to ${nameOf(incident.assignee)}` : "";
  return [
    heading,
    make("p", { text: `${nameOf(incident.entity)}: ${incident.status}${incident.severity ? `, ${incident.severity}` : ""}${assignee}` }),
    ...(incident.watchers.length
      ? [make("p", { class: "soft", text: `Watched by ${incident.watchers.map(nameOf).join(", ")}` })]
      : []),
    make("ol", { class: "plain" }, ...incident.timeline.map((one) => make("li", { text: `${when(one.timestamp)} · ${one.says}` }))),
  ];
}

// What does a person not want to hear of? Mutes an alert or an asset from the bell, and hears of it again.
// Everything that comes from the server is put in as text, never as markup.

import { call } from "./api.js";

const LENGTHS = [
  ["for good", null],
  ["for a week", 7 * 24 * 3600_000],
  ["for 8 hours", 8 * 3600_000],
];

// Returns what stands below a notification: how long, and a button for each thing that could be quiet.
export function hearLess(make, me, one, done) {
  const length = make("select", { "aria-label": "For how long" });
  LENGTHS.forEach(([text], index) => length.append(make("option", { value: String(index), text })));
  const box = make("details", { class: "less" }, make("summary", { text: "Hear less" }), length);
  const asset = one.about || { type: one.entityType, id: one.entityId };
  const alerts = new Map(one.reasons.map((reason) => [reason.subscriptionId, reason.subscriptionName]));
  const quiet = [["asset", asset.id, "Mute this asset", { type: asset.type }]];
  alerts.forEach((name, id) => quiet.push(["alert", id, `Mute alert ${name}`, {}]));
  for (const [kind, id, text, more] of quiet) {
    const button = make("button", { type: "button", class: "quiet", text });
    button.addEventListener("click", async () => {
      const ms = LENGTHS[Number(length.value)][1];
      const until = ms ? { until: Date.now() + ms } : {};
      await tried(done, () => call("PUT", `/users/${me.id}/mutes`, { kind, id, ...more, ...until }), `Done: ${text}.`);
      box.open = false;
    });
    box.append(button);
  }
  return box;
}

// Fills the list of what is muted, each with a button that ends it.
export async function showMutes(make, me, list, done) {
  const { data } = await call("GET", `/users/${me.id}/mutes`);
  list.replaceChildren(
    ...data.map((one) => {
      const name = one.fullyQualifiedName || one.name || one.id;
      const over = one.channel === "Email" ? ", by mail" : "";
      const end = one.until ? `until ${new Date(one.until).toLocaleString()}` : "for good";
      const button = make("button", { type: "button", class: "quiet", text: "Hear again" });
      const end_it = () => call("DELETE", `/users/${me.id}/mutes/${one.id}`);
      button.addEventListener("click", () => tried(done, end_it, `You hear of ${name} again.`));
      return make("li", { class: "row" }, make("span", { text: `${one.kind} ${name}${over}, ${end}` }), button);
    }),
  );
  list.parentElement.hidden = !data.length;
}

async function tried(done, change, said) {
  try {
    await change();
    await done(said);
  } catch (error) {
    await done(error.message);
  }
}

// Muting and unmuting alerts and assets from the list of notifications.
// Everything from the server is inserted as text, never as markup.

import { call } from "./api.js";

const LENGTHS = [
  ["permanently", null],
  ["for a week", 7 * 24 * 3600_000],
  ["for 8 hours", 8 * 3600_000],
];

// Returns the mute controls of a notification: a duration, and a button for its asset and for each alert.
export function muteControls(make, me, one, done) {
  const length = make("select", { "aria-label": "Duration" });
  LENGTHS.forEach(([text], index) => length.append(make("option", { value: String(index), text })));
  const box = make("details", { class: "mute" }, make("summary", { text: "Mute" }), length);
  const asset = one.about || { type: one.entityType, id: one.entityId };
  const alerts = new Map(one.reasons.map((reason) => [reason.subscriptionId, reason.subscriptionName]));
  const quiet = [["asset", asset.id, "Mute this asset", { type: asset.type }]];
  alerts.forEach((name, id) => quiet.push(["alert", id, `Mute alert ${name}`, {}]));
  for (const [kind, id, text, more] of quiet) {
    const button = make("button", { type: "button", class: "quiet", text });
    button.addEventListener("click", async () => {
      const ms = LENGTHS[Number(length.value)][1];
      const until = ms ? { until: Date.now() + ms } : {};
      await tried(done, () => call("PUT", `/users/${me.id}/mutes`, { kind, id, ...more, ...until }), `Muted ${kind === "asset" ? "the asset" : `alert ${name}`}.`);
      box.open = false;
    });
    box.append(button);
  }
  return box;
}

// Fills the list of mutes, each with a button that removes it.
export async function showMutes(make, me, list, done) {
  const { data } = await call("GET", `/users/${me.id}/mutes`);
  list.replaceChildren(
    ...data.map((one) => {
      const name = one.fullyQualifiedName || one.name || one.id;
      const over = { Email: ", by mail", Slack: ", in Slack" }[one.channel] || "";
      const end = one.until ? `until ${new Date(one.until).toLocaleString()}` : "permanently";
      const button = make("button", { type: "button", class: "quiet", text: "Unmute" });
      const unmute = () => call("DELETE", `/users/${me.id}/mutes/${one.id}`);
      button.addEventListener("click", () => tried(done, unmute, `${name} is unmuted.`));
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

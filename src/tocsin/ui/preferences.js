// Preferences of the person who is logged in: when mails and direct messages come.
// Everything from the server is inserted as text, never as markup.

import { call } from "./api.js";

const OFTEN = [["immediate", "at once"], ["hourly", "every hour"], ["daily", "once a day"], ["weekly", "once a week"], ["never", "never"]];
const CATEGORIES = {
  breaking: "Breaking changes", schema: "Schema", quality: "Tests and quality", run: "Pipeline runs", description: "Descriptions", tag: "Tags",
  owner: "Owners", usage: "Usage",
};

// Fills the form of preferences; `say` shows a message.
export async function showPreferences(make, me, form, say) {
  const path = `/users/${me.id}/preferences`;
  const found = await call("GET", path);
  const quiet = found.quietHours || { start: "", end: "" };
  const isNew = found.timezone === "UTC" && !found.quietHours;
  const zone = isNew ? Intl.DateTimeFormat().resolvedOptions().timeZone : found.timezone;
  const shown = [...new Set([...Object.keys(CATEGORIES), ...Object.keys(found.categories)])];
  form.replaceChildren(
    labelled(make, "Quiet from", make("input", { name: "start", type: "time", value: quiet.start })),
    labelled(make, "Quiet until", make("input", { name: "end", type: "time", value: quiet.end })),
    labelled(make, "Digests at", make("input", { name: "digestAt", type: "time", value: found.digestAt, required: "" })),
    labelled(make, "Time zone", make("input", { name: "timezone", value: zone, required: "" })),
    labelled(make, "All changes", choice(make, "frequency", found.frequency || "", "as the server sets")),
    ...shown.map((one) => labelled(make, CATEGORIES[one] || one, choice(make, one, found.categories[one] || "", "like all changes"))),
    make("button", { type: "submit", class: "quiet", text: "Save" }),
  );
  form.onsubmit = async (event) => {
    event.preventDefault();
    try {
      await call("PUT", path, asked(new FormData(form), shown, found));
      say("Your preferences are saved.");
    } catch (error) {
      say(error.message);
    }
  };
}

function asked(given, shown, found) {
  const [start, end] = [given.get("start"), given.get("end")];
  const chosen = shown.map((one) => [one, given.get(one)]).filter(([, often]) => often);
  return {
    timezone: given.get("timezone"),
    digestAt: given.get("digestAt"),
    digestDay: found.digestDay,
    kinds: found.kinds,
    ...(given.get("frequency") ? { frequency: given.get("frequency") } : {}),
    categories: Object.fromEntries(chosen),
    ...("leaveOutRead" in found ? { leaveOutRead: found.leaveOutRead } : {}),
    ...("mostPerHour" in found ? { mostPerHour: found.mostPerHour } : {}),
    ...(found.healthSummary ? { healthSummary: found.healthSummary } : {}),
    ...("inboxDays" in found ? { inboxDays: found.inboxDays } : {}),
    ...(found.away ? { away: found.away } : {}),
    ...("workingDays" in found ? { workingDays: found.workingDays } : {}),
    ...(start || end ? { quietHours: { start, end } } : "quietHours" in found ? { quietHours: null } : {}),
  };
}

function choice(make, name, value, open) {
  const options = [["", open], ...OFTEN];
  const select = make("select", { name });
  options.forEach(([often, text]) => select.append(make("option", { value: often, text })));
  select.value = value;
  return select;
}

function labelled(make, text, field) {
  return make("label", {}, make("span", { text }), field);
}

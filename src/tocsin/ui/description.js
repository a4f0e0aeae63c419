// Editing the description of an asset, with the reason of the change beside it.
// Everything from the server is inserted as text, never as markup.

import { call } from "./api.js";

const LONGEST_REASON = 500;

// Returns a form that is shown on demand; `done` shows the asset anew, `say` a message.
export function descriptionEditor(make, path, asset, { done, say }) {
  const text = make("textarea", { name: "description", rows: "4", "aria-label": "New description" });
  text.value = asset.description || "";
  const why = make("input", { name: "why", maxlength: String(LONGEST_REASON), autocomplete: "off" });
  const form = make("form", {}, text, make("label", {}, make("span", { text: "Why (optional)" }), why));
  form.append(make("button", { type: "submit", text: "Save" }));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      await call("PATCH", path, changes(asset, text.value), reasonHeader(why.value.trim()));
      await done();
    } catch (error) {
      say(error.message);
    }
  });
  return make("details", { id: "edit" }, make("summary", { text: "Edit the description" }), form);
}

// The server refuses it where somebody has changed the asset meanwhile.
function changes(asset, description) {
  const isStill = { op: "test", path: "/version", value: asset.version };
  return [isStill, { op: "add", path: "/description", value: description }];
}

// A header holds other letters than those of ASCII as RFC 8187 has it.
export function reasonHeader(reason) {
  const quoted = encodeURIComponent(reason).replace(/['()*]/g, (one) => `%${one.charCodeAt(0).toString(16)}`);
  return reason ? { "X-Tocsin-Why": `UTF-8''${quoted}` } : {};
}

// What keeps notifications back at the moment, from the health check, for everybody who is logged in.

import { call } from "./api.js";

const EVERY_MS = 60_000;
const LOST = "The store has lost events; an administrator can tell more.";

// Shows the problems in a list, now and every minute; returns a function that ends it.
export function watchHealth(list) {
  const look = async () => {
    const health = await call("GET", "/healthcheck").catch(() => null);
    if (!health) return;
    const messages = health.problems.map((one) => one.message);
    if (health.status === "eventsLost") messages.unshift(LOST);
    list.replaceChildren(...messages.map(item));
    list.hidden = !messages.length;
  };
  look();
  const timer = setInterval(look, EVERY_MS);
  return () => {
    clearInterval(timer);
    list.hidden = true;
  };
}

function item(text) {
  const element = document.createElement("li");
  element.textContent = text;
  return element;
}

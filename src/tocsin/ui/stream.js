// Live notifications: server-sent events over fetch, because EventSource sends no token.

import { token } from "./api.js";

const SOON_MS = 1000;
const LATEST_MS = 30000;

// Calls hear(notification) for each one after the event `from`; comes back after every break and misses nothing.
// Calls reset() when the server's store is another one than before. Returns how to stop.
export function openStream(path, from, hear, reset) {
  const stop = new AbortController();
  run(path, from, { hear, reset }, stop.signal);
  return () => stop.abort();
}

async function run(path, from, { hear, reset }, signal) {
  let last = from;
  let wait = SOON_MS;
  while (!signal.aborted) {
    try {
      await listen(path, last, signal, (event) => {
        wait = SOON_MS;
        last = event.id || last;
        if (event.event === "notification") hear(JSON.parse(event.data));
        if (event.event === "reset") reset();
      });
    } catch (error) {
      if (signal.aborted) return;
      wait = Math.min(2 * wait, LATEST_MS);
    }
    await new Promise((resume) => setTimeout(resume, wait));
  }
}

async function listen(path, last, signal, take) {
  const headers = { Authorization: `Bearer ${token()}`, Accept: "text/event-stream" };
  if (last) headers["Last-Event-ID"] = last;
  const response = await fetch(`/api/v1${path}`, { headers, signal });
  if (!response.ok) throw new Error(`stream refused: ${response.status}`);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    text += value;
    const events = text.split("\n\n");
    text = events.pop();
    events.map(parse).forEach(take);
  }
}

function parse(block) {
  const event = { data: "" };
  for (const line of block.split("\n")) {
    const [, field, value] = line.match(/^([a-z]+): ?(.*)$/) || [];
    if (field === "data") event.data += value;
    else if (field) event[field] = value;
  }
  return event;
}

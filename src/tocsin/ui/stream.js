// Live notifications: server-sent events over fetch, because EventSource sends no token.

import { token } from "./api.js";

const SOON_MS = 1000;
const LATEST_MS = 30000;

// Calls onNotification for each one after the event `from`; reconnects after each break and misses none.
// Calls onChange when entries were marked, here or elsewhere, and when the server's store was replaced.
// Returns a function that stops the stream.
export function openStream(path, from, onNotification, onChange) {
  const stop = new AbortController();
  run(path, from, { onNotification, onChange }, stop.signal);
  return () => stop.abort();
}

async function run(path, from, { onNotification, onChange }, signal) {
  let last = from;
  let wait = SOON_MS;
  while (!signal.aborted) {
    try {
      await listen(path, last, signal, (event) => {
        wait = SOON_MS;
        last = event.id || last;
        if (event.event === "notification") onNotification(JSON.parse(event.data));
        if (event.event === "states" || event.event === "reset") onChange();
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

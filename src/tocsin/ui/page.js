// The web page: log in, find and follow assets, read notifications. Uses only the public API.
// Everything from the server is inserted as text, never as markup.

import { showAlerts } from "./alerts.js";
import { call, finishLogIn, forgetToken, logIn, token } from "./api.js";
import { descriptionEditor } from "./description.js";
import { watchHealth } from "./health.js";
import { failureFacts, showIncident } from "./incidents.js";
import { muteControls, showMutes } from "./mutes.js";
import { showPreferences } from "./preferences.js";
import { openStream } from "./stream.js";
import { whyThis } from "./why.js";

const TYPES = [
  ["tables", "table"],
  ["dashboards", "dashboard"],
  ["pipelines", "pipeline"],
  ["databaseSchemas", "schema"],
  ["dataQuality/testCases", "test"],
];
const COLLECTION_OF = {
  databaseService: "services/databaseServices",
  database: "databases",
  databaseSchema: "databaseSchemas",
  table: "tables",
  storedProcedure: "storedProcedures",
  dashboardService: "services/dashboardServices",
  dashboard: "dashboards",
  chart: "charts",
  pipelineService: "services/pipelineServices",
  pipeline: "pipelines",
  user: "users",
  team: "teams",
  domain: "domains",
  testSuite: "dataQuality/testSuites",
  testCase: "dataQuality/testCases",
  eventsubscription: "events/subscriptions",
};
const NOT_FOLLOWED = ["users", "teams", "domains", "dataQuality/testSuites", "events/subscriptions"];
const SHOWN = 100;
const INBOX_FIELDS = "fields=failure,incident"; // of the inbox when it is read, and of what is told live
const at = (id) => document.getElementById(id);

let me = null;
let assets = [];
let hits = [];
let stopStream = () => {};
let stopHealth = () => {};
let nextPage = null;
let rings = 0;

function make(tag, { text, ...attributes } = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  element.append(...children);
  return element;
}

function show(name) {
  for (const id of ["login", "assets", "asset", "alerts", "incident"]) at(id).hidden = id !== name;
  at("session").hidden = !me;
}

function say(text) {
  at("message").textContent = text;
}

const when = (ms) => new Date(ms).toLocaleString();

// ---- log in and out

async function start() {
  try {
    await finishLogIn();
  } catch (error) {
    say(error.message);
  }
  if (!token()) return show("login");
  try {
    me = await call("GET", "/users/loggedInUser");
  } catch {
    return leave("Please log in again.");
  }
  stopHealth();
  stopHealth = watchHealth(at("problems"));
  at("me").textContent = me.displayName || me.name;
  const [from] = await Promise.all([loadInbox(), loadAssets()]);
  const again = () => loadInbox(); // entries were marked elsewhere, or the store is another one
  stopStream = openStream(`/users/${me.id}/notifications/stream?${INBOX_FIELDS}`, from, ring, again);
  await route();
}

function leave(text) {
  stopStream();
  stopHealth();
  forgetToken();
  me = null;
  showInbox(false);
  show("login");
  say(text);
}

at("login").addEventListener("submit", async (event) => {
  event.preventDefault();
  const form = event.target;
  try {
    await logIn(form.email.value, form.password.value);
    form.reset();
    say("");
    await start();
  } catch (error) {
    say(error.message);
  }
});
at("logout").addEventListener("click", () => leave(""));

// ---- assets

async function loadAssets() {
  const lists = await Promise.all(TYPES.map(([collection]) => call("GET", `/${collection}?limit=1000`)));
  assets = lists.flatMap((list, index) =>
    list.data.map((asset) => ({ ...asset, collection: TYPES[index][0], kind: TYPES[index][1] })),
  );
}

function listAssets() {
  const wanted = at("search").value.trim().toLowerCase();
  const loaded = assets.filter((asset) => asset.fullyQualifiedName.toLowerCase().includes(wanted));
  const seen = new Set(hits.map((hit) => hit.id));
  const found = [...hits, ...loaded.filter((asset) => !seen.has(asset.id))];
  at("found").textContent = wanted ? `${found.length} found` : `${found.length} of ${assets.length} assets`;
  at("asset-list").replaceChildren(
    ...found.slice(0, SHOWN).map((asset) => {
      const link = make("a", { href: `#/${asset.collection}/${asset.id}`, text: asset.displayName || asset.name });
      const path = make("div", { class: "soft", text: `${asset.kind} · ${asset.fullyQualifiedName}` });
      return make("li", { class: "card" }, link, path);
    }),
  );
}

// The last word may be incomplete, so it gets a star, unless the text uses the query language.
function withStar(wanted) {
  const [last] = wanted.match(/(?<=^|\s)[\p{L}\p{N}](?:[\p{L}\p{N}._-]*[\p{L}\p{N}])?$/u) || [""];
  const isBare = last && !["AND", "OR", "NOT"].includes(last) && !/["([{/]/.test(wanted);
  return isBare ? `${wanted}*` : wanted;
}

// Shows loaded assets at once, then what the server finds by words, columns and descriptions.
async function search() {
  const wanted = at("search").value.trim();
  hits = [];
  listAssets();
  if (!wanted) return;
  const q = withStar(wanted);
  try {
    const answer = await call("GET", `/search/query?size=50&q=${encodeURIComponent(q)}`);
    if (at("search").value.trim() !== wanted) return;
    hits = answer.hits.hits.map(({ _source: asset }) => {
      const [, collection] = asset.href.match(/\/api\/v1\/(.+)\/[0-9a-f-]{36}$/);
      return { ...asset, collection, kind: asset.entityType };
    });
    listAssets();
    say("");
  } catch (error) {
    say(error.message);
  }
}
at("search").addEventListener("input", search);

// A link in a message says which notification it is of: opened, that is read, in all tabs. Scanners of mails that open
// links have no session.
async function noteOpened() {
  const [page, query] = location.hash.split("?");
  const opened = new URLSearchParams(query).get("opened");
  if (!opened) return;
  history.replaceState(null, "", location.pathname + page);
  const answer = await call("POST", `/users/${me.id}/notifications/opened`, { token: opened }).catch(() => null);
  if (answer?.marked) await loadInbox();
}

async function route() {
  if (!me) return show("login");
  noteOpened();
  const [, collection, id] = location.hash.match(/^#\/(.+)\/([0-9a-f-]{36})$/) || [];
  try {
    const [, incident] = location.hash.match(/^#\/incidents\/(INC-\d+)$/) || [];
    if (incident) await openIncident(incident);
    else if (id) await openAsset(collection, id);
    else if (location.hash === "#/alerts") await openAlerts();
    else if (location.pathname !== "/") await openLink();
    else {
      listAssets();
      show("assets");
      const isKnown = ["", "#/"].includes(location.hash);
      say(isKnown ? "" : `Page ${location.hash} does not exist. These are all assets.`);
    }
  } catch (error) {
    say(error.message);
  }
}
window.addEventListener("unhandledrejection", (event) => {
  event.preventDefault();
  say(event.reason.message);
});
window.addEventListener("hashchange", () => {
  showInbox(false);
  window.scrollTo(0, 0);
  route();
});

// Mails link to /table/<fully qualified name>; resolves it to the id.
async function openLink() {
  const [, type, name] = location.pathname.match(/^\/([^/]+)\/([^/]+)$/) || [];
  history.replaceState(null, "", "/");
  const asset = await call("GET", `/${COLLECTION_OF[type]}/name/${name}?include=all`);
  location.hash = `#/${COLLECTION_OF[type]}/${asset.id}`;
}

async function openIncident(name) {
  await showIncident(make, at("incident"), name, say);
  say("");
  show("incident");
}

async function openAlerts() {
  await showAlerts(make, at("alerts"));
  say("");
  show("alerts");
}

async function openAsset(collection, id) {
  const fields = NOT_FOLLOWED.includes(collection) ? "" : "fields=owners,followers&";
  const [asset, past] = await Promise.all([
    call("GET", `/${collection}/${id}?${fields}include=all`),
    call("GET", `/${collection}/${id}/versions?words=true`),
  ]);
  const done = () => openAsset(collection, id);
  const heading = make("div", { class: "row" }, make("h2", { text: asset.displayName || asset.name }));
  if (!NOT_FOLLOWED.includes(collection)) heading.append(followButton(collection, asset));
  at("asset").replaceChildren(
    heading,
    make("p", { class: "soft", text: `${asset.fullyQualifiedName} · version ${asset.version}` }),
    make("p", { text: asset.description || "No description." }),
    ...(asset.deleted ? [] : [descriptionEditor(make, `/${collection}/${id}`, asset, { done, say })]),
    named("Owned by", asset.owners),
    named("Followed by", asset.followers),
    columns(asset.columns || asset.tasks || []),
    make("h3", { text: "Changes" }),
    changes(past.versions.map((version, index) => [JSON.parse(version), past.words[index], past.reasons[index]])),
  );
  say("");
  show("asset");
}

function followButton(collection, asset) {
  const follows = (asset.followers || []).some((follower) => follower.id === me.id);
  const button = make("button", { type: "button", id: "follow", "aria-pressed": String(follows) });
  button.textContent = follows ? "Following" : "Follow";
  button.addEventListener("click", async () => {
    button.disabled = true;
    try {
      await call(follows ? "DELETE" : "PUT", `/${collection}/${asset.id}/followers/${me.id}`);
      await openAsset(collection, asset.id);
      at("follow").focus();
    } catch (error) {
      button.disabled = false;
      say(error.message);
    }
  });
  return button;
}

function named(label, references) {
  const of = (some) => some.map((one) => one.displayName || one.name).join(", ");
  const present = of((references || []).filter((one) => !one.deleted));
  const deleted = of((references || []).filter((one) => one.deleted));
  const note = deleted ? ` (deleted: ${deleted})` : "";
  return make("p", { class: "soft", text: `${label}: ${present || "nobody"}${note}` });
}

function columns(members) {
  if (!members.length) return make("p", { hidden: "" });
  const rows = members.map((one) => {
    const type = one.dataTypeDisplay || one.dataType || one.taskType || "";
    const cells = [one.name, type, one.description || ""].map((text) => make("td", { text }));
    return make("tr", {}, ...cells);
  });
  const titles = ["Name", "Type", "Description"].map((text) => make("th", { scope: "col", text }));
  return make("table", {}, make("thead", {}, make("tr", {}, ...titles)), make("tbody", {}, ...rows));
}

function changes(versions) {
  const lines = versions.map(([version, words, reason]) => {
    const head = `${version.version} · ${version.updatedBy} · ${when(version.updatedAt)}`;
    const said = make("ul", { class: "plain" }, ...words.map((text) => make("li", { text })));
    const why = reason ? [make("div", { text: `Reason: ${reason}` })] : [];
    return make("li", { class: "card" }, make("div", { class: "soft", text: head }), ...why, said);
  });
  return make("ol", { id: "changes" }, ...lines);
}

// ---- the bell

// What rings while the first page is read may not be in it: then it is read again.
async function loadInbox(after) {
  const heard = rings;
  const page = await call("GET", `/users/${me.id}/notifications?limit=20&${INBOX_FIELDS}${after ? `&after=${after}` : ""}`);
  if (!after && heard !== rings) return loadInbox();
  if (!after) at("notifications").replaceChildren();
  page.data.forEach((one) => at("notifications").append(line(one)));
  nextPage = page.paging.after || null;
  at("more-notifications").hidden = !nextPage;
  count(page.counts.unread);
  return page.streamFrom;
}

function line(one) {
  const asset = one.about || { type: one.entityType, id: one.entityId }; // a thread has no page of its own
  const collection = COLLECTION_OF[asset.type];
  const title = collection
    ? make("a", { href: `#/${collection}/${asset.id}`, text: one.title })
    : make("span", { text: one.title });
  const why = `Why: ${one.reasons.map((reason) => reason.sentence).join("; ")}`;
  const entry = make("li", { "data-id": one.id, "data-group": one.group, class: one.read ? "" : "unread" }, title);
  if (one.changes.length > 1) entry.append(make("ul", { class: "plain" }, ...one.changes.map((text) => make("li", { text }))));
  entry.append(...failureFacts(make, one));
  entry.append(make("div", { class: "soft", text: `${one.userName || "a person"} · ${when(one.timestamp)}` }));
  entry.append(make("div", { class: "soft why", text: why }), whyThis(make, me, one), muteControls(make, me, one, muted));
  title.addEventListener("click", () => markRead(entry));
  return entry;
}

async function markRead(entry) {
  if (!isUnread(entry)) return;
  await call("PUT", `/users/${me.id}/notifications/${entry.dataset.id}/read`);
  entry.classList.remove("unread");
  count(Number(at("unread").textContent) - 1);
}

const isUnread = (entry) => entry.classList.contains("unread");

// An entry comes again when more notifications come to it: as it is then, maybe with another id, in the same group.
function ring(one) {
  rings += 1;
  const old = document.querySelector(`[data-group="${CSS.escape(one.group)}"]`);
  const isShown = old?.dataset.id === one.id && old.firstElementChild.textContent === one.title;
  if (isShown && (one.read || isUnread(old))) return;
  const entry = line(one);
  old?.remove();
  at("notifications").prepend(entry);
  count(Number(at("unread").textContent) + isUnread(entry) - (old ? isUnread(old) : 0));
  say(one.title);
}

function count(unread) {
  at("unread").textContent = String(Math.max(0, unread));
  at("bell").classList.toggle("ringing", unread > 0);
  at("no-notifications").hidden = at("notifications").children.length > 0;
}

async function muted(said) {
  say(said);
  await showMutes(make, me, at("mutes"), muted);
}

function showInbox(open) {
  at("inbox").hidden = !open;
  at("preferences").open = false;
  at("bell").setAttribute("aria-expanded", String(open));
}

at("bell").addEventListener("click", async () => {
  const open = at("inbox").hidden;
  showInbox(open);
  if (open) await showMutes(make, me, at("mutes"), muted);
});
at("preferences").addEventListener("toggle", async () => {
  if (at("preferences").open) await showPreferences(make, me, at("preferences").querySelector("form"), say);
});
at("read-all").addEventListener("click", async () => {
  await call("PUT", `/users/${me.id}/notifications/read`);
  await loadInbox();
});
at("more-notifications").addEventListener("click", () => loadInbox(nextPage));

start();

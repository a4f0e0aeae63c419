// Client of the API: JSON over fetch, with this tab's token.

const KEY = "tocsin.token";

export const token = () => sessionStorage.getItem(KEY);
export const forgetToken = () => sessionStorage.removeItem(KEY);

export async function call(method, path, body, further = {}) {
  const headers = { "Content-Type": "application/json", ...further };
  if (token()) headers.Authorization = `Bearer ${token()}`;
  const request = { method, headers, body: body && JSON.stringify(body) };
  const response = await fetch(`/api/v1${path}`, request).catch(() => {
    throw new Error("Tocsin cannot be reached. Try again in a moment.");
  });
  const answer = await response.json().catch(() => null);
  if (!response.ok) throw new Error(answer?.message || `The server answered ${response.status}.`);
  return answer;
}

export async function logIn(email, password) {
  const encoded = btoa(String.fromCharCode(...new TextEncoder().encode(password)));
  const answer = await call("POST", "/users/login", { email, password: encoded });
  sessionStorage.setItem(KEY, answer.accessToken);
}

// After an OpenID Connect log-in the fragment, which browsers never send to a server, holds a code. It is worth
// nothing in a browser that did not begin that log-in: nobody can be logged in by a link.
export async function finishLogIn() {
  const code = new URLSearchParams(location.hash.slice(1)).get("login");
  if (!code) return;
  history.replaceState(null, "", location.pathname);
  const answer = await call("POST", "/auth/token", { code });
  sessionStorage.setItem(KEY, answer.accessToken);
}

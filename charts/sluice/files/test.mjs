// `helm test`: sends requests to every part from inside the cluster, as the part's clients do.
// It uses http.request, because Node's fetch cannot set Host.
import { request } from "node:http";

const { OPERATOR, PROXY, ADMIN, ADMIN_TOKEN, USERS, USERS_HOST, USERS_KEY } = process.env;

const ask = (url, { method = "GET", headers = {}, body } = {}) =>
  new Promise((resolve, reject) => {
    const asked = request(url, { method, headers, timeout: 5000 }, (response) => {
      let text = "";
      response.on("data", (chunk) => {
        text += chunk;
      });
      response.on("end", () => resolve({ status: response.statusCode, text }));
    });
    asked.on("timeout", () => asked.destroy(new Error("no answer within 5 seconds")));
    asked.on("error", reject);
    asked.end(body);
  });

const query = JSON.stringify({ query: "{ users(first: 1) { id } }" });
const json = { "content-type": "application/json", ...(USERS_HOST && { host: USERS_HOST }) };
const post = (headers) => ask(`${PROXY}${USERS}`, { method: "POST", headers: { ...json, ...headers }, body: query });

const tests = [
  ["the operator is ready", () => ask(`${OPERATOR}/readyz`), ({ status }) => status === 200],
  ["the gateway answers", () => ask(`${PROXY}/`), ({ status }) => status < 500],
];
if (ADMIN)
  tests.push(
    ["the admin API asks for its token", () => ask(`${ADMIN}/services`), ({ status }) => status === 401],
    [
      "the admin API lists services",
      () => ask(`${ADMIN}/services`, { headers: { "kong-admin-token": ADMIN_TOKEN } }),
      ({ status }) => status === 200,
    ],
  );
if (USERS)
  tests.push(
    ["the user API asks for a key", () => post({}), ({ status }) => status === 401],
    [
      "the user API answers a query",
      () => post({ apikey: USERS_KEY }),
      ({ status, text }) => status === 200 && "data" in JSON.parse(text),
    ],
  );

for (const [what, act, holds] of tests) {
  const answer = await act().catch((error) => ({ status: 0, text: error.message }));
  const held = holds(answer);
  console.log(`${held ? "ok" : "FAILED"} ${what}${held ? "" : `: ${answer.status} ${answer.text.slice(0, 500)}`}`);
  if (!held) process.exitCode = 1;
}

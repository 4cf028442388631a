/** The commands that talk to the admin API, with a node and an admin listener in this process. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { waitFor } from "../../../../tools/process/index.ts";
import { makeAuthority } from "../../../../tools/programs/certificates.ts";
import { type ClientRig, startClientRig } from "./testing-client.ts";

const configuration = `_format_version: "3.0"
services:
- name: shop
  url: http://127.0.0.1:9/v1
  routes:
  - name: shop
    hosts: [shop.example]
    tags: [blue]
  plugins:
  - name: key-auth
- name: stock
  host: stock.example
  routes:
  - name: stock
    paths: [/stock]
upstreams:
- name: stock.example
consumers:
- username: ann
  keyauth_credentials:
  - key: key-of-ann
`;

let rig: ClientRig;
const run: ClientRig["run"] = (words, env) => rig.run(words, env);

before(async () => {
  rig = await startClientRig(configuration);
});
after(() => rig.close());

const explained = ["explain", "GET", "http://shop.example/cart"];
const traced = ["trace", "http://shop.example/cart", "--proxy-url", "PROXY"];

const rows: readonly (readonly [
  does: string,
  words: readonly string[],
  code: number,
  output: RegExp,
  env?: Readonly<Record<string, string>>,
])[] = [
  [
    "explain shows why the gateway answers a request itself",
    explained,
    3,
    /^The gateway answers 401 Unauthorized: the plugin key-auth answered: No API key found in request\n[\s\S]*\nRoute: +shop\n[\s\S]*\nanswered +key-auth +[\da-f-]{36} +service shop/,
  ],
  [
    "explain shows the upstream of a forwarded request",
    [...explained, "-H", "apikey: key-of-ann"],
    0,
    /^The request is forwarded to http:\/\/127\.0\.0\.1:9\/v1\/cart\n[\s\S]*\nConsumer: +ann\n/,
  ],
  [
    "explain shows why no route matches",
    ["explain", "GET", "http://other.example/"],
    3,
    /404 Not Found: no route matches\n[\s\S]*\nno match +shop +- +the request's host other\.example is not the route's host shop\.example\n/,
  ],
  [
    "explain gives a logged line as the reason for a 503",
    ["explain", "GET", "http://a.example/stock"],
    3,
    /^The gateway answers 503 Service Unavailable: the upstream failed: no target accepts requests\n/,
  ],
  ["explain needs no method", ["explain", "http://shop.example/cart"], 3, /\nRequest: +GET http:/],
  ["explain assumes POST for a body", ["explain", "http://shop.example/", "--body", "a"], 3, /\nRequest: +POST http:/],
  ["explain refuses a missing URL", ["explain"], 2, /^missing required argument 'URL'$/],
  ["explain prints the explanation as JSON", [...explained, "-o", "json"], 3, /"route": \{\n {4}"id": /],
  ["--json is short for -o json", [...explained, "--json"], 3, /"route": \{\n {4}"id": /],
  [
    "--json and another format are refused",
    [...explained, "--json", "-o", "yaml"],
    2,
    /option '--json' cannot be used with option '-o, --output <FORMAT>'/,
  ],
  [
    "explain refuses a header without a value",
    [...explained, "-H", "apikey"],
    2,
    /^-H 'apikey': expected 'NAME: VALUE'$/,
  ],
  [
    "explain shows the errors of an invalid description",
    ["explain", "A B", "http://a/"],
    1,
    /answered 400: .*\n\{"method":"expected a method such as GET"\}$/,
  ],
  [
    "trace shows decisions and durations of a request, whose host is that of the URL",
    [...traced, "-H", "apikey: key-of-ann"],
    0,
    /^Response: {2}502 Bad Gateway after [\d.]+ ms\nTrace id: {2}[\da-f]+\n\nDECISION .*\nroute +shop\nservice +shop\nconsumer +ann\nplugin-key-auth +ran +[\d.]+\ngateway +[\d.]+\nfailed-try-1 +127\.0\.0\.1:9 +[\d.]+\n[\s\S]*\ntotal +[\d.]+\n$/,
  ],
  [
    "trace prints the status, the trace id and the timings as JSON",
    [...traced, "-X", "PUT", "--data", "{}", "--json"],
    0,
    /^\{\n {2}"status": 401,\n[\s\S]*"token_accepted": true,\n {2}"trace_id": "[\da-f]+",[\s\S]*\n {6}"name": "plugin-key-auth",\n {6}"duration": [\d.]+,\n {6}"description": "answered"\n/,
  ],
  [
    "trace states that a server did not accept the token, and names the nodes that know it",
    ["trace", "ADMIN/status"],
    3,
    /^Response: {2}200 OK .*\n\nThe debug token was not accepted.*\n.*\nNodes that know the token: 127\.0\.0\.1:\d+\n$/,
  ],
  ["trace sends a given Host", ["trace", "PROXY/cart", "-H", "Host: shop.example"], 0, /\nroute +shop\n/],
  ["trace refuses an invalid method", [...traced, "-X", "A B"], 2, /^invalid request method$/],
  [
    "trace reports that the proxy cannot be reached",
    ["trace", "http://shop.example/", "--proxy-url", "http://127.0.0.1:1"],
    1,
    /^the request to http:\/\/127\.0\.0\.1:1 failed: connect ECONNREFUSED .* name it with --proxy-url$/,
  ],
  [
    "trace refuses a proxy with a path",
    ["trace", "http://shop.example/", "--proxy-url", "PROXY/shop"],
    2,
    /^--proxy-url: expected a URL without a path/,
  ],
  [
    "bench shows the rate, latencies and statuses, and how many requests the gateway refused",
    // As many connections as requests: otherwise a request may find none free on a busy machine.
    ["bench", "http://shop.example/cart", "--proxy-url", "PROXY", "-c", "50", "--rate", "50", "--seconds", "1"],
    0,
    /^Responses: +50 in [\d.]+ s, [\d.]+\/s\nLatency: +p50 [\d.]+ ms, p90 .*, p99 .*, max .*\nRefused: +50\n\nSTATUS OR ERROR +REQUESTS\n401 +50\n$/,
  ],
  [
    "bench reports that the proxy cannot be reached",
    ["bench", "http://127.0.0.1:1/"],
    1,
    /^the request to http:\/\/127\.0\.0\.1:1 failed: connect ECONNREFUSED .* name it with --proxy-url$/,
  ],
  [
    "bench refuses a number beyond its limit",
    ["bench", "PROXY/", "-c", "10001"],
    2,
    /^--connections: expected at most /,
  ],
  [
    "top shows rates and percentiles",
    ["top", "--by", "services", "--once"],
    0,
    /^The last complete 10 seconds on 1 node:\nSERVICE +REQUESTS\/S .*\n\(all requests\) +[\d.]+ /,
  ],
  [
    "top shows the operations of GraphQL services",
    ["top", "--by", "operations", "--once"],
    0,
    /\nOPERATION +DOCUMENT +TYPE +SERVICE +FAILED\/S +REQUESTS\/S .*\n\(all requests\) +- +- +- +- +[\d.]+ /,
  ],
  ["top prints the figures as YAML", ["top", "-o", "yaml"], 0, /^seconds: 10\ntotal:\n {2}requests: /],
  ["top refuses an interval of zero", ["top", "--interval", "0"], 2, /^--interval: expected at least 1$/],
  ["logs refuses an invalid status", ["logs", "--status", "4xx"], 2, /^--status: expected a status such as 404, or 4 /],
  [
    "status shows the nodes",
    ["status"],
    0,
    /\nNODE .*\n127\.0\.0\.1:\d+ +1 +[0-9a-f]{12} .* ok\n\nThe configuration is served/,
  ],
  ["get lists entities with their references", ["get", "routes"], 0, /\nshop +service shop +shop\.example +blue\n/],
  ["get lists the entities with a tag", ["get", "routes", "--tag", "blue"], 0, /^NAME.*\nshop .*\n$/],
  ["get wide shows file and line", ["get", "routes", "-o", "wide"], 0, /\nstock .* sluice\.yml:14:5\n/],
  [
    "get shows one entity as YAML",
    ["get", "services", "stock", "-o", "yaml"],
    0,
    /^id: .*[\s\S]*\nhost: stock\.example\n/,
  ],
  [
    "get does not show a key as a name",
    ["get", "keyauth_credentials"],
    0,
    /^NAME +REFERENCES\n[0-9a-f-]{36} +consumer ann\n$/,
  ],
  [
    "get lists plugins with their ids",
    ["get", "plugins"],
    0,
    /^NAME +ENABLED +REFERENCES +ID\nkey-auth +true +service shop +[0-9a-f-]{36}\n$/,
  ],
  ["get accepts the singular", ["get", "service", "shop", "--json"], 0, /"name": "shop"/],
  ["get refuses an unknown collection", ["get", "rotes"], 2, /Allowed choices are services, routes, /],
  [
    "describe shows place, references and plugins",
    ["describe", "routes", "shop"],
    0,
    /\nWritten in: +sluice\.yml:6:5\nRefers to: +service shop\n[\s\S]*\nkey-auth +service shop +applies +[0-9a-f-]{36}\n/,
  ],
  [
    "describe accepts the name of a plugin that has one instance",
    ["describe", "plugin", "key-auth"],
    0,
    /^plugins\/key-auth\n\nId: .*[\s\S]*\nRefers to: +service shop\n/,
  ],
  [
    "describe prints YAML, with secrets redacted",
    ["describe", "consumer", "ann", "-o", "yaml"],
    0,
    /^label: consumers\/ann\norigin:\n {2}in: file\n {2}place: sluice\.yml:\d+:\d+\nreferences: \[\]\nentity:\n {2}id: /,
  ],
  ["describe names an unknown entity", ["describe", "routes", "shp"], 1, /^http:.* has no route 'shp'$/],
  [
    "an admin API that cannot be reached is named, with what to change",
    ["status"],
    1,
    /^the admin API at http:\/\/127\.0\.0\.1:1\/ cannot be reached: connect ECONNREFUSED 127\.0\.0\.1:1\. .*--admin-url, SLUICE_ADMIN_URL or, in a cluster, --context$/,
    { SLUICE_ADMIN_URL: "http://127.0.0.1:1" },
  ],
  [
    "a kubeconfig that cannot be used is reported",
    ["status", "--kubeconfig", "/none"],
    1,
    /^the kubeconfig cannot be read: ENOENT/,
  ],
  [
    "a missing token is reported, with what to change",
    ["get", "routes"],
    1,
    /refuses the caller \(401: .*\)\. Set SLUICE_ADMIN_TOKEN, or name a file with the token by --admin-token-file$/,
    { SLUICE_ADMIN_TOKEN: "" },
  ],
];

for (const [does, words, code, output, env] of rows) {
  test(does, async () => {
    const [ended, printed] = await run(words, env);
    assert.match(printed, output);
    assert.equal(ended, code);
  });
}

test("status and describe name a certificate by its subject, and the SNI that it does not cover", async () => {
  const authority = await makeAuthority();
  const pair = await authority.issue({ name: "portal.example", sans: ["portal.example"], usage: "server" });
  const id = "11111111-1111-4111-8111-111111111111";
  const valid = readFileSync(rig.file, "utf8");
  const entity = { id, cert: pair.certificate, key: pair.key, snis: [{ name: "checkout.example" }] };
  writeFileSync(rig.file, `${valid}certificates: ${JSON.stringify([entity])}\n`);
  try {
    await waitFor(async () => (await run(["status"]))[1].includes("attention"), { what: "the warning" });
    const [code, printed] = await run(["status"]);
    assert.equal(code, 0);
    const fault = "does not cover checkout\\.example \\(it covers portal\\.example\\)";
    assert.match(printed, new RegExp(`\nThe certificate of SNI checkout\\.example ${fault}\\.\n`));
    assert.match(printed, /\nThe certificate CN=portal\.example \(SNI checkout\.example\) expires at /);
    const [, described] = await run(["describe", "certificates", id]);
    assert.match(
      described,
      /\nCertificate:\n {2}subject: CN=portal\.example\n {2}issuer: .*\n {2}alternative_names:\n {4}- portal\.example\n {2}not_before: .*\n {2}not_after: .*\n/,
    );
    assert.match(described, new RegExp(`\nThe certificate ${fault}\n`));
    assert.doesNotMatch(described, /PRIVATE KEY/);
  } finally {
    writeFileSync(rig.file, valid);
    await waitFor(async () => !(await run(["status"]))[1].includes("attention"), { what: "the former file" });
  }
});

test("status names the fleet of each node, if nodes get different documents", async () => {
  const node = { revision: 3, hash: "0123456789abcdef", version: "0.1.0", trouble: null };
  const nodes = [
    { address: "https://10.0.0.1:8005", fleet: "shared", ...node },
    { address: "https://10.0.0.2:8005", fleet: "gateway-web-0123456789", ...node },
  ];
  const fleet = { reachable: true, revision: 3, nodes };
  const bodies: Readonly<Record<string, object>> = {
    "/status": { sluice: { store: "cluster", version: "0.1.0", unread: [], fleet } },
    "/problems": { data: [], total: 0 },
  };
  const admin = createServer((request, response) => {
    response.end(JSON.stringify(bodies[request.url ?? ""] ?? { data: [], next: null }));
  });
  await once(admin.listen(0, "127.0.0.1"), "listening");
  try {
    const url = `http://127.0.0.1:${(admin.address() as AddressInfo).port}`;
    const [code, printed] = await run(["status"], { SLUICE_ADMIN_URL: url });
    assert.match(printed, /\nNODE +FLEET +REVISION .*\n.*:8005 +shared +3 .*\n.*:8005 +gateway-web-0123456789 +3 /);
    assert.equal(code, 0);
  } finally {
    admin.close();
  }
});

test("status and describe show that a target is refused", async () => {
  const valid = readFileSync(rig.file, "utf8");
  writeFileSync(rig.file, valid.replace("- name: stock.example\n", "$&  targets:\n  - target: 169.254.169.254:80\n"));
  try {
    await waitFor(async () => (await run(["status"]))[1].includes("attention"), { what: "the warning" });
    const [, described] = await run(["describe", "upstreams", "stock.example"]);
    assert.match(described, /\nTargets:\n.*\n169\.254\.169\.254:80 +100 +not checked +refused: .* link-local /);
    const [code, printed] = await run(["status"]);
    assert.equal(code, 0);
    assert.match(
      printed,
      /\nThe configuration is served.*\n\nNeeds attention:\nThe target 169\.254\.169\.254:80 of stock\.example is refused: .* link-local address, .*\.\n$/,
    );
  } finally {
    writeFileSync(rig.file, valid);
    await waitFor(async () => !(await run(["status"]))[1].includes("attention"), { what: "the former file" });
  }
});

const changed = configuration.replace("paths: [/stock]", "paths: [/store]").replace(/consumers:[\s\S]*/, "");

test("plan shows members and requests that change, and a saved plan is applied once", async () => {
  const wanted = join(rig.folder, "wanted.yml");
  const saved = join(rig.folder, "plan.json");
  writeFileSync(wanted, changed);
  assert.deepEqual(await run(["diff", "-f", wanted]), [
    1,
    '~ routes/stock\n-   paths: ["/stock"]\n+   paths: ["/store"]\n',
  ]);
  assert.match((await run(["diff", "-f", wanted, "--prune"]))[1], /\n- consumers\/ann\n/);
  const [code, plan] = await run(["plan", "-f", wanted, "--out", saved]);
  assert.equal(code, 0);
  assert.match(
    plan,
    /\nPlan: 0 to create, 1 to change, 0 to delete\.\n[\s\S]*\n {2}GET https?:\/\/\S+\/stock.*\n {4}route: stock \(service stock\) -> no route\n/,
  );
  assert.equal(statSync(saved).mode & 0o777, 0o600);
  assert.match((await run(["apply", saved]))[1], /\napplied: 0 created, 1 changed, 0 deleted\n$/);
  assert.deepEqual(await run(["diff", "-f", wanted]), [0, ""]);
  assert.match(
    (await run(["apply", saved]))[1],
    /^the configuration has changed since the plan, and nothing was written: plan again$/,
  );
  assert.match(
    (await run(["apply", "-f", rig.file.replace("sluice.yml", "wanted.yml"), "--prune", "--yes"]))[1],
    /\napplied: .* 2 deleted\n$/,
  );
});

test("apply refuses a file that is not a plan, and an invalid declarative file with line and column", async () => {
  const broken = join(rig.folder, "broken.yml");
  writeFileSync(broken, "services:\n- name: a\n  port: x\n");
  assert.match((await run(["apply", broken]))[1], /broken\.yml is not a plan: /);
  assert.match((await run(["plan", "-f", broken]))[1], /\nbroken\.yml:3:3: services\[0\]\.port: expected an integer/);
  assert.match((await run(["apply"]))[1], /^name a saved PLAN, or give --file$/);
});

test("status lists the errors of the file with line and column, and exits with 3", async () => {
  const valid = readFileSync(rig.file, "utf8");
  writeFileSync(rig.file, `${valid}routes: [\n`);
  try {
    await waitFor(async () => (await run(["status"]))[0] === 3, { what: "the status to report the file" });
    assert.match(
      (await run(["status"]))[1],
      /\nNot served as written:\nsluice\.yml:\d+:\d+\n {2}.*is not closed.*\n {2}Correct this line\. /,
    );
  } finally {
    writeFileSync(rig.file, valid);
  }
});

/** Explanations as text, without an admin API. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ExplainingNode, FleetExplanation, RouteCandidate } from "@sluice/model";
import { explanationText } from "./explanation-text.ts";

const candidate = (name: string, result: RouteCandidate["result"], reason = "it matches"): RouteCandidate => ({
  route: { id: name, name },
  path: "/",
  result,
  attribute: result === "no match" ? "path" : null,
  reason,
});
const others = Array.from({ length: 7 }, (_, at) => candidate(`other-${at}`, "no match", "the path does not match"));

const node = (name: string, members: Partial<ExplainingNode> = {}): ExplainingNode => ({
  node: name,
  revision: 3,
  unanswered: null,
  differences: [],
  ...members,
});

const explanation: FleetExplanation = {
  node: "node-1:8100",
  connection: null,
  handshake: {
    server_name: "checkout.example",
    sni: "*.example",
    certificate: {
      id: "c1",
      subject: "CN=portal.example",
      issuer: "CN=ca",
      alternative_names: ["portal.example"],
      not_before: "2026-01-01T00:00:00.000Z",
      not_after: "2027-01-01T00:00:00.000Z",
    },
  },
  warnings: ["X-Real-IP is ignored"],
  request: {
    method: "GET",
    scheme: "https",
    host: "checkout.example",
    path: "/",
    client_address: "127.0.0.1",
    trusted_ips: [],
    real_ip_header: "x-real-ip",
  },
  listener: "team/web/https",
  route: { id: "r", name: "r" },
  service: null,
  consumer: null,
  candidates: [],
  other_candidates: 2,
  plugins: [
    { id: "p", label: "shop/keys", name: "key-auth", scope: {}, result: "ran", reason: null, identifies: true },
  ],
  counters: [],
  upstream: null,
  closed: null,
  response: null,
  log: [],
  unknown: null,
  nodes: [node("node-1:8100")],
};

const matching = [candidate("r", "chosen"), candidate("lost", "lost"), ...others];

const connection = {
  protocol: "tls",
  client_address: "192.0.2.1",
  client_port: null,
  destination_address: "10.0.0.7",
  port: 9443,
  server_name: "mail.example",
} as const;

const rows: readonly (readonly [does: string, members: Partial<FleetExplanation>, all: boolean, output: RegExp])[] = [
  ["warnings follow the result", {}, false, /^The request is forwarded\n\nWarning: X-Real-IP is ignored\n\nRequest: /],
  [
    "the certificate has its subject, names, SNI and expiry",
    {},
    false,
    /\nTLS: +certificate CN=portal\.example \(portal\.example\) by SNI \*\.example, expires 2027-01-01T00:00:00\.000Z, id c1\n/,
  ],
  [
    "a connection is shown with its protocol, destination, server name and source",
    { request: null, connection },
    false,
    /^The connection is forwarded\n[\s\S]*\nConnects: +tls to 10\.0\.0\.7:9443 for mail\.example from 192\.0\.2\.1\n/,
  ],
  [
    "a connection to the listener of a Gateway has only a port",
    { request: null, connection: { ...connection, client_port: 700, destination_address: null, server_name: null } },
    false,
    /\nConnects: +tls to port 9443 from 192\.0\.2\.1:700\n/,
  ],
  [
    "the reason why a connection is closed comes first",
    { request: null, connection, closed: { status: 403, reason: "IP address not allowed: 192.0.2.1" } },
    false,
    /^The gateway closes the connection: IP address not allowed: 192\.0\.2\.1\n/,
  ],
  [
    "the upstream of a connection has no method",
    {
      request: null,
      connection,
      upstream: {
        ...{ method: null, url: "tcp://mail:25", path_changes: [], headers: [], algorithm: "round-robin" },
        ...{ targets: [], target: null },
      },
    },
    false,
    /^The connection is forwarded to tcp:\/\/mail:25\n[\s\S]*\nConnection to the upstream:\n {2}tcp:\/\/mail:25\n/,
  ],
  ["the only node is named", {}, false, /\nNode: +node-1:8100\n/],
  [
    "all nodes are said to agree",
    { nodes: [node("node-1:8100"), node("node-2:8100")] },
    false,
    /\nNode: +node-1:8100 \(all 2 nodes agree\)\n/,
  ],
  [
    "the nodes that agree are counted",
    {
      nodes: [
        node("node-1:8100"),
        node("node-2:8100", { unanswered: "no response" }),
        node("node-3:8100", { differences: [{ about: "route", here: null, explained: "r" }] }),
      ],
    },
    false,
    /\nNode: +node-1:8100 \(1 of 3 nodes agree\)\n/,
  ],
  ["it is shown that no proxy is trusted", {}, false, /\nTrusted: +no proxy \(SLUICE_TRUSTED_IPS\)/],
  ["a plugin has the name of its instance", {}, false, /\nran +key-auth +shop\/keys +all requests/],
  [
    "routes that do not match are counted if another does",
    { candidates: matching },
    false,
    /\nRESULT .*\nchosen +r .*\nlost +lost .*\n9 further routes do not match \(--size NUMBER lists them\)\n/,
  ],
  [
    "the nearest routes are listed if none matches",
    { candidates: others },
    false,
    /\nRoutes, the nearest first:\n.*\n(?:no match .*\n){5}4 further routes do not match /,
  ],
  [
    "all routes are listed on demand",
    { candidates: matching },
    true,
    /\nlost .*\n(?:no match .*\n){7}2 further routes /,
  ],
  [
    "a counter has the node that counts, and the requests that it counts",
    {
      counters: [{ plugin: "p", period: "hour", limit: 5, count: 5, counted_by: "counted by service", per_node: true }],
    },
    false,
    /\nkey-auth +hour +5 of 5 +counted by service, on the node node-1:8100 only\n/,
  ],
];
const control = "\x1b[2J";
const answered = {
  id: "p",
  label: "acl",
  name: "acl",
  scope: {},
  result: "answered",
  reason: control,
  identifies: false,
} as const;
const response = { status: 403, headers: [["x", control]], body: `a${control}\nb` } as const;

test("no control character of a configuration or a request reaches the terminal", () => {
  const text = explanationText(
    { ...explanation, warnings: [control], plugins: [answered], response, log: [control] },
    { all: true },
  );
  assert.doesNotMatch(text.replaceAll("\n", ""), /\p{Cc}/u);
  assert.match(text, /^The gateway answers 403 Forbidden: the plugin acl answered: \\x1b\[2J\n/);
  assert.match(text, /\n {2}a\\x1b\[2J\n {2}b\n/);
  assert.match(
    explanationText({ ...explanation, unknown: control }, { all: true }),
    /^The result is unknown: \\x1b\[2J\n/,
  );
});

for (const [does, members, all, output] of rows)
  test(does, () => assert.match(explanationText({ ...explanation, ...members }, { all }), output));

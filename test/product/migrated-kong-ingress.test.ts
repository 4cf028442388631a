/**
 * A node answers requests as Kong's ingress controller would have it, once an operator reads the resources that
 * `sluice migrate kubernetes --write` made of its objects. Requests whose protection was not converted get 503.
 */
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { builtProgram } from "../../tools/build/programs.ts";
import { freePort, type Process, startProcess, temporaryFolder, waitFor } from "../../tools/process/index.ts";

const folder = temporaryFolder("migrated-kong-ingress");
const token = "push-token-of-the-test";
const sluice = await builtProgram("gateway");
/** Answers with the Host and the URL that it got. */
const upstream = createServer(({ headers, url }, response) => response.end(`${headers.host} ${url}`));
const running: Process[] = [];
after(async () => {
  await Promise.all(running.map((process) => process.stop()));
  upstream.close();
  folder.remove();
});

const path = (path: string, pathType: string, service = "web") =>
  `{ path: '${path}', pathType: ${pathType}, backend: { service: { name: ${service}, port: { number: 80 } } } }`;

const ingress = (name: string, annotations: string, ...paths: readonly string[]) => `---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: { name: ${name}, namespace: shop, annotations: { ${annotations} } }
spec:
  ingressClassName: kong
  rules: [{ host: ${name}.example, http: { paths: [${paths.join(", ")}] } }]
`;

const plugin = (name: string, type: string, config: string) => `---
apiVersion: configuration.konghq.com/v1
kind: KongPlugin
metadata: { name: ${name}, namespace: shop }
plugin: ${type}
config: ${config}
`;

const service = (name: string) => `---
apiVersion: v1
kind: Service
metadata: { name: ${name}, namespace: shop }
spec: { ports: [{ name: http, port: 80 }] }
`;

const objects = [
  ingress("plain", "", path("/", "Prefix"), path("/exact", "Exact", "none")),
  ingress("strip", 'konghq.com/strip-path: "true"', path("/api", "Prefix"), path("/start", "ImplementationSpecific")),
  ingress("host", 'konghq.com/preserve-host: "false", konghq.com/host-aliases: alias.example', path("/", "Prefix")),
  ingress("rewrite", "konghq.com/rewrite: /v1/$1", path("/~/users/(\\d+)", "ImplementationSpecific")),
  ingress("methods", "konghq.com/methods: get, konghq.com/headers.x-tier: gold", path("/", "Prefix")),
  ingress("tls", 'konghq.com/protocols: https, konghq.com/https-redirect-status-code: "308"', path("/", "Prefix")),
  ingress("keyed", "konghq.com/plugins: keys", path("/", "Prefix")),
  ingress("denied", "konghq.com/plugins: 'keys, deny'", path("/", "Prefix")),
  ingress("foreign", "konghq.com/plugins: oauth", path("/", "Prefix")),
  ingress("missing", "konghq.com/plugins: nowhere", path("/", "Prefix")),
  ingress("unknown", "konghq.com/plugins: keys", path("/", "Prefix", "unknown")),
  ingress("look", "konghq.com/plugins: keys", path("/~/admin/(?!x)", "ImplementationSpecific"), path("/", "Prefix")),
  plugin("keys", "key-auth", "{ key_names: [apikey] }"),
  plugin("deny", "acl", "{ deny: [banned] }"),
  plugin("oauth", "oauth2", "{ scopes: [a] }"),
  service("web"),
  service("none"),
  `---
apiVersion: configuration.konghq.com/v1
kind: KongClusterPlugin
metadata: { name: header, labels: { global: "true" }, annotations: { kubernetes.io/ingress.class: kong } }
plugin: response-transformer
config: { add: { headers: [ "x-global:yes" ] } }
---
apiVersion: v1
kind: List
items:
`,
  ...["alice", "eve"].map(
    (name) => `- apiVersion: configuration.konghq.com/v1
  kind: KongConsumer
  metadata: { name: ${name}, namespace: people, annotations: { kubernetes.io/ingress.class: kong } }
  username: ${name}
  credentials: [${name}-key${name === "eve" ? ", eve-group" : ""}]
- apiVersion: v1
  kind: Secret
  metadata: { name: ${name}-key, namespace: people, labels: { konghq.com/credential: key-auth } }
  stringData: { key: of-${name} }
`,
  ),
  `- apiVersion: v1
  kind: Secret
  metadata: { name: eve-group, namespace: people, labels: { konghq.com/credential: acl } }
  stringData: { group: banned }
`,
].join("");

/** What the cluster has besides the written resources. */
const others = (port: number) => `${service("web")}${service("none")}---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { name: web-1, namespace: shop, labels: { kubernetes.io/service-name: web } }
addressType: IPv4
ports: [{ name: http, port: ${port}, protocol: TCP }]
endpoints: [{ addresses: [127.0.0.1], conditions: { ready: true } }]
`;

let proxy = 0;

/** Resolves to the status, and to the body of a response of the upstream. */
function send(line: string, headers: Readonly<Record<string, string>> = {}) {
  const [, method, host, url] = /^(?:(\w+) )?([^/]+)(.*)$/.exec(line) ?? [];
  return new Promise<readonly [number | undefined, string | undefined, string | undefined]>((resolve, reject) => {
    const sent = request(
      { port: proxy, method: method ?? "GET", path: url, headers: { host, ...headers } },
      (response) => {
        let body = "";
        response.setEncoding("utf8").on("data", (text: string) => {
          body += text;
        });
        response.on("end", () => {
          const { statusCode: status, headers } = response;
          resolve([status, status === 200 ? body : undefined, headers["x-global"] as string | undefined]);
        });
      },
    );
    sent.on("error", reject).end();
  });
}

before(async () => {
  await new Promise<void>((resolve) => upstream.listen(0, "127.0.0.1", resolve));
  const { port } = upstream.address() as AddressInfo;
  writeFileSync(join(folder.path, "kong.yaml"), objects);
  const args = ["migrate", "kubernetes", "-f", "kong.yaml", "--write", "resources"];
  const command = await startProcess(sluice, args, { name: "migrate", cwd: folder.path });
  assert.equal((await command.ended()).code, 3, command.output());
  mkdirSync(join(folder.path, "resources/cluster"));
  writeFileSync(join(folder.path, "resources/cluster/others.yaml"), others(port));
  const [push, status, operatorPort] = [await freePort(), await freePort(), await freePort()];
  proxy = await freePort();
  running.push(
    await startProcess(sluice, ["gateway"], {
      name: "node",
      ready: /gateway is up/,
      cwd: folder.path,
      env: {
        SLUICE_PUSH_TOKEN: token,
        SLUICE_PUSH_LISTEN: `127.0.0.1:${push}`,
        SLUICE_PROXY_LISTEN: `127.0.0.1:${proxy}`,
        SLUICE_STATUS_LISTEN: `127.0.0.1:${status}`,
        SLUICE_ALLOWED_UPSTREAMS: "127.0.0.0/8",
      },
    }),
    await startProcess(await builtProgram("operator"), [], {
      name: "operator",
      ready: /operator is up/,
      cwd: folder.path,
      env: {
        SLUICE_DIRECTORY: "resources",
        SLUICE_OPERATOR_LISTEN: `127.0.0.1:${operatorPort}`,
        SLUICE_NODES: `http://127.0.0.1:${push}`,
        SLUICE_PUSH_TOKEN: token,
      },
    }),
  );
  await waitFor(async () => (await send("plain.example/"))[0] === 200, { what: "the node to serve the resources" });
});

const alice = { apikey: "of-alice" };
const gold = { "x-tier": "gold" };

const rows: readonly (readonly [
  line: string,
  headers: Readonly<Record<string, string>>,
  status: number,
  body?: string,
])[] = [
  ["plain.example/x", {}, 200, "plain.example /x"],
  ["plain.example/exact", {}, 503],
  ["strip.example/api/x", {}, 200, "strip.example /x"],
  ["strip.example/api", {}, 200, "strip.example /"],
  ["strip.example/apix", {}, 404],
  ["strip.example/starting", {}, 200, "strip.example /ing"],
  ["host.example/x", {}, 200, "web.shop.svc /x"],
  ["alias.example/x", {}, 200, "web.shop.svc /x"],
  ["rewrite.example/users/7", {}, 200, "rewrite.example /v1/7"],
  ["rewrite.example/users/x", {}, 404],
  ["methods.example/", gold, 200, "methods.example /"],
  ["methods.example/", {}, 404],
  ["POST methods.example/", gold, 404],
  ["tls.example/", {}, 308],
  ["keyed.example/", {}, 401],
  ["keyed.example/", alice, 200, "keyed.example /"],
  ["denied.example/", alice, 200, "denied.example /"],
  ["denied.example/", { apikey: "of-eve" }, 403],
  ["foreign.example/", alice, 503],
  ["missing.example/", alice, 503],
  ["unknown.example/", alice, 503],
  ["look.example/admin/y", alice, 503],
  ["other.example/", {}, 404],
];

for (const [line, headers, status, body] of rows) {
  test(`${line} with ${JSON.stringify(headers)} is answered ${status}`, async () => {
    assert.deepEqual((await send(line, headers)).slice(0, 2), [status, body]);
  });
}

test("a global plugin acts on Ingresses that stay, and on those that became Routes", async () => {
  assert.equal((await send("plain.example/"))[2], "yes");
  assert.equal((await send("keyed.example/", alice))[2], "yes");
});

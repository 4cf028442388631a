/**
 * The annotations auth-tls-* of ingress-nginx, on a real nginx and on Sluice. nginx gets the configuration that
 * ingress-nginx generates for the hosts; Sluice gets the document that the operator derives from the Ingresses.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { Agent, request as sendRequest } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { startFileNode } from "../../../gateway/src/testing-file-node.ts";
import { connectToPort, freePort, startProcess, temporaryFolder } from "../../../tools/process/index.ts";
import { type KeyPair, makeAuthority, type TestAuthority } from "../../../tools/programs/certificates.ts";
import { obtainTool } from "../../../tools/programs/tool.ts";
import { nginxConfig } from "../../bench/proxy/nginx.ts";
import { goldenOutcome, readResources } from "../../golden/outcome.ts";
import { headers } from "./nginx.ts";
import { backendResources } from "./resources.ts";

const folder = temporaryFolder("client-certificates");
after(() => folder.remove());

const [authority, stranger, web] = [
  await makeAuthority("clients"),
  await makeAuthority("strangers"),
  await makeAuthority(),
];
const intermediate = await authority.delegate("intermediate");
const second = await intermediate.delegate("second");
const client = (issuer: TestAuthority, options: { readonly notAfter?: Date } = {}) =>
  issuer.issue({ name: "machine", organizations: ["Shop"], usage: "client", ...options });

/** A client certificate followed by the intermediate certificates that the client sends. */
const chained = (pair: KeyPair, ...above: readonly TestAuthority[]): KeyPair => ({
  ...pair,
  certificate: [pair.certificate, ...above.map(({ certificate }) => certificate)].join("\n"),
});

const clients = {
  none: null,
  machine: await client(authority),
  expired: await client(authority, { notAfter: new Date(Date.now() - 1000) }),
  stranger: await client(stranger),
  below: chained(await client(intermediate), intermediate),
  "far below": chained(await client(second), second, intermediate),
} satisfies Record<string, KeyPair | null>;

interface Host {
  readonly annotations: Readonly<Record<string, string>>;
  /** Directives of nginx' server block, besides the trusted certificates. */
  readonly server: string;
  /**
   * By client: the status, and the values of ssl-client-verify and ssl-client-subject-dn for the upstream. The texts
   * after `FAILED:` differ.
   */
  readonly outcomes: Readonly<Partial<Record<keyof typeof clients, string>>>;
}

const SUCCESS = "200 SUCCESS CN=machine,O=Shop";
const refusals = { none: "400", expired: "400", stranger: "400" };
const hosts: Readonly<Record<string, Host>> = {
  "required.example": {
    annotations: {},
    server: "ssl_verify_client on; ssl_verify_depth 1;",
    outcomes: { ...refusals, machine: SUCCESS, below: SUCCESS, "far below": "400" },
  },
  "deep.example": {
    annotations: { "verify-depth": "2" },
    server: "ssl_verify_client on; ssl_verify_depth 2;",
    outcomes: { machine: SUCCESS, "far below": SUCCESS },
  },
  "flat.example": {
    annotations: { "verify-depth": "0" },
    server: "ssl_verify_client on; ssl_verify_depth 0;",
    outcomes: { machine: SUCCESS, below: "400" },
  },
  "optional.example": {
    annotations: { "verify-client": "optional" },
    server: "ssl_verify_client optional; ssl_verify_depth 1;",
    outcomes: { ...refusals, none: "200 NONE", machine: SUCCESS },
  },
  "any-authority.example": {
    annotations: { "verify-client": "optional_no_ca" },
    server: "ssl_verify_client optional_no_ca; ssl_verify_depth 1;",
    outcomes: { none: "200 NONE", machine: SUCCESS, stranger: "200 FAILED CN=machine,O=Shop", expired: "400" },
  },
  "named.example": {
    annotations: { "match-cn": "CN=machine" },
    server: `ssl_verify_client on; ssl_verify_depth 1; if ($ssl_client_s_dn !~ "CN=machine") { return 403; }`,
    outcomes: { ...refusals, machine: SUCCESS },
  },
  "other-name.example": {
    annotations: { "match-cn": "CN=(other|second)", "verify-client": "optional" },
    server: `ssl_verify_client optional; ssl_verify_depth 1; if ($ssl_client_s_dn !~ "CN=(other|second)") { return 403; }`,
    outcomes: { ...refusals, none: "403", machine: "403" },
  },
  "error-page.example": {
    annotations: { "error-page": "https://help.example/certificates" },
    server: "ssl_verify_client on; ssl_verify_depth 1; error_page 495 496 = https://help.example/certificates;",
    outcomes: { none: "302 https://help.example/certificates", machine: SUCCESS },
  },
};

const received = createServer((request, response) => {
  const { "ssl-client-verify": result = "", "ssl-client-subject-dn": subject = "" } = request.headers;
  response.end(`${String(result).replace(/:.*/, "")} ${String(subject)}`);
}).listen(0, "127.0.0.1");
await once(received, "listening");
after(() => received.close());
const upstream = (received.address() as AddressInfo).port;

const server = await web.issue({ name: "web", sans: Object.keys(hosts), usage: "server" });
const nginx = await startNginx();
after(() => nginx.process.stop());
const sluice = await startSluice();
after(() => sluice.node.stop());

async function startNginx() {
  const port = await freePort();
  const place = join(folder.path, "nginx");
  mkdirSync(place);
  const files = { "ca.crt": authority.certificate, "tls.crt": server.certificate, "tls.key": server.key };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(place, name), text);
  const blocks = Object.entries(hosts).map(
    ([name, { server: directives }]) => `server {
      listen 127.0.0.1:${port} ssl; server_name "${name}";
      ssl_certificate ${place}/tls.crt; ssl_certificate_key ${place}/tls.key;
      ssl_client_certificate ${place}/ca.crt; ${directives}
      location / {
        ${headers}
        proxy_set_header ssl-client-verify $ssl_client_verify;
        proxy_set_header ssl-client-subject-dn $ssl_client_s_dn;
        proxy_set_header ssl-client-issuer-dn $ssl_client_i_dn;
        proxy_pass http://127.0.0.1:${upstream};
      }
    }`,
  );
  const map =
    "map $http_upgrade $connection_upgrade { default upgrade; '' ''; } map $request_id $req_id { default x; }";
  const file = join(place, "nginx.conf");
  writeFileSync(file, nginxConfig(place, [map, ...blocks]));
  const options = { name: "nginx", ready: () => connectToPort(port).catch(() => false) };
  return { process: await startProcess(await obtainTool("nginx"), ["-c", file, "-p", place], options), port };
}

async function startSluice() {
  const metadata = (name: string, more: object = {}) => ({
    name,
    namespace: "conformance",
    creationTimestamp: "2026-01-01T00:00:00Z",
    ...more,
  });
  const ingresses = Object.entries(hosts).map(([host, { annotations }]) => {
    const all = Object.entries({ secret: "conformance/clients", ...annotations });
    const named = all.map(([name, value]) => [`nginx.ingress.kubernetes.io/auth-tls-${name}`, value]);
    const backend = { service: { name: "up", port: { number: 80 } } };
    return {
      apiVersion: "networking.k8s.io/v1",
      kind: "Ingress",
      metadata: metadata(host, { annotations: Object.fromEntries(named) }),
      spec: {
        ingressClassName: "sluice",
        tls: [{ hosts: [host], secretName: "web" }],
        rules: [{ host, http: { paths: [{ path: "/", pathType: "Prefix", backend }] } }],
      },
    };
  });
  const secrets = [
    { name: "clients", stringData: { "ca.crt": authority.certificate } },
    { name: "web", type: "kubernetes.io/tls", stringData: { "tls.crt": server.certificate, "tls.key": server.key } },
  ].map(({ name, ...secret }) => ({
    apiVersion: "v1",
    kind: "Secret",
    metadata: metadata(name, { labels: { "sluice.dev/credential": "" } }),
    ...secret,
  }));
  const resources = [...ingresses, ...secrets, ...backendResources("up", [upstream])];
  const { document } = goldenOutcome(readResources(resources.map((one) => JSON.stringify(one)).join("\n---\n")));
  const file = join(folder.path, "sluice.json");
  writeFileSync(file, JSON.stringify(document));
  const port = await freePort();
  const env = {
    SLUICE_ALLOWED_UPSTREAMS: "127.0.0.0/8",
    SLUICE_WORKERS: "1",
    SLUICE_PROXY_TLS_LISTEN: `127.0.0.1:${port}`,
  };
  return { node: (await startFileNode({ file, env })).node, port };
}

/** The status, and the values for the upstream or the Location. */
function outcome(port: number, host: string, pair: KeyPair | null): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const agent = new Agent({ keepAlive: false });
  const identity = pair === null ? {} : { cert: pair.certificate, key: pair.key };
  const spoofed = { "ssl-client-verify": "SUCCESS", "ssl-client-subject-dn": "CN=spoofed" };
  const target = { host: "127.0.0.1", port, servername: host, ca: web.certificate, agent, ...identity };
  const sent = sendRequest({ ...target, headers: { host, ...spoofed } }, async (response) => {
    const text = (await response.toArray()).join("");
    const { statusCode, headers: own } = response;
    resolve([statusCode, statusCode === 200 ? text : (own.location ?? "")].join(" ").trim());
  });
  sent.on("error", reject).end();
  return promise;
}

for (const [name, { port }] of Object.entries({ nginx, Sluice: sluice })) {
  describe(name, () => {
    for (const [host, { annotations, outcomes }] of Object.entries(hosts)) {
      test(`verifies clients of ${host} with ${JSON.stringify(annotations)}`, async () => {
        const found: Record<string, string> = {};
        for (const one of Object.keys(outcomes) as (keyof typeof clients)[])
          found[one] = await outcome(port, host, clients[one]);
        assert.deepEqual(found, outcomes);
      });
    }
  });
}

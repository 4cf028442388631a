/**
 * The annotations proxy-ssl-* of ingress-nginx, on a real nginx and on Sluice. nginx gets the configuration that
 * ingress-nginx generates for the locations; Sluice gets the document that the operator derives from the Ingresses.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import type { TLSSocket } from "node:tls";
import { startFileNode } from "../../../gateway/src/testing-file-node.ts";
import { connectToPort, freePort, startProcess, temporaryFolder } from "../../../tools/process/index.ts";
import { type KeyPair, makeAuthority } from "../../../tools/programs/certificates.ts";
import { obtainTool } from "../../../tools/programs/tool.ts";
import { nginxConfig } from "../../bench/proxy/nginx.ts";
import { goldenOutcome, readResources } from "../../golden/outcome.ts";
import { sendRequest } from "../engine/client.ts";
import { backendResources } from "./resources.ts";

const folder = temporaryFolder("upstream-tls");
after(() => folder.remove());

const [authority, stranger] = [await makeAuthority("upstreams"), await makeAuthority("strangers")];
const intermediate = await authority.delegate("intermediate");
const second = await intermediate.delegate("second");
const client = await authority.issue({ name: "gateway", usage: "client" });
const options = { name: "up", sans: ["up.example"], usage: "server" } as const;
const far = await second.issue(options);

const pairs = {
  up: await authority.issue(options),
  stranger: await stranger.issue(options),
  far: { ...far, certificate: [far.certificate, second.certificate, intermediate.certificate].join("\n") },
} satisfies Record<string, KeyPair>;

/** An upstream responds with the server name of the handshake and the common name of the client's certificate. */
async function startUpstream({ certificate, key }: KeyPair): Promise<number> {
  const server = createServer(
    { cert: certificate, key, requestCert: true, rejectUnauthorized: false },
    ({ socket }, response) => {
      const { servername, getPeerCertificate } = socket as TLSSocket & { readonly servername: string | false };
      response.end(`${servername || "-"} ${getPeerCertificate.call(socket).subject?.CN ?? "-"}`);
    },
  ).listen(0, "127.0.0.1");
  await once(server, "listening");
  after(() => {
    server.close();
    server.closeAllConnections();
  });
  return (server.address() as AddressInfo).port;
}
const ports = {
  up: await startUpstream(pairs.up),
  stranger: await startUpstream(pairs.stranger),
  far: await startUpstream(pairs.far),
};

interface Location {
  readonly annotations: Readonly<Record<string, string>>;
  /** Default `up`. */
  readonly upstream?: keyof typeof pairs;
  /** Directives of nginx' location. */
  readonly nginx: string;
  /** The status and the body of the response. */
  readonly outcome: string;
  /** What Sluice does on purpose instead of nginx. */
  readonly sluice?: string;
}

const withCertificate = "proxy_ssl_certificate PLACE/tls.crt; proxy_ssl_certificate_key PLACE/tls.key;";
const trusted = "proxy_ssl_trusted_certificate PLACE/ca.crt;";
const verified = { secret: "ca", verify: "on", name: "up.example", "server-name": "on" };
const verifying = `${trusted} proxy_ssl_verify on; proxy_ssl_name up.example; proxy_ssl_server_name on;`;

const locations: readonly Location[] = [
  {
    annotations: verified,
    nginx: `${verifying} proxy_ssl_verify_depth 1;`,
    outcome: "200 up.example -",
  },
  {
    annotations: { ...verified, secret: "client" },
    nginx: `${verifying} ${withCertificate} proxy_ssl_verify_depth 1;`,
    outcome: "200 up.example gateway",
  },
  {
    annotations: { ...verified, "server-name": "off" },
    nginx: `${trusted} proxy_ssl_verify on; proxy_ssl_name up.example;`,
    outcome: "200 - -",
    sluice: "200 up.example -",
  },
  {
    annotations: { ...verified, name: "other.example" },
    nginx: `${trusted} proxy_ssl_verify on; proxy_ssl_name other.example;`,
    outcome: "502",
  },
  { annotations: verified, upstream: "stranger", nginx: verifying, outcome: "502" },
  { annotations: verified, upstream: "far", nginx: `${verifying} proxy_ssl_verify_depth 1;`, outcome: "502" },
  {
    annotations: { ...verified, "verify-depth": "2" },
    upstream: "far",
    nginx: `${verifying} proxy_ssl_verify_depth 2;`,
    outcome: "200 up.example -",
  },
  {
    annotations: { secret: "client", name: "any.example", "server-name": "on" },
    upstream: "stranger",
    nginx: `${trusted} ${withCertificate} proxy_ssl_name any.example; proxy_ssl_server_name on;`,
    outcome: "200 any.example gateway",
  },
];
const hostOf = (index: number) => `location${index}.example`;

const nginx = await startNginx();
after(() => nginx.process.stop());
const sluice = await startSluice();
after(() => sluice.node.stop());

async function startNginx() {
  const port = await freePort();
  const place = join(folder.path, "nginx");
  mkdirSync(place);
  const files = { "ca.crt": authority.certificate, "tls.crt": client.certificate, "tls.key": client.key };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(place, name), text);
  const blocks = locations.map(({ nginx: directives, upstream = "up" }, index) => {
    const location = `proxy_ssl_session_reuse off; ${directives.replaceAll("PLACE", place)} proxy_pass https://127.0.0.1:${ports[upstream]};`;
    return `server { listen 127.0.0.1:${port}; server_name ${hostOf(index)}; location / { ${location} } }`;
  });
  const file = join(place, "nginx.conf");
  writeFileSync(file, nginxConfig(place, blocks));
  const ready = { name: "nginx", ready: () => connectToPort(port).catch(() => false) };
  return { process: await startProcess(await obtainTool("nginx"), ["-c", file, "-p", place], ready), port };
}

async function startSluice() {
  const metadata = { namespace: "conformance", creationTimestamp: "2026-01-01T00:00:00Z" };
  const ingresses = locations.map(({ annotations, upstream = "up" }, index) => {
    const named = Object.entries(annotations).map(([name, value]) => [`proxy-ssl-${name}`, value]);
    const all = [["backend-protocol", "HTTPS"], ...named];
    return {
      apiVersion: "networking.k8s.io/v1",
      kind: "Ingress",
      metadata: {
        ...metadata,
        name: hostOf(index),
        annotations: Object.fromEntries(all.map(([name, value]) => [`nginx.ingress.kubernetes.io/${name}`, value])),
      },
      spec: {
        ingressClassName: "sluice",
        rules: [
          {
            host: hostOf(index),
            http: {
              paths: [
                { path: "/", pathType: "Prefix", backend: { service: { name: upstream, port: { number: 80 } } } },
              ],
            },
          },
        ],
      },
    };
  });
  const secrets = Object.entries({
    ca: { "ca.crt": authority.certificate },
    client: { "ca.crt": authority.certificate, "tls.crt": client.certificate, "tls.key": client.key },
  }).map(([name, stringData]) => ({ apiVersion: "v1", kind: "Secret", metadata: { ...metadata, name }, stringData }));
  const backends = Object.entries(ports).flatMap(([name, port]) => backendResources(name, [port]));
  const resources = [...ingresses, ...secrets, ...backends].map((one) => JSON.stringify(one));
  const { document, events } = goldenOutcome(readResources(resources.join("\n---\n")));
  assert.deepEqual([...events.values()].flat(), []);
  const file = join(folder.path, "sluice.json");
  writeFileSync(file, JSON.stringify(document));
  const env = { SLUICE_ALLOWED_UPSTREAMS: "127.0.0.0/8", SLUICE_WORKERS: "1" };
  const { node, proxy } = await startFileNode({ file, env });
  return { node, port: proxy };
}

for (const [name, { port }] of Object.entries({ nginx, Sluice: sluice })) {
  describe(name, () => {
    for (const [index, { annotations, upstream = "up", outcome, sluice: own = outcome }] of locations.entries()) {
      test(`verifies the upstream ${upstream} with ${JSON.stringify(annotations)}`, async () => {
        const { status, body } = await sendRequest(port, {
          method: "GET",
          path: "/",
          headers: ["Host", hostOf(index)],
        });
        const found = status === 200 ? `200 ${body}` : `${status}`;
        assert.equal(found, name === "nginx" ? outcome : own);
      });
    }
  });
}

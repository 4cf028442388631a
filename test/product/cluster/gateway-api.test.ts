/** Resources of the Gateway API on a real API server, served by the product. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer as createHttpServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, test } from "node:test";
import { connect, createServer } from "node:tls";
import { isDeepStrictEqual } from "node:util";
import { freePort, waitFor } from "../../../tools/process/index.ts";
import { makeAuthority } from "../../../tools/programs/certificates.ts";
import { obtainTool } from "../../../tools/programs/tool.ts";
import { freeAddresses } from "../free-addresses.ts";
import { underLoad } from "../under-load.ts";
import { addressOfMachine, coreServices } from "./core-services.ts";
import { startSuite } from "./suite.ts";

const chosen = await freeAddresses();
// Two nodes cannot open the same port of one address.
const proxy2 = chosen.proxy2.replace("127.0.0.1", "127.0.0.2");
const suite = await startSuite({
  chosen: { ...chosen, proxy2 },
  operatorEnv: { SLUICE_PUBLISH_ADDRESSES: "192.0.2.7" },
});
after(() => suite.stop());
const { kubectl } = suite.plane;
const { serve, publish, close } = coreServices(suite);
after(close);

const crds = await obtainTool("gateway-api-crds");
const plurals = [
  "gatewayclasses",
  "gateways",
  "listenersets",
  "httproutes",
  "grpcroutes",
  "tlsroutes",
  "backendtlspolicies",
  "referencegrants",
];
for (const plural of plurals)
  await kubectl(["apply", "--server-side", "-f", join(crds, `gateway.networking.k8s.io_${plural}.yaml`)]);
await kubectl(["wait", "--for=condition=Established", "crd", "--all", "--timeout=30s"]);

const apiVersion = "gateway.networking.k8s.io/v1";
const port = await freePort();

const gateway = (name: string, listeners: readonly object[], more: object = {}): object => ({
  apiVersion,
  kind: "Gateway",
  metadata: { name },
  spec: { gatewayClassName: "sluice", listeners, ...more },
});

const httpRoute = (name: string, spec: object): object => ({
  apiVersion,
  kind: "HTTPRoute",
  metadata: { name },
  spec: { parentRefs: [{ name: "web" }], ...spec },
});

/** Sends a GET request with this Host. Resolves to the name of the upstream, or the status of another response. */
function ask(host: string, path: string, headers: Readonly<Record<string, string>> = {}): Promise<string> {
  return new Promise((resolve, reject) => {
    request({ host: "127.0.0.1", port, path, headers: { host, ...headers }, timeout: 10_000 }, (response) => {
      let body = "";
      response.setEncoding("utf8").on("data", (text: string) => (body += text));
      response.on("end", () => {
        const { statusCode, headers } = response;
        resolve(statusCode === 200 ? JSON.parse(body).name : `${statusCode} ${headers.location ?? ""}`.trim());
      });
    })
      .on("error", reject)
      .end();
  });
}

const served = (host: string, path: string, expected: string) =>
  waitFor(async () => (await ask(host, path).catch(() => "")) === expected, {
    what: `${host}${path} to be answered by ${expected}`,
  });

/** `<type>=<status> <reason>` of each condition in the part of the status that the JSON path selects. */
const conditionsOf = async (resource: string, path = ".status"): Promise<readonly string[]> =>
  (
    await kubectl([
      "get",
      resource,
      "-o",
      `jsonpath={range ${path}.conditions[*]}{.type}={.status} {.reason}{"\\n"}{end}`,
    ])
  )
    .trim()
    .split("\n");

test("a Gateway and an HTTPRoute that were created with their CRDs are served, and their statuses say so", async () => {
  await suite.apply({
    apiVersion,
    kind: "GatewayClass",
    metadata: { name: "sluice" },
    spec: { controllerName: "sluice.dev/gateway-controller" },
  });
  await serve("red");
  await suite.apply(
    gateway("web", [{ name: "http", port, protocol: "HTTP" }]),
    httpRoute("paths", {
      rules: [{ matches: [{ path: { value: "/red" } }], backendRefs: [{ name: "red", port: 80 }] }],
    }),
  );
  await kubectl(["wait", "--for=condition=Programmed", "--timeout=90s", "gateway/web"]);
  // The Gateway may be programmed before the route is.
  await served("any.test", "/red/x", "red");
  assert.equal(await ask("any.test", "/redder"), "404");
  assert.deepEqual(await conditionsOf("gatewayclass/sluice"), ["Accepted=True Accepted"]);
  assert.deepEqual(await conditionsOf("gateway/web"), ["Accepted=True Accepted", "Programmed=True Programmed"]);
  assert.deepEqual(await conditionsOf("gateway/web", ".status.listeners[*]"), [
    "Accepted=True Accepted",
    "Conflicted=False NoConflicts",
    "ResolvedRefs=True ResolvedRefs",
    "Programmed=True Programmed",
  ]);
  assert.equal(await kubectl(["get", "gateway/web", "-o", "jsonpath={.status.addresses[*].value}"]), "192.0.2.7");
  await waitFor(
    async () => (await kubectl(["get", "gateway/web", "-o", "jsonpath={.status.listeners[0].attachedRoutes}"])) === "1",
    { what: "the attached route to be counted" },
  );
  assert.deepEqual(await conditionsOf("httproute/paths", ".status.parents[*]"), [
    "Accepted=True Accepted",
    "ResolvedRefs=True ResolvedRefs",
  ]);
});

test("parameters of a GatewayClass that cannot be used are in the statuses of the class and of its Gateways, of which those that are served stay so", async () => {
  const parametersRef = { group: "sluice.dev", kind: "GatewayParameters", name: "edge", namespace: "default" };
  const parameters = (spec: object) =>
    suite.apply({ apiVersion: "sluice.dev/v1alpha1", kind: "GatewayParameters", metadata: { name: "edge" }, spec });
  const accepted = async (resource: string, expected: string) =>
    waitFor(async () => (await conditionsOf(resource))[0] === expected, { what: `${resource} with ${expected}` });
  const listeners = [{ name: "http", port, protocol: "HTTP", hostname: "edge.test" }];
  await suite.apply(
    {
      apiVersion,
      kind: "GatewayClass",
      metadata: { name: "edge" },
      spec: { controllerName: "sluice.dev/gateway-controller", parametersRef },
    },
    gateway("edge", listeners, { gatewayClassName: "edge" }),
    httpRoute("edge", {
      parentRefs: [{ name: "edge" }],
      rules: [{ matches: [{ path: { value: "/edge" } }], backendRefs: [{ name: "red", port: 80 }] }],
    }),
  );
  for (const resource of ["gatewayclass/edge", "gateway/edge"])
    await accepted(resource, "Accepted=False InvalidParameters");
  assert.equal(await ask("edge.test", "/edge"), "404");
  await parameters({ service: { type: "ClusterIP" } });
  for (const resource of ["gatewayclass/edge", "gateway/edge"]) await accepted(resource, "Accepted=True Accepted");
  await served("edge.test", "/edge", "red");
  // The operator of this suite creates no Services, and therefore no nodes.
  await parameters({ nodes: "Dedicated" });
  for (const resource of ["gatewayclass/edge", "gateway/edge"])
    await accepted(resource, "Accepted=False InvalidParameters");
  assert.equal(await ask("edge.test", "/edge"), "red");
  await kubectl(["delete", "gateway/edge", "httproute/edge", "gatewayclass/edge"]);
});

test("a route whose core Service does not exist is answered with 500, until the Service exists", async () => {
  await suite.apply(
    httpRoute("absent", { hostnames: ["absent.test"], rules: [{ backendRefs: [{ name: "absent", port: 80 }] }] }),
  );
  await served("absent.test", "/", "500");
  assert.deepEqual(await conditionsOf("httproute/absent", ".status.parents[*]"), [
    "Accepted=True Accepted",
    "ResolvedRefs=False BackendNotFound",
  ]);
  await serve("absent");
  await served("absent.test", "/", "absent");
});

test("a BackendTLSPolicy secures the connections to its core Service while its ConfigMap has the right certificates", async () => {
  const authority = await makeAuthority("backends");
  await serve("secure", await authority.issue({ name: "secure", sans: ["secure.test"], usage: "server" }));
  const certificates = (text: string) =>
    suite.apply({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "backends" }, data: { "ca.crt": text } });
  const status = () => conditionsOf("backendtlspolicy/secure", ".status.ancestors[*]");
  await suite.apply(
    httpRoute("secure", { hostnames: ["secure.test"], rules: [{ backendRefs: [{ name: "secure", port: 80 }] }] }),
    {
      apiVersion,
      kind: "BackendTLSPolicy",
      metadata: { name: "secure" },
      spec: {
        targetRefs: [{ group: "", kind: "Service", name: "secure" }],
        validation: {
          hostname: "secure.test",
          caCertificateRefs: [{ group: "", kind: "ConfigMap", name: "backends" }],
        },
      },
    },
  );
  await served("secure.test", "/", "500");
  await waitFor(async () => (await status()).includes("ResolvedRefs=False InvalidCACertificateRef"), {
    what: "the missing ConfigMap in the status",
  });
  await certificates(authority.certificate);
  await served("secure.test", "/", "secure");
  await waitFor(
    async () => isDeepStrictEqual(await status(), ["Accepted=True Accepted", "ResolvedRefs=True ResolvedRefs"]),
    {
      what: "the policy to be accepted",
    },
  );
  await certificates((await makeAuthority("others")).certificate);
  await served("secure.test", "/", "502");
});

test("a Plugin protects the routes of the Gateway that is its target, until it is deleted", async () => {
  const targetRefs = [{ group: "gateway.networking.k8s.io", kind: "Gateway", name: "web" }];
  const spec = { plugin: "request-termination", config: { status_code: 403 }, targetRefs };
  await suite.apply({ apiVersion: "sluice.dev/v1alpha1", kind: "Plugin", metadata: { name: "closed" }, spec });
  await served("absent.test", "/", "403");
  assert.deepEqual(
    (await conditionsOf("plugins.sluice.dev/closed", ".status")).filter((line) =>
      /^(Accepted|ResolvedRefs)/.test(line),
    ),
    ["Accepted=True Accepted", "ResolvedRefs=True ResolvedRefs"],
  );
  await kubectl(["delete", "plugins.sluice.dev", "closed"]);
  await served("absent.test", "/", "absent");
});

test("the status of a route says why a Plugin of its filters cannot be used, until that is mended", async () => {
  const plugin = (config: object) =>
    suite.apply({
      apiVersion: "sluice.dev/v1alpha1",
      kind: "Plugin",
      metadata: { name: "filter" },
      spec: { plugin: "rate-limiting", enabled: false, config },
    });
  const accepted = (line: string) =>
    waitFor(async () => (await conditionsOf("httproute/filtered", ".status.parents[*]")).includes(line), {
      what: `the condition ${line}`,
    });
  await plugin({ minute: "none" });
  const filters = [{ type: "ExtensionRef", extensionRef: { group: "sluice.dev", kind: "Plugin", name: "filter" } }];
  const rules = [{ filters, backendRefs: [{ name: "absent", port: 80 }] }];
  await suite.apply(httpRoute("filtered", { hostnames: ["filtered.test"], rules }));
  await accepted("Accepted=False Invalid");
  await served("filtered.test", "/", "503");
  await plugin({ minute: 100, policy: "local" });
  await accepted("Accepted=True Accepted");
  await served("filtered.test", "/", "absent");
});

test("a TLSRoute passes TLS connections to its backend by their server name", async (context) => {
  const tlsPort = await freePort();
  const authority = await makeAuthority();
  const { certificate: cert, key } = await authority.issue({ name: "own", sans: ["own.test"], usage: "server" });
  const server = createServer({ cert, key }, (socket) => socket.on("error", () => {}).end("from the backend"));
  server.listen(0);
  context.after(() => server.close());
  await once(server, "listening");
  await publish("secure", (server.address() as AddressInfo).port);
  await suite.apply(gateway("tls", [{ name: "tls", port: tlsPort, protocol: "TLS", tls: { mode: "Passthrough" } }]), {
    apiVersion,
    kind: "TLSRoute",
    metadata: { name: "secure" },
    spec: {
      parentRefs: [{ name: "tls" }],
      hostnames: ["own.test"],
      rules: [{ backendRefs: [{ name: "secure", port: 80 }] }],
    },
  });
  await kubectl(["wait", "--for=condition=Programmed", "--timeout=90s", "gateway/tls"]);
  const answer = async (servername: string) => {
    const socket = connect({ host: "127.0.0.1", port: tlsPort, servername, ca: authority.certificate });
    return text(socket).catch(() => "");
  };
  await waitFor(async () => (await answer("own.test")) === "from the backend", { what: "the backend to be reached" });
  assert.equal(await answer("other.test"), "");
  assert.deepEqual(await conditionsOf("tlsroute/secure", ".status.parents[*]"), [
    "Accepted=True Accepted",
    "ResolvedRefs=True ResolvedRefs",
  ]);
});

test("a ListenerSet adds listeners with routes of their own to a Gateway that allows it", async () => {
  const http = { port, protocol: "HTTP" };
  const listeners = [
    { name: "team", hostname: "team.test", ...http },
    { name: "conflict", ...http },
  ];
  await suite.apply(
    { apiVersion, kind: "ListenerSet", metadata: { name: "team" }, spec: { parentRef: { name: "web" }, listeners } },
    httpRoute("team", {
      parentRefs: [{ kind: "ListenerSet", name: "team", sectionName: "team" }],
      rules: [{ backendRefs: [{ name: "absent", port: 80 }] }],
    }),
  );
  await kubectl(["wait", "--for=condition=Accepted=false", "--timeout=60s", "listenerset/team"]);
  assert.deepEqual(await conditionsOf("listenerset/team"), [
    "Accepted=False NotAllowed",
    "Programmed=False NotAllowed",
  ]);
  assert.equal(await ask("team.test", "/red"), "red");
  const allowedListeners = { namespaces: { from: "Same" } };
  await suite.apply(gateway("web", [{ name: "http", ...http }], { allowedListeners }));
  await kubectl(["wait", "--for=condition=Programmed", "--timeout=60s", "listenerset/team"]);
  assert.equal(await ask("team.test", "/red"), "absent");
  assert.equal(await ask("any.test", "/red"), "red");
  assert.deepEqual(await conditionsOf("listenerset/team", ".status.listeners[*]"), [
    "Accepted=True Accepted",
    "Conflicted=False NoConflicts",
    "ResolvedRefs=True ResolvedRefs",
    "Programmed=True Programmed",
    "Accepted=False HostnameConflict",
    "Conflicted=True HostnameConflict",
    "ResolvedRefs=True ResolvedRefs",
    "Programmed=False HostnameConflict",
  ]);
  await waitFor(
    async () => (await kubectl(["get", "gateway/web", "-o", "jsonpath={.status.attachedListenerSets}"])) === "1",
    { what: "the ListenerSet to be counted" },
  );
});

test("a Gateway that is deleted under load is no longer served, and all requests for another Gateway are answered", async () => {
  const keptPort = await freePort();
  await suite.apply(
    gateway("kept", [{ name: "http", port: keptPort, protocol: "HTTP" }]),
    httpRoute("kept", { parentRefs: [{ name: "kept" }], rules: [{ backendRefs: [{ name: "red", port: 80 }] }] }),
  );
  const [deleted, kept] = [`http://127.0.0.1:${port}/red`, `http://127.0.0.1:${keptPort}/red`];
  for (const url of [deleted, kept])
    await waitFor(async () => (await fetch(url)).ok, { what: `${url} to be answered` });
  const loads = await underLoad([deleted, kept], async () => {
    await kubectl(["delete", "gateway", "web"]);
    const isClosed = () =>
      ask("any.test", "/red")
        .then(() => false)
        .catch(() => true);
    await waitFor(isClosed, { what: "the port to be closed" });
  });
  const [ofDeleted, ofKept] = [loads[deleted], loads[kept]];
  assert.ok(ofDeleted && ofKept && ofDeleted.answered > 0 && ofKept.answered > 0);
  assert.deepEqual(ofKept.failures, []);
  // A node that no longer has the routes of the Gateway answers 404 until the connection ends.
  const unexpected = ofDeleted.failures.filter((line) => !/ECONNREFUSED|ECONNRESET|socket hang up| 404 /.test(line));
  assert.deepEqual(unexpected, []);
  await waitFor(async () => (await conditionsOf("listenerset/team"))[0] === "Accepted=False ParentNotAccepted", {
    what: "the ListenerSet to lose its Gateway",
  });
});

test("fields of the experimental channel are served once its CRDs replace those of the standard channel", async () => {
  let requests = 0;
  const unstable = createHttpServer((_, response) => {
    requests += 1;
    // Every first attempt fails.
    response.writeHead(requests % 2 === 1 ? 503 : 200).end("unstable");
  }).listen(0, addressOfMachine());
  await once(unstable, "listening");
  after(() => unstable.close());
  await publish("unstable", (unstable.address() as AddressInfo).port);
  const retryPort = await freePort();
  const url = `http://127.0.0.1:${retryPort}/`;
  const statusOf = async () => (await fetch(url).catch(() => undefined))?.status;
  const route = (more: object) =>
    httpRoute("unstable", {
      parentRefs: [{ name: "unstable" }],
      rules: [{ backendRefs: [{ name: "unstable", port: 80 }], ...more }],
    });
  await suite.apply(gateway("unstable", [{ name: "http", port: retryPort, protocol: "HTTP" }]), route({}));
  await waitFor(async () => (await statusOf()) === 503, { what: "the first attempt to fail" });
  const experimental = await obtainTool("gateway-api-experimental-crds");
  const crd = join(experimental, "gateway.networking.k8s.io_httproutes.yaml");
  await kubectl(["apply", "--server-side", "--force-conflicts", "-f", crd]);
  const hasRetry = async () => {
    // The API server drops the field until it has read the new CRD.
    await suite.apply(route({ retry: { codes: [503], attempts: 1 } }));
    return (await kubectl(["get", "httproute/unstable", "-o", "jsonpath={.spec.rules[0].retry}"])) !== "";
  };
  await waitFor(hasRetry, { what: "the API server to accept the field retry" });
  let edits = 0;
  await waitFor(
    async () => {
      requests = 0;
      if ((await statusOf()) === 200) return true;
      // A watch that was opened before the API server had read the CRD may deliver the route without the field.
      await suite.apply(route({ retry: { codes: [503], attempts: 1 + (++edits % 2) } }));
      return false;
    },
    { what: "the second attempt to be answered", interval: 1_000 },
  );
});

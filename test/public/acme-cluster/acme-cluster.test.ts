/** The operator orders certificates from the ACME server Pebble, on a real API server and with real nodes. */
import assert from "node:assert/strict";
import { createServer, get as getOver } from "node:http";
import { Agent, get } from "node:https";
import { after, before, test } from "node:test";
import { acmeSecretName } from "@sluice/crds";
import { clusterUsers } from "../../../tools/cluster/rbac.ts";
import { waitFor } from "../../../tools/process/index.ts";
import { grantsOf, refusedRequests, unusedGrants } from "../../e2e/operator/compare-rights.ts";
import { type NamedUpstream, startNamedUpstream } from "../../product/client.ts";
import { resourceObject, serviceObject } from "../../product/resources.ts";
import { type AcmeScene, nodeAddresses, OTHER_ADDRESS, PRIVATE, REFUSED, startAcmeScene } from "./scene.ts";

let scene: AcmeScene;
let upstream: NamedUpstream;
after(async () => {
  await scene?.stop();
  await upstream?.close();
});

before(
  async () => {
    upstream = await startNamedUpstream("echo");
    scene = await startAcmeScene();
    const service = serviceObject("echo", upstream.port);
    await scene.apply(service, resourceObject("Route", "all", { serviceRef: { name: "echo" }, paths: ["/"] }));
  },
  { timeout: 600_000 },
);

const certificate = (name: string, host: string, { acme = {}, namespace = "default" } = {}) => ({
  apiVersion: "sluice.dev/v1alpha1",
  kind: "Certificate",
  metadata: { name, namespace },
  spec: { acme, snis: [{ name: host }] },
});

const issued = (name: string) =>
  scene.plane.kubectl(["wait", "--for=condition=Issued", "--timeout=60s", `gwcert/${name}`]);

const readSecret = async (name: string, namespace = "default") =>
  JSON.parse(await scene.plane.kubectl(["-n", namespace, "get", "secret", name, "-o", "json"]));

/** Secrets with orders, by the Certificates. */
async function storedOrders(): Promise<
  Readonly<Record<string, { readonly name: string; readonly challenges: string }>>
> {
  const list = await scene.plane.kubectl([
    "-n",
    PRIVATE,
    "get",
    "secrets",
    "-l",
    "sluice.dev/acme-order",
    "-o",
    "json",
  ]);
  const { items } = JSON.parse(list) as {
    items: { metadata: { name: string; annotations: Record<string, string> }; data: Record<string, string> }[];
  };
  return Object.fromEntries(
    items.map(({ metadata, data }) => [
      metadata.annotations["sluice.dev/certificate"],
      { name: metadata.name, challenges: Buffer.from(data["challenges.json"] ?? "", "base64").toString() },
    ]),
  );
}

const places = [
  { challenge: "http-01", asked: 0 },
  { challenge: "http-01", asked: 1 },
  { challenge: "tls-alpn-01", asked: 0 },
  { challenge: "tls-alpn-01", asked: 1 },
] as const;

for (const { challenge, asked } of places) {
  const name = `${challenge.slice(0, 4).replace("-", "")}-${asked}`;
  test(`a Certificate with ${challenge} is issued, whose challenge node ${asked + 1} answers, and both nodes present it with its chain`, async () => {
    const host = `${name}.test`;
    await scene.pebble.setAddresses(host, [nodeAddresses[asked]]);
    const count = scene.orderCount();
    await scene.apply(certificate(name, host, { acme: { challenge } }));
    await issued(name);
    const { hasChain } = await scene.served(host);
    assert.equal(hasChain, true);
    assert.equal(scene.orderCount(), count + 1);
    assert.match(
      await scene.condition(name, "Issued"),
      /^True Issued The certificate is valid until .* It is renewed at /,
    );
    assert.match(await scene.condition(name, "Programmed"), /^True /);
  });
}

test("key and chain are in a Secret that belongs to the Certificate, and everything else only in the private namespace", async () => {
  const { metadata } = JSON.parse(await scene.plane.kubectl(["get", "gwcert", "http-0", "-o", "json"]));
  const secret = await readSecret(acmeSecretName("http-0"));
  assert.equal(secret.type, "kubernetes.io/tls");
  assert.deepEqual(
    secret.metadata.ownerReferences.map(({ kind, name, uid }: Record<string, string>) => ({ kind, name, uid })),
    [{ kind: "Certificate", name: "http-0", uid: metadata.uid }],
  );
  assert.deepEqual(Object.keys(secret.data).sort(), ["tls.crt", "tls.key"]);
  const orders = await storedOrders();
  assert.deepEqual(Object.keys(orders).sort(), ["default/http-0", "default/http-1", "default/tls-0", "default/tls-1"]);
  assert.deepEqual(new Set(Object.values(orders).map(({ challenges }) => challenges)), new Set(["[]"]));
  const accounts = await readSecret("sluice-operator-acme", PRIVATE);
  assert.equal(Object.keys(accounts.data).length, 1);
});

test("after an order, no node answers its challenge", async () => {
  const [, token] = scene.pebble.process.output().match(/acme-challenge\/(\S+)/) ?? [];
  assert.ok(token);
  for (const address of nodeAddresses) {
    const { name, path } = await new Promise<{ name?: string; path?: string }>((resolve, reject) => {
      const url = `http://${address}:${scene.httpPort}/.well-known/acme-challenge/${token}`;
      getOver(url, async (response) => resolve(JSON.parse((await response.toArray()).join("")))).on("error", reject);
    });
    assert.deepEqual([name, path], ["echo", `/.well-known/acme-challenge/${token}`]);
  }
});

/** Sends requests over TLS until `work` ends: on two kept connections to each node, and each time on a new one. */
async function underTlsLoad(host: string, work: () => Promise<unknown>) {
  const failures: string[] = [];
  let [over, answered, closed] = [false, 0, 0];
  const ask = (agent: Agent, address: string) =>
    new Promise<void>((resolve) => {
      const options = {
        host: address,
        port: scene.tlsPort,
        servername: host,
        headers: { host },
        agent,
        timeout: 10_000,
      };
      const sent = get(options, (response) => {
        if (response.statusCode === 200) answered++;
        else failures.push(`status ${response.statusCode}`);
        response.resume().on("end", resolve);
      });
      sent.on("timeout", () => sent.destroy(new Error("no answer within 10 s")));
      sent.on("error", (error) => {
        failures.push(error.message);
        resolve();
      });
    });
  const clients = nodeAddresses.flatMap((address) =>
    [true, true, false].map(async (keepAlive) => {
      const agent = new Agent({ keepAlive, maxSockets: 1, ca: scene.root, maxCachedSessions: 0 });
      const sockets = new Set<object>();
      agent.on("free", (socket) => {
        if (!sockets.has(socket) && keepAlive) socket.on("close", () => closed++);
        sockets.add(socket);
      });
      while (!over) await ask(agent, address);
      // Only what the nodes have closed counts.
      for (const socket of sockets) (socket as import("node:net").Socket).removeAllListeners("close");
      agent.destroy();
      return keepAlive ? sockets.size : 1;
    }),
  );
  try {
    await work();
  } finally {
    over = true;
  }
  const connections = await Promise.all(clients);
  return { failures, answered, closed, connections };
}

test("renewals under load fail no request and close no connection", async () => {
  const host = "http-0.test";
  const rounds = 3;
  const count = scene.orderCount();
  let { serial } = await scene.served(host);
  const first = serial;
  const load = await underTlsLoad(host, async () => {
    for (let round = 0; round < rounds; round++) {
      // The CA now wants the certificate to be replaced. An operator without the stored state asks the CA at once.
      const cert = Buffer.from((await readSecret(acmeSecretName("http-0"))).data["tls.crt"], "base64").toString();
      await scene.pebble.setRenewalInfo(cert, { start: new Date(Date.now() - 2000), end: new Date(Date.now() - 1000) });
      const order = (await storedOrders())["default/http-0"];
      const leader = await scene.leader();
      await leader.process.stop();
      await scene.plane.kubectl(["-n", PRIVATE, "delete", "secret", order?.name ?? ""]);
      await leader.start();
      ({ serial } = await scene.served(host, serial));
    }
  });
  assert.notEqual(serial, first);
  assert.equal(scene.orderCount(), count + rounds);
  assert.match(scene.pebble.process.output(), /ARI: order "\S+" is a replacement of/);
  assert.deepEqual([load.failures, load.closed, load.connections], [[], 0, [1, 1, 1, 1, 1, 1]]);
  assert.ok(load.answered > 100, `${load.answered} responses`);
});

test("when the leader is killed while the CA validates, the next leader completes the same order", async () => {
  const host = "killed.test";
  const isAsked = Promise.withResolvers<void>();
  const mayAnswer = Promise.withResolvers<void>();
  // Delays the CA's requests to the first node.
  const delaying = createServer(async (request, response) => {
    isAsked.resolve();
    await mayAnswer.promise;
    const options = { host: nodeAddresses[0], port: scene.httpPort, path: request.url, headers: request.headers };
    getOver(options, (answer) => {
      response.writeHead(answer.statusCode ?? 500);
      answer.pipe(response);
    }).on("error", () => response.destroy());
  });
  await new Promise<void>((resolve) => delaying.listen(scene.httpPort, OTHER_ADDRESS, resolve));
  try {
    await scene.pebble.setAddresses(host, [OTHER_ADDRESS]);
    const count = scene.orderCount();
    await scene.apply(certificate("killed", host));
    await isAsked.promise;
    const killed = await scene.leader();
    await killed.process.kill9();
    const next = await scene.leader();
    assert.notEqual(next, killed);
    // The first document of the new leader has the challenge too.
    await waitFor(async () => (await next.status()).acknowledged.length === nodeAddresses.length, {
      what: "both nodes to follow the new leader",
    });
    mayAnswer.resolve();
    await issued("killed");
    await scene.served(host);
    assert.equal(scene.orderCount(), count + 1);
    await killed.start();
  } finally {
    mayAnswer.resolve();
    delaying.closeAllConnections();
    delaying.close();
  }
});

test("what the CA refuses is in the condition and in an Event, and is not tried again soon", async () => {
  await scene.apply(certificate("refused", REFUSED));
  const text = await waitFor(
    async () => {
      const found = await scene.condition("refused", "Issued");
      return /OrderFailed/.test(found) && found;
    },
    { what: "the condition", timeout: 60_000 },
  );
  assert.match(text, /^False OrderFailed .*refused\.test.*rejectedIdentifier.*The next attempt is at \d{4}-/s);
  const notes = () =>
    scene.plane.kubectl([
      "get",
      "events.events.k8s.io",
      "-o",
      "jsonpath={range .items[*]}{.reason} {.note}{'\\n'}{end}",
    ]);
  const events = await waitFor(async () => /OrderFailed/.test(await notes()) && notes(), { what: "the Event" });
  assert.match(events, /OrderFailed .*refused\.test/);
  assert.match(await scene.condition("refused", "Accepted"), /^True /);
  assert.match(await scene.condition("http-0", "Issued"), /^True /);
});

test("a Certificate gets no names of SNIs in another namespace", async () => {
  const count = scene.orderCount();
  await scene.apply(
    certificate("foreign", "team.test", { acme: { domains: ["team.test", "http-0.test"] }, namespace: "team" }),
    certificate("younger", "http-1.test", { namespace: "team" }),
  );
  const reason = (name: string) =>
    waitFor(async () => (await scene.condition(name, "Issued", "team")) || undefined, {
      what: `the condition of ${name}`,
    });
  assert.match(
    await reason("foreign"),
    /^False Refused no certificate is ordered for http-0\.test: each name needs an SNI/,
  );
  assert.match(await reason("younger"), /^False /);
  assert.match(await scene.condition("younger", "Accepted", "team"), /^False Conflicted /);
  assert.equal(scene.orderCount(), count);
});

test("a Secret that was not created for the Certificate is not overwritten, and nothing is ordered", async () => {
  const count = scene.orderCount();
  const secret = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: acmeSecretName("taken"), namespace: "default" },
    type: "kubernetes.io/tls",
    stringData: { "tls.crt": "", "tls.key": "" },
  };
  await scene.apply(secret);
  await scene.apply(certificate("taken", "taken.test"));
  const text = await waitFor(
    async () => {
      const found = await scene.condition("taken", "Issued");
      return /Refused/.test(found) && found;
    },
    { what: "the condition" },
  );
  assert.match(text, /the Secret taken-acme in the namespace default was not created for this Certificate/);
  assert.equal(scene.orderCount(), count);
});

test("the stored order of a deleted Certificate is removed", async () => {
  await scene.plane.kubectl(["delete", "gwcert", "tls-1"]);
  await waitFor(async () => !("default/tls-1" in (await storedOrders())), { what: "the stored order to be removed" });
});

test("the operators use all rights that SLUICE_ACME needs, and request no other rights", () => {
  const requests = scene.plane.audited().filter(({ user }) => user === clusterUsers.operator);
  const grants = grantsOf("operator", ["acme", "privateAcme"], { home: "default", own: PRIVATE });
  assert.deepEqual(unusedGrants(grants, requests), []);
  assert.deepEqual(refusedRequests(requests), []);
});

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { Conflict, type Ref, type Resource, ResourceRejected } from "@sluice/crds";
import type { PemTexts } from "@sluice/model";
import { pino } from "pino";
import { waitFor } from "../../../tools/process/index.ts";
import { isValidPair, pemBlocksOf } from "./certificate-rotation.ts";
import { secretEntry } from "./certificate-secret.ts";
import { rotatePushCertificates } from "./push-certificate-rotation.ts";

const begin = Date.parse("2026-01-01T00:00:00Z");
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

/** Secrets as an API server stores them. test/e2e/operator/push-certificates.test.ts uses a real API server. */
function createSecrets() {
  const secrets = new Map<string, Resource>();
  const refusals: Error[] = [];
  let version = 0;
  return {
    refusals,
    get: (name: string) => secrets.get(name),
    put(name: string, entries: Readonly<Record<string, string>>): void {
      const found = secrets.get(name);
      assert.ok(found);
      const data = Object.entries(entries).map(([entry, text]) => [entry, Buffer.from(text).toString("base64")]);
      const metadata = { ...found.metadata, resourceVersion: `${++version}` };
      secrets.set(name, { ...found, metadata, data: { ...found.data, ...Object.fromEntries(data) } });
    },
    remove: (name: string) => secrets.delete(name),
    texts: (name: string) => {
      const found = secrets.get(name);
      return (
        found && Object.fromEntries(Object.keys(found.data ?? {}).map((entry) => [entry, secretEntry(found, entry)]))
      );
    },
    client: {
      get: async ({ name }: Pick<Ref, "name">) => secrets.get(name) ?? null,
      async apply(_kind: string, resource: Resource, { expect }: { expect?: unknown }) {
        const refusal = refusals.shift();
        if (refusal) throw refusal;
        const { name } = resource.metadata;
        const found = secrets.get(name);
        const { uid = "", resourceVersion = "" } = found?.metadata ?? {};
        assert.deepEqual(expect, found ? { uid, resourceVersion } : "absent");
        const applied = { ...resource, metadata: { ...resource.metadata, uid: name, resourceVersion: `${++version}` } };
        secrets.set(name, applied);
        return applied;
      },
    },
  };
}

type Secrets = ReturnType<typeof createSecrets>;

/** An operator that uses the Secrets. Its clock advances only when the test advances it. */
function operator(t: TestContext, { client }: Secrets, { leads = true } = {}) {
  const abort = new AbortController();
  const shown: PemTexts[] = [];
  const events: string[] = [];
  const lines: string[] = [];
  const state = { now: begin, leads };
  const kept = rotatePushCertificates({
    client,
    secret: { namespace: "sluice", name: "push" },
    authorityNamespace: "sluice-operator",
    serverName: "sluice-gateway",
    manager: "sluice-operator",
    overlap: 10 * MINUTE,
    leads: () => state.leads,
    onCertificate: (texts) => shown.push(texts),
    recordEvent: ({ name }, { reason, message }) => events.push(`${name} ${reason} ${message}`),
    log: pino({}, { write: (line: string) => void lines.push(line) }),
    signal: abort.signal,
    now: () => new Date(state.now),
    interval: 5,
  });
  t.after(async () => {
    abort.abort();
    await kept;
  });
  return {
    state,
    shown,
    events,
    lines,
    async shows(count: number) {
      await waitFor(() => shown.length >= count, { what: `${count} sets of certificates` });
      assert.equal(shown.length, count);
    },
  };
}

const countOf = (text = "") => pemBlocksOf(text, "CERTIFICATE").length;

test("nodes get their certificate and the trusted authorities, and the authority's key stays with the operator", async (t) => {
  const secrets = createSecrets();
  const { shows, shown, events } = operator(t, secrets);
  await shows(1);
  const [nodes = {}, authority = {}] = [secrets.texts("push"), secrets.texts("push-authority")];
  assert.deepEqual(Object.keys(nodes).sort(), ["ca.crt", "gateway.crt", "gateway.key"]);
  assert.deepEqual(Object.keys(authority).sort(), ["ca.crt", "ca.key", "operator.crt", "operator.key"]);
  assert.equal(nodes["ca.crt"], authority["ca.crt"]);
  const { cert = "", key = "", ca = "" } = shown[0] ?? {};
  assert.deepEqual([cert, key, ca], [authority["operator.crt"], authority["operator.key"], nodes["ca.crt"]]);
  assert.ok(isValidPair({ certificate: cert, key }, ca));
  assert.ok(isValidPair({ certificate: `${nodes["gateway.crt"]}`, key: `${nodes["gateway.key"]}` }, ca));
  for (const text of Object.values(nodes)) assert.ok(!text.includes(`${authority["ca.key"]}`.trim().slice(30, 80)));
  assert.deepEqual(events, [], "a first start records no Event");
  const namespaces = ["push", "push-authority"].map((name) => secrets.get(name)?.metadata.namespace);
  assert.deepEqual(namespaces, ["sluice", "sluice-operator"]);
});

test("an operator that does not lead writes no Secret and uses the leader's certificates", async (t) => {
  const secrets = createSecrets();
  const follower = operator(t, secrets, { leads: false });
  const leader = operator(t, secrets);
  await leader.shows(1);
  await follower.shows(1);
  assert.deepEqual(follower.shown, leader.shown);
  secrets.put("push-authority", { "operator.crt": "broken" });
  leader.state.leads = false;
  const before = secrets.get("push-authority");
  follower.state.now += 1;
  secrets.remove("push");
  follower.state.leads = true;
  await waitFor(() => secrets.get("push"), { what: "the second operator to create the nodes' Secret" });
  assert.notEqual(secrets.get("push-authority"), before);
  assert.equal(follower.shown.length, 2, "a broken certificate was never presented");
});

test("certificates are renewed after two thirds of their lifetime, without an Event", async (t) => {
  const secrets = createSecrets();
  const { state, shows, shown, events } = operator(t, secrets);
  await shows(1);
  const first = secrets.texts("push");
  state.now += 61 * DAY;
  await shows(2);
  await waitFor(() => secrets.texts("push")?.["gateway.crt"] !== first?.["gateway.crt"], {
    what: "the certificate of the nodes to be renewed",
  });
  assert.equal(shown[1]?.ca, shown[0]?.ca);
  assert.deepEqual(events, []);
});

test("a new authority is trusted before it signs, and the old authority stays trusted until all certificates are renewed", async (t) => {
  const secrets = createSecrets();
  const { state, shows, shown } = operator(t, secrets);
  await shows(1);
  state.now += 480 * DAY;
  await shows(2);
  const signedBefore = shown[1]?.cert;
  const steps: readonly (readonly [number, number, boolean])[] = [
    [20 * DAY, 2, true],
    [11 * MINUTE, 2, false],
    [11 * MINUTE, 1, false],
  ];
  for (const [index, [wait, trusted, isOld]] of steps.entries()) {
    state.now += wait;
    await shows(3 + index);
    const { ca, cert } = shown[2 + index] ?? {};
    assert.equal(countOf(ca), trusted);
    assert.equal(cert === signedBefore, isOld);
    await waitFor(() => secrets.texts("push")?.["ca.crt"] === ca, { what: "the nodes to get the authorities" });
  }
});

const garbage = { "ca.key": "x" };
const breaks: readonly (readonly [what: string, (secrets: Secrets) => unknown, events: RegExp, trusted: number])[] = [
  [
    "the nodes' Secret is deleted",
    ({ remove }) => remove("push"),
    /^push Recreated recreated: the Secret was missing/,
    1,
  ],
  [
    "the nodes' key is broken",
    ({ put }) => put("push", { "gateway.key": "x" }),
    /^push Recreated recreated: its certificate and key were not a valid pair$/,
    1,
  ],
  [
    "the authorities in the nodes' Secret are changed",
    ({ put }) => put("push", { "ca.crt": "x" }),
    /^push Recreated recreated: its authorities differed from the operator's$/,
    1,
  ],
  [
    "the operator's own certificate is broken",
    ({ put }) => put("push-authority", { "operator.crt": "x" }),
    /^push-authority Recreated recreated: its certificate and key were not a valid pair$/,
    1,
  ],
  [
    "the authority's Secret is deleted",
    ({ remove }) => remove("push-authority"),
    /^push-authority Recreated .*the Secret was missing/,
    2,
  ],
  [
    "the authority's key is broken",
    ({ put }) => put("push-authority", garbage),
    /^push-authority Recreated recreated: it held no authority that could sign$/,
    2,
  ],
];
for (const [what, breaking, line, trusted] of breaks)
  test(`when ${what}, the operator repairs the Secret and records an Event, and nodes and operator keep trusting each other`, async (t) => {
    const secrets = createSecrets();
    const { shows, shown, events } = operator(t, secrets);
    await shows(1);
    const before = secrets.texts("push") ?? {};
    breaking(secrets);
    await waitFor(() => events.length > 0, { what: "the Event" });
    assert.match(events[0] ?? "", line);
    const after = await waitFor(() => secrets.texts("push"), { what: "the nodes' Secret" });
    await waitFor(() => countOf(secrets.texts("push")?.["ca.crt"]) === trusted, {
      what: "the trusted authorities in the nodes' Secret",
    });
    const { cert = "", key = "", ca = "" } = shown.at(-1) ?? {};
    assert.ok(
      isValidPair({ certificate: cert, key }, `${before["ca.crt"]}`),
      "nodes with the previous authorities still trust the operator",
    );
    assert.ok(isValidPair({ certificate: `${before["gateway.crt"]}`, key: `${before["gateway.key"]}` }, ca));
    assert.ok(isValidPair({ certificate: `${after["gateway.crt"]}`, key: `${after["gateway.key"]}` }, ca));
    assert.equal(events.length, 1);
  });

test("an operator that starts without an authority creates all certificates anew", async (t) => {
  const secrets = createSecrets();
  await operator(t, secrets).shows(1);
  const other = createSecrets();
  await other.client.apply("Secret", secrets.get("push") ?? assert.fail(), { expect: "absent" });
  const { shows, shown } = operator(t, other);
  await shows(1);
  assert.equal(countOf(shown[0]?.ca), 1, "the authority in the existing Secret of the nodes is not trusted");
  assert.equal(other.texts("push")?.["ca.crt"], shown[0]?.ca);
});

test("a refused write is logged and retried; a conflict with another replica is not logged", async (t) => {
  const secrets = createSecrets();
  secrets.refusals.push(
    new Conflict("exists", "already exists"),
    new ResourceRejected('cannot patch resource "secrets"'),
  );
  const { shows, lines } = operator(t, secrets);
  await shows(1);
  assert.match(lines.join(""), /cannot patch resource \\"secrets\\".*cannot rotate the push certificates/);
  assert.doesNotMatch(lines.join(""), /already exists|PRIVATE KEY/);
});

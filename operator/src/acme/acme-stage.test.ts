import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { AcmeOrdersOptions, OrderedCertificate } from "@sluice/acme";
import { acmeSecretName, createDirectoryClient, type Resource } from "@sluice/crds";
import type { AcmeStatus } from "@sluice/model";
import { pino } from "pino";
import { Registry } from "prom-client";
import { temporaryFolder, waitFor } from "../../../tools/process/index.ts";
import { makeAuthority } from "../../../tools/programs/certificates.ts";
import { buildSnapshot, emptyBuild } from "../document/build-snapshot.ts";
import { withChallenges } from "../document/challenges.ts";
import { createEmitter } from "../emitter.ts";
import type { PublishedDocument } from "../publish/publish-stage.ts";
import type { RecordedEvent } from "../status/event-recorder.ts";
import { testClusterState } from "../translate/testing-cluster-state.ts";
import { createTranslate } from "../translate/translator.ts";
import { createAcmeAccounts } from "./accounts.ts";
import { createOrderMetrics } from "./acme-metrics.ts";
import { createAcmeStage, disabledAcme } from "./acme-stage.ts";
import { createStoredOrders } from "./stored-orders.ts";

const challenge = { type: "http-01", domain: "a.test", token: "t", key_authorization: "t.k" } as const;
const valid: AcmeStatus = {
  state: "valid",
  domains: ["a.test"],
  directory: "https://ca.test/dir",
  not_after: "2999-01-01T00:00:00.000Z",
  renew_at: null,
  next_attempt: null,
  failures: 0,
  error: null,
};
const ordering: AcmeStatus = { ...valid, state: "ordering", not_after: null };
const failed: AcmeStatus = {
  ...ordering,
  state: "waiting",
  failures: 1,
  error: { type: "caa", detail: "CAA forbids a.test" },
};

/** One run of the order module. */
interface OrderRun extends AcmeOrdersOptions {
  followed: readonly OrderedCertificate[];
  statuses: Map<string, AcmeStatus>;
  closed: boolean;
}

/** The stage on a directory, with a cluster state and a leadership that the test sets. */
async function scene(context: TestContext) {
  const folder = temporaryFolder("acme-stage");
  const ending = new AbortController();
  const log = pino({ level: "silent" });
  const client = createDirectoryClient({ directory: folder.path, log });
  context.after(async () => {
    ending.abort();
    await client.close();
    folder.remove();
  });
  const shared = { client, namespace: "keys", prefix: "sluice-operator", manager: "sluice-operator", log };
  const stored = createStoredOrders({ ...shared, signal: ending.signal });
  await waitFor(() => stored.unsynced().length === 0, { what: "the stored orders to be read" });

  const { clusterState, put, remove } = testClusterState();
  const translate = createTranslate({ homeNamespace: "default", class: "sluice" });
  const progress = createEmitter<PublishedDocument | null>();
  const terms = createEmitter<number | null>();
  let [term, acknowledged, revision, built] = [null as number | null, 0, 0, emptyBuild];
  const events: string[] = [];
  const changed: string[] = [];
  const runs: OrderRun[] = [];
  const registry = new Registry();
  const stage = createAcmeStage({
    ...shared,
    onOrder: createOrderMetrics(registry, () => stage.gauges()),
    publish: {
      progress,
      publisher: {
        acknowledgement: (wanted) => ({
          programmed: acknowledged >= wanted,
          acknowledged: [],
          lagging: [],
          silent: [],
        }),
      },
    },
    gate: { term: () => term, terms },
    stored,
    accounts: createAcmeAccounts(shared),
    events: {
      record: (_, { type = "Warning", reason, message }: RecordedEvent) =>
        void events.push(`${type} ${reason} ${message}`),
    },
    settings: { directories: ["https://ca.test/dir"], email: null, ca: null, externalAccountBinding: null },
    createOrders(options) {
      const run: OrderRun = { ...options, followed: [], statuses: new Map(), closed: false };
      runs.push(run);
      return {
        follow(certificates) {
          run.followed = certificates;
        },
        status: (id) => run.statuses.get(id) ?? null,
        gauges: () => run.followed.map(({ id, name }) => ({ id, name, expires: 0, renewal: 0, failures: 1 })),
        async close() {
          run.closed = true;
        },
      };
    },
  });
  stage.changes.subscribe((key) => changed.push(key));

  function publish(): void {
    const translation = translate(clusterState);
    const items = withChallenges(translation.items, stored.challenges());
    ({ built } = buildSnapshot(built, { ...translation, items, listeners: new Map() }));
    revision++;
    progress.emit({ revision, document: { built, resources: clusterState, owners: translation.owners } } as never);
  }
  stored.changes.subscribe(publish);
  return {
    put,
    remove,
    client,
    stored,
    events,
    changed,
    runs,
    publish,
    stage,
    lead(next: number | null) {
      term = next;
      terms.emit(next);
    },
    acknowledge() {
      acknowledged = revision;
      progress.emit(null);
    },
    /** The lines of a metric. */
    async lines(name: string) {
      return (await registry.getSingleMetricAsString(name)).split("\n").filter((line) => line.startsWith(name));
    },
    condition(name: string) {
      const found = stage.conditionOf(clusterState.Certificate.get(`default/${name}`) as Resource);
      return found && `${found.status} ${found.reason} ${found.message}`;
    },
    last: () => runs.at(-1) ?? assert.fail("nothing is ordered"),
  };
}

const web = { spec: { acme: {}, snis: [{ name: "a.test" }] } };

test("only a leader orders, and it stops when it no longer leads", async (context) => {
  const { put, publish, lead, runs, last } = await scene(context);
  put("Certificate", "web", web);
  publish();
  assert.equal(runs.length, 0);
  lead(1);
  assert.deepEqual(
    last().followed.map(({ name, snis, cert }) => [name, snis, cert]),
    [["default/web", ["a.test"], null]],
  );
  const { storage, followed } = last();
  lead(null);
  assert.equal(last().closed, true);
  await assert.rejects(storage.state(followed[0]?.id ?? ""), /no longer leads/);
  lead(3);
  assert.equal(runs.length, 2);
  assert.equal(last().followed.length, 1);
});

test("challenges count as published when they are stored and all nodes have acknowledged them", async (context) => {
  const { put, publish, lead, last, stored, acknowledge } = await scene(context);
  put("Certificate", "web", web);
  publish();
  lead(1);
  const { storage, followed } = last();
  const id = followed[0]?.id ?? "";
  let isPublished = false;
  const publishing = storage.publishChallenges(id, [challenge]).then(() => {
    isPublished = true;
  });
  await waitFor(() => stored.challenges().has(id), { what: "the challenges to be stored" });
  assert.equal(isPublished, false);
  acknowledge();
  await publishing;
  await storage.publishChallenges(id, []);
  assert.equal(stored.challenges().size, 0);
});

test("a new pair is written into a Secret that belongs to the Certificate, and an equal one is not written again", async (context) => {
  const { put, publish, lead, last, client } = await scene(context);
  put("Certificate", "web", web);
  publish();
  lead(1);
  const { storage, followed } = last();
  const authority = await makeAuthority();
  const { certificate: cert, key } = await authority.issue({ name: "a.test", sans: ["a.test"], usage: "server" });
  await storage.putCertificate(followed[0]?.id ?? "", { cert, key });
  const ref = { kind: "Secret", namespace: "default", name: acmeSecretName("web") } as const;
  const secret = await client.get(ref);
  assert.equal(secret?.type, "kubernetes.io/tls");
  assert.equal(Buffer.from(secret?.data?.["tls.crt"] ?? "", "base64").toString(), cert);
  assert.equal(Buffer.from(secret?.data?.["tls.key"] ?? "", "base64").toString(), key);
  assert.equal(secret?.metadata.annotations?.["sluice.dev/certificate"], "web");
  await storage.putCertificate(followed[0]?.id ?? "", { cert, key });
  assert.equal((await client.get(ref))?.metadata.resourceVersion, secret?.metadata.resourceVersion);
  put("Secret", ref.name, secret ?? {});
  publish();
  assert.equal(last().followed[0]?.cert, cert);
});

test("the condition and the Events follow the order", async (context) => {
  const { put, publish, lead, last, events, changed, condition } = await scene(context);
  put("Certificate", "web", web);
  put("Certificate", "plain", { spec: { secretRef: { name: "absent" } } });
  assert.equal(condition("plain"), undefined);
  publish();
  assert.match(condition("web") ?? "", /^False Pending /);
  lead(1);
  const { onStatus, statuses, followed } = last();
  const report = (status: AcmeStatus) => {
    const id = followed[0]?.id ?? "";
    statuses.set(id, status);
    onStatus?.(id, status);
  };
  report(ordering);
  assert.match(condition("web") ?? "", /^False Ordering /);
  report(failed);
  report({ ...failed });
  assert.match(condition("web") ?? "", /^False OrderFailed CAA forbids a\.test \(caa\)\./);
  report(ordering);
  report(valid);
  assert.match(condition("web") ?? "", /^True Issued /);
  assert.deepEqual(events, [
    "Warning OrderFailed CAA forbids a.test (caa).",
    "Normal Issued A certificate was issued for a.test; it is valid until 2999-01-01T00:00:00.000Z.",
  ]);
  assert.deepEqual(new Set(changed), new Set(["Certificate/default/web"]));
});

test("metrics count orders from 0, and show the certificates that the leader orders", async (context) => {
  const { put, publish, lead, last, lines } = await scene(context);
  put("Certificate", "web", web);
  publish();
  const orders = (counts: readonly number[]) =>
    counts.map((count, at) => {
      const [kind, result] = [at < 2 ? "first" : "renewal", at % 2 === 0 ? "issued" : "failed"];
      return `sluice_acme_orders_total{kind="${kind}",result="${result}"} ${count}`;
    });
  assert.deepEqual(await lines("sluice_acme_orders_total"), orders([0, 0, 0, 0]));
  assert.deepEqual(await lines("sluice_acme_certificate_failures"), []);
  lead(1);
  last().onOrder?.({ kind: "renewal", result: "failed" });
  assert.deepEqual(await lines("sluice_acme_orders_total"), orders([0, 0, 0, 1]));
  assert.deepEqual(await lines("sluice_acme_certificate_failures"), [
    'sluice_acme_certificate_failures{certificate="default/web"} 1',
  ]);
  assert.deepEqual(await lines("sluice_acme_certificate_expiry_timestamp_seconds"), [
    'sluice_acme_certificate_expiry_timestamp_seconds{certificate="default/web"} 0',
  ]);
  lead(null);
  assert.deepEqual(await lines("sluice_acme_certificate_failures"), []);
});

test("the condition says why an order cannot be stored, until it can", async (context) => {
  const { put, publish, lead, last, condition, stored } = await scene(context);
  put("Certificate", "web", web);
  publish();
  lead(1);
  const { storage, followed, statuses } = last();
  const id = followed[0]?.id ?? "";
  statuses.set(id, ordering);
  const { put: write } = stored;
  Object.assign(stored, { put: () => Promise.reject(new Error('cannot patch resource "secrets"')) });
  await assert.rejects(storage.putState(id, {} as never));
  assert.match(
    condition("web") ?? "",
    /^False StorageFailed A certificate .* cannot store the order: cannot patch resource/,
  );
  Object.assign(stored, { put: write });
  await storage.putState(id, {} as never);
  assert.match(condition("web") ?? "", /^False Ordering /);
});

test("a condition stays as it is while a new leader does not know the state", async (context) => {
  const { put, publish, lead, condition } = await scene(context);
  const said = { type: "Issued", status: "True", reason: "Issued", message: "as before" } as const;
  put("Certificate", "web", { ...web, status: { conditions: [said] } });
  publish();
  lead(1);
  assert.equal(condition("web"), "True Issued as before");
});

test("stored orders of Certificates that are gone are removed, and those of invalid Certificates stay", async (context) => {
  const { put, publish, lead, remove, stored, last } = await scene(context);
  put("Certificate", "web", web);
  put("Certificate", "other", { spec: { acme: {}, snis: [{ name: "b.test" }] } });
  publish();
  lead(1);
  const ids = new Map(last().followed.map(({ name, id }) => [name, id]));
  const [one, other] = [ids.get("default/web") ?? "", ids.get("default/other") ?? ""];
  for (const id of [one, other]) await last().storage.putState(id, { failures: 1 } as never);
  put("Certificate", "other", { spec: { acme: { challenge: "none" }, snis: [{ name: "b.test" }] } });
  remove("Certificate", "web");
  publish();
  await waitFor(() => stored.get(one) === undefined, { what: "the order to be removed" });
  await stored.put(other, { challenges: [challenge] }, "default/other");
  await last().storage.publishChallenges(other, []);
  assert.deepEqual(new Map(stored.certificates()).get(other), "default/other", "the end of its challenges keeps it");
  assert.equal(stored.get(other)?.state?.failures, 1);
});

test("without SLUICE_ACME, the condition says what to set", () => {
  const metadata = { namespace: "default", name: "web", generation: 2 };
  const resource = { apiVersion: "sluice.dev/v1alpha1", kind: "Certificate", metadata };
  const { status, reason, message, observedGeneration } =
    disabledAcme.conditionOf({ ...resource, ...web }) ?? assert.fail();
  assert.deepEqual([status, reason, observedGeneration], ["False", "Disabled", 2]);
  assert.match(message, /acme\.enabled .* SLUICE_ACME/);
  assert.equal(disabledAcme.conditionOf({ ...resource, spec: {} }), undefined);
});

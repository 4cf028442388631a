/** When saved state is read, and when state is saved. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { ApiServerError, type Resource } from "@sluice/crds";
import { waitFor } from "../../../tools/process/index.ts";
import { createEmitter } from "../emitter.ts";
import { createLastValidVersions } from "./last-valid-versions.ts";
import { createStateReader } from "./state-reader.ts";
import { createStateSaver } from "./state-saver.ts";
import { createStateStore, type StateStore } from "./state-store.ts";
import { type TestStore, testStore } from "./testing-store.ts";

const started: (() => Promise<void>)[] = [];
after(() => Promise.all(started.map((close) => close())));

function route(uid: string, generation: number): Resource {
  const metadata = { name: "a", namespace: "default", uid, generation };
  return { apiVersion: "sluice.dev/v1alpha1", kind: "Route", metadata, spec: { paths: [`/${generation}`] } };
}
const key = "Route/default/a";

interface Scene {
  readonly store?: TestStore;
  readonly wraps?: (stateStore: StateStore) => StateStore;
  readonly refusalGrace?: number;
}

function scene({ store = testStore(), wraps = (stateStore) => stateStore, refusalGrace }: Scene = {}) {
  const state = { term: null as number | null };
  const valid = createLastValidVersions();
  const warnings: string[] = [];
  /** The number of resources in each report of the reader; 0: there was no unread state. */
  const reads: number[] = [];
  const log = { info() {}, warn: (_details: object, message?: string) => void warnings.push(message ?? "") };
  let writes = 0;
  const outcomes: string[] = [];
  let asked = 0;
  const stateStore = wraps(createStateStore({ store, log }));
  const terms = createEmitter<number | null>();
  const closing = new AbortController();
  const reader = createStateReader({
    store: stateStore,
    leadership: { terms },
    signal: closing.signal,
    log,
    retryInterval: 1,
    ...(refusalGrace === undefined ? {} : { refusalGrace }),
  });
  reader.restored.subscribe((saved) => {
    reads.push(saved?.size ?? 0);
    if (saved) valid.restore(saved);
  });
  const saver = createStateSaver({
    store: {
      ...stateStore,
      async write(acknowledged) {
        await stateStore.write(acknowledged);
        writes++;
      },
    },
    reader,
    leadership: { terms },
    interval: 1,
    hash: () => (state.term === null ? null : "hash"),
    version: valid.version,
    acknowledged() {
      asked++;
      return state.term === null ? null : { term: state.term, revision: 1, hash: "hash", resources: valid.all() };
    },
    onWrite: (outcome) => void outcomes.push(outcome),
    log,
  });
  started.push(() => {
    closing.abort();
    return saver.close();
  });
  return {
    store,
    valid,
    warnings,
    reads,
    reader,
    saver,
    writes: () => writes,
    outcomes,
    /** How often the acknowledged state was requested. */
    asked: () => asked,
    lead(term: number | null) {
      state.term = term;
      terms.emit(term);
    },
    kept: async () => (await createStateStore({ store, log }).read())?.get(key),
  };
}

const refusals: Readonly<Record<string, Error>> = {
  "a missing permission": new ApiServerError(403, { message: "configmaps is forbidden: role not found" }),
  "an unknown token": new ApiServerError(401, { message: "Unauthorized" }),
  "an unreadable response": new SyntaxError("Unexpected token '<'"),
  "a credential plugin that failed": new Error("exec plugin: exit 1"),
};
for (const [what, refusal] of Object.entries(refusals)) {
  const refusing = (times: number) => (stateStore: StateStore) => {
    let left = times;
    return { ...stateStore, read: () => (left-- > 0 ? Promise.reject(refusal) : stateStore.read()) };
  };

  test(`a temporary refusal at the start (${what}) loses no saved state, and is logged once`, async () => {
    const { store, ...first } = scene();
    first.valid.record(key, route("one", 1));
    first.lead(1);
    await waitFor(() => first.writes() === 1, { what: "the state to be saved" });
    const { reads, warnings, reader } = scene({ store, wraps: refusing(5) });
    assert.equal(reader.isRead(), false);
    await waitFor(() => reader.isRead(), { what: "the state to be read" });
    assert.deepEqual([reads, warnings], [[1], ["cannot read the saved state"]]);
  });

  test(`a permanent refusal (${what}) delays the start and each term for a limited time only`, async () => {
    const { reads, warnings, reader, lead } = scene({ wraps: refusing(Number.POSITIVE_INFINITY), refusalGrace: 20 });
    await waitFor(() => reader.isRead(), { what: "the reader to give up" });
    assert.deepEqual([reads, warnings], [[0], ["cannot read the saved state", "continuing without the saved state"]]);
    lead(1);
    await waitFor(() => reader.isRead(), { what: "the reader to continue at once" });
    assert.deepEqual(reads, [0, 0]);
  });
}

const silences: Readonly<Record<string, Error>> = {
  "a broken connection": Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" }),
  "a timeout": new DOMException("aborted due to timeout", "TimeoutError"),
  "an overloaded server": new ApiServerError(429, { message: "slow down" }),
  "a server that fails": new ApiServerError(503, { message: "etcd has no leader" }),
};
for (const [what, silence] of Object.entries(silences))
  test(`${what} is not a refusal: the read is retried until the store answers`, async () => {
    let asked = 0;
    const wraps = (stateStore: StateStore) => ({
      ...stateStore,
      read: () => (++asked <= 20 ? Promise.reject(silence) : stateStore.read()),
    });
    const { reader, reads } = scene({ wraps, refusalGrace: 0 });
    await waitFor(() => reader.isRead(), { what: "the state to be read" });
    assert.deepEqual([asked, reads], [21, [0]]);
  });

test("when a term begins, an operator first reads what another operator has saved, and then saves its own state", async () => {
  const store = testStore();
  const [one, two] = [scene({ store }), scene({ store })];
  await waitFor(() => one.reader.isRead() && two.reader.isRead(), {
    what: "both operators to have read the saved state",
  });
  one.valid.record(key, route("one", 3));
  two.valid.record(key, route("one", 1));
  one.lead(1);
  await waitFor(() => one.writes() === 1, { what: "the first operator to save" });
  one.lead(null);
  two.lead(2);
  assert.equal(two.reader.isRead(), false);
  await waitFor(() => two.writes() === 1, { what: "the second operator to save" });
  assert.equal(two.valid.get(key, "one")?.metadata.generation, 3);
  assert.equal((await two.kept())?.metadata.generation, 3);
});

test("a term that begins during a read causes another read", async () => {
  const store = testStore();
  const one = scene({ store });
  await waitFor(() => one.reader.isRead(), { what: "the first operator to have read the saved state" });
  const answer = Promise.withResolvers<void>();
  let isSlow = true;
  const two = scene({
    store,
    wraps: (stateStore) => ({
      ...stateStore,
      async read() {
        const found = await stateStore.read();
        if (isSlow) await answer.promise;
        return found;
      },
    }),
  });
  one.valid.record(key, route("one", 1));
  one.lead(1);
  await waitFor(() => one.writes() === 1, { what: "the first operator to save" });
  two.lead(2);
  isSlow = false;
  answer.resolve();
  await waitFor(() => two.reader.isRead(), { what: "the second operator to have read twice" });
  assert.deepEqual(two.reads, [0, 1]);
});

test("state that could not be read in time is read before a write would replace it", async () => {
  const { store, ...first } = scene();
  first.valid.record(key, route("one", 1));
  first.lead(1);
  await waitFor(() => first.writes() === 1, { what: "the state to be saved" });
  let isRefused = true;
  const refusal = new ApiServerError(403, { message: "forbidden" });
  const wraps = (stateStore: StateStore) => ({
    ...stateStore,
    read: () => (isRefused ? Promise.reject(refusal) : stateStore.read()),
  });
  const next = scene({ store, wraps, refusalGrace: 0 });
  next.lead(2);
  await waitFor(() => next.reader.isRead(), { what: "the reader to give up" });
  isRefused = false;
  await waitFor(() => next.writes() === 1, { what: "the state to be saved" });
  assert.ok(await next.kept());
});

test("after a write that was started in an earlier term, the state is saved again in the current term", async () => {
  const begun = Promise.withResolvers<void>();
  const goes = Promise.withResolvers<void>();
  const wraps = (stateStore: StateStore): StateStore => ({
    ...stateStore,
    async write(acknowledged) {
      await stateStore.write(acknowledged);
      begun.resolve();
      await goes.promise;
    },
  });
  const { lead, writes, store } = scene({ wraps });
  lead(1);
  await begun.promise;
  lead(3);
  goes.resolve();
  await waitFor(() => writes() === 2, { what: "the state to be saved again" });
  assert.equal(JSON.parse((await store.manifest())?.text ?? "").term, 3);
});

test("a recreated object causes a save although the document is the same; a new generation or status does not", async (t) => {
  const { valid, saver, writes, asked, kept, lead } = scene();
  valid.record(key, route("one", 1));
  lead(1);
  await waitFor(() => writes() === 1, { what: "the state to be saved" });
  const before = asked();
  t.mock.timers.enable({ apis: ["setTimeout"] });
  valid.refresh(key, { ...route("one", 1), status: { conditions: [] } });
  valid.record(key, route("one", 2));
  saver.schedule();
  t.mock.timers.tick(60_000);
  assert.equal(asked(), before, "there is nothing new to save");
  t.mock.timers.reset();
  valid.record(key, route("two", 1));
  saver.schedule();
  await waitFor(() => writes() === 2, { what: "the new object to be saved" });
  assert.equal((await kept())?.metadata.uid, "two");
});

test("when the encryption key is replaced while an operator leads, the new key is used even if the document does not change", async () => {
  const { store, valid, reader, lead, writes, warnings, kept } = scene();
  valid.record(key, route("one", 1));
  lead(1);
  await waitFor(() => reader.isRead() && writes() > 0, { what: "a write" });
  const before = writes();
  store.loseKey();
  await waitFor(() => writes() > before, { what: "all parts to be saved again" });
  assert.equal((await kept())?.metadata.generation, 1);
  assert.deepEqual(warnings, ["the encryption key of the saved state has changed: encrypting all of it again"]);
});

test("an unreadable encryption key is logged, and the state is saved again once a key can be read", async () => {
  let fails = false;
  const store = testStore();
  const { valid, lead, writes, warnings } = scene({
    store: {
      ...store,
      async key() {
        if (fails) throw new Error("the Secret holds no key of 32 bytes");
        return store.key();
      },
    },
  });
  valid.record(key, route("one", 1));
  lead(1);
  await waitFor(() => writes() > 0, { what: "a write" });
  fails = true;
  await waitFor(() => warnings.length > 0, { what: "the warning" });
  assert.deepEqual([...new Set(warnings)], ["cannot read the encryption key of the saved state"]);
  fails = false;
  const before = writes();
  store.loseKey();
  await waitFor(() => writes() > before, { what: "a write" });
});

test("each write of the state is reported with its outcome", async () => {
  let failures = 1;
  const { valid, lead, writes, outcomes } = scene({
    wraps: (stateStore) => ({
      ...stateStore,
      write: (state) => (failures-- > 0 ? Promise.reject(new Error("disk full")) : stateStore.write(state)),
    }),
  });
  valid.record(key, route("one", 1));
  lead(1);
  await waitFor(() => writes() === 1, { what: "the state to be saved" });
  assert.deepEqual(outcomes, ["failed", "written"]);
});

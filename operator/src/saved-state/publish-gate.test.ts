/** When a new leader begins to publish, although it may know fewer last valid versions than the previous leader. */
import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { StateBackend } from "@sluice/crds";
import { waitFor } from "../../../tools/process/index.ts";
import { createEmitter } from "../emitter.ts";
import type { LeaderElectionHooks, StartLeaderElection } from "../leader-election/leader-election.ts";
import { createPublishGate } from "./publish-gate.ts";
import { createStateStore } from "./state-store.ts";
import { type OperatorStatusBody, operatorsOver } from "./testing-operator.ts";
import { testStore } from "./testing-store.ts";

const operators = await operatorsOver("publish-gate");
const { folder, node, log, write, paths } = operators;
const route = (path: string) => write("route", { serviceRef: { name: "users" }, paths: [path] });

/** An operator whose leadership the test controls. */
async function start(store: StateBackend) {
  let term: number | null = null;
  let hooks: LeaderElectionHooks | undefined;
  const startElection: StartLeaderElection = (given) => {
    hooks = given;
    return { term: () => term, leader: () => null, observeTerm() {}, close: async () => {} };
  };
  const operator = await operators.start({ store, startElection, interval: "1h" });
  const { status, isReady } = operator;
  await waitFor(async () => (await isReady()) && (await status()).hash, { what: "a document" });
  return {
    ...operator,
    lead(next: number | null) {
      term = next;
      hooks?.onTerm(next);
    },
  };
}

const keptBy = async (store: StateBackend) =>
  JSON.parse((await store.manifest())?.text ?? "{}") as Partial<OperatorStatusBody>;

/** The first operator leads and has saved its state. It saves later changes when it is closed. */
async function scene() {
  rmSync(join(folder, "route.json"), { force: true });
  write("users", { url: "http://users.test" }, "Service");
  await node.restart();
  const store = testStore();
  const first = await start(store);
  first.lead(1);
  await waitFor(async () => (await keptBy(store)).hash === (await first.status()).hash, {
    what: "the state to be saved",
  });
  return { store, first };
}

test("a route that was valid only under the previous leader is published and saved by the next leader in its last valid version", async () => {
  const { store, first } = await scene();
  const asked = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<void>();
  let holds = false;
  route("/valid");
  await waitFor(() => paths().includes("/valid"), { what: "the node to serve the route" });
  const { hash } = await first.status();
  route("no-slash");
  await waitFor(async () => (await first.status()).acknowledged.length > 0, { what: "an acknowledgement" });
  const second = await start({
    ...store,
    async manifest() {
      if (holds) {
        asked.resolve();
        await answer.promise;
      }
      return store.manifest();
    },
  });
  try {
    assert.notEqual((await second.status()).hash, hash, "the second operator never read a valid version");
    await first.close();
    assert.equal((await keptBy(store)).hash, hash);
    holds = true;
    const pushes = node.pushes.length;
    second.lead(2);
    await asked.promise;
    // The restarted node would accept any document of the second operator.
    await node.restart();
    await waitFor(async () => (await second.status()).nodes[0]?.hash === null, {
      what: "the second operator to see that the node is empty",
    });
    holds = false;
    answer.resolve();
    await waitFor(async () => (await keptBy(store)).term === 2, { what: "the second operator to save its state" });
    assert.deepEqual(paths(), ["/valid"]);
    assert.equal(node.pushes.length, pushes + 1, "a document without the route was pushed");
    assert.ok((await createStateStore({ store, log }).read())?.has("Route/default/route"));
  } finally {
    await second.close();
  }
});

test("a new leader that has already read all saved state reads no part again, and saves its own state", async () => {
  const { store, first } = await scene();
  const parts: string[] = [];
  const part = (name: string) => {
    parts.push(name);
    return store.part(name);
  };
  const second = await start({ ...store, part });
  try {
    assert.ok(parts.length > 0);
    first.lead(null);
    await first.close();
    parts.length = 0;
    second.lead(2);
    await waitFor(async () => (await keptBy(store)).term === 2, { what: "the second operator to save its state" });
    assert.deepEqual(parts, []);
  } finally {
    await second.close();
  }
});

interface Step {
  readonly does: (scene: ReturnType<typeof gate>) => void;
  readonly publishes: boolean;
}

function gate() {
  const state = { term: null as number | null, isRead: true };
  const terms = createEmitter<number | null>();
  const publishGate = createPublishGate({ term: () => state.term, terms }, { isRead: () => state.isRead });
  return {
    publishGate,
    unread: () => {
      state.isRead = false;
    },
    lead(term: number | null) {
      state.term = term;
      terms.emit(term);
    },
    /** Changes the operator's term without reporting the change. */
    gets: (term: number | null) => {
      state.term = term;
    },
    read(isNews: boolean) {
      state.isRead = true;
      publishGate.stateRestored(isNews);
    },
  };
}

const races: Readonly<Record<string, readonly Step[]>> = {
  "a translation that was in progress when state was restored does not open the gate": [
    { does: ({ publishGate }) => publishGate.translationStarted(), publishes: false },
    { does: ({ unread, lead }) => [unread(), lead(1)], publishes: false },
    { does: ({ read }) => read(true), publishes: false },
    { does: ({ publishGate }) => publishGate.translationPublished(), publishes: false },
    { does: ({ publishGate }) => publishGate.translationStarted(), publishes: false },
    { does: ({ publishGate }) => publishGate.translationPublished(), publishes: true },
  ],
  "restored state that cannot be translated does not block publishing the existing document": [
    { does: ({ unread, lead }) => [unread(), lead(1)], publishes: false },
    { does: ({ publishGate }) => publishGate.translationStarted(), publishes: false },
    { does: ({ read }) => read(true), publishes: false },
    { does: ({ publishGate }) => publishGate.translationFailed(), publishes: false },
    { does: ({ publishGate }) => publishGate.translationStarted(), publishes: false },
    { does: ({ publishGate }) => publishGate.translationFailed(), publishes: true },
  ],
  "an operator whose term ends during the read publishes nothing, and waits for another read in its next term": [
    { does: ({ unread, lead }) => [unread(), lead(1)], publishes: false },
    { does: ({ lead }) => lead(null), publishes: false },
    { does: ({ read }) => read(false), publishes: false },
    { does: ({ unread, lead }) => [unread(), lead(3)], publishes: false },
    { does: ({ read }) => read(false), publishes: true },
  ],
  "an operator whose term has ended or changed publishes nothing, even before this is reported, until it has read again":
    [
      { does: ({ lead }) => lead(1), publishes: true },
      { does: ({ gets }) => gets(null), publishes: false },
      { does: ({ gets }) => gets(3), publishes: false },
      { does: ({ unread, lead }) => [unread(), lead(3)], publishes: false },
      { does: ({ read }) => read(false), publishes: true },
    ],
};
for (const [what, steps] of Object.entries(races))
  test(what, () => {
    const scene = gate();
    for (const [index, { does, publishes }] of steps.entries()) {
      does(scene);
      assert.equal(scene.publishGate.term() !== null, publishes, `step ${index + 1}`);
    }
  });

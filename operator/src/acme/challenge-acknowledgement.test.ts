import assert from "node:assert/strict";
import { test } from "node:test";
import { createEmitter } from "../emitter.ts";
import type { PublishedDocument } from "../publish/publish-stage.ts";
import { createChallengeAcknowledgement } from "./challenge-acknowledgement.ts";

const challenge = { type: "http-01", domain: "a.test", token: "t", key_authorization: "t.k" } as const;

function scene(timeout = 60_000) {
  const progress = createEmitter<PublishedDocument | null>();
  const nodes = { acknowledgedRevision: 0, lagging: ["https://n1", "https://n2"] };
  const acknowledgement = (revision: number) => {
    const programmed = nodes.acknowledgedRevision >= revision;
    return { programmed, acknowledged: [], lagging: programmed ? [] : nodes.lagging, silent: [] };
  };
  const { wait } = createChallengeAcknowledgement({ publish: { progress, publisher: { acknowledgement } }, timeout });
  return {
    nodes,
    wait: (signal = new AbortController().signal) => wait("1", [challenge], signal),
    publish(revision: number, challenges: readonly object[] | undefined) {
      const certificates = new Map([["1", { _sluice: { challenges } }]]);
      progress.emit({ revision, document: { built: { snapshot: { certificates } } } } as never);
    },
    acknowledge(revision: number) {
      nodes.acknowledgedRevision = revision;
      progress.emit(null);
    },
  };
}

/** Whether the promise has settled by the next turn of the event loop. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  return Promise.race([
    promise.then(() => true),
    new Promise<boolean>((resolve) => setImmediate(() => resolve(false))),
  ]);
}

test("the wait ends when all nodes have acknowledged the first revision with the challenges", async () => {
  const { wait, publish, acknowledge } = scene();
  publish(1, undefined);
  acknowledge(1);
  const waiting = wait();
  publish(2, [challenge]);
  publish(3, [challenge]);
  assert.equal(await isSettled(waiting), false);
  acknowledge(2);
  assert.equal(await isSettled(waiting), true);
});

test("nodes that have the challenges already need no further revision", async () => {
  const { wait, publish, acknowledge } = scene();
  publish(5, [challenge]);
  acknowledge(5);
  await wait();
});

test("a document with other challenges does not end the wait", async () => {
  const { wait, publish, acknowledge } = scene();
  const waiting = wait(AbortSignal.timeout(2000));
  publish(1, [{ ...challenge, token: "other" }]);
  acknowledge(1);
  assert.equal(await isSettled(waiting), false);
  publish(2, [challenge]);
  acknowledge(2);
  await waiting;
});

test("after the timeout, the error names the nodes that have not acknowledged", async () => {
  const { wait, publish } = scene(5);
  publish(1, [challenge]);
  await assert.rejects(
    wait(),
    /not all nodes have received .* within 0.005 s: these nodes have not: https:\/\/n1, https:\/\/n2/,
  );
});

test("the wait ends when the operator no longer leads", async () => {
  const { wait } = scene();
  const ending = new AbortController();
  const waiting = wait(ending.signal);
  ending.abort(new Error("this operator no longer leads"));
  await assert.rejects(waiting, /no longer leads/);
});

import assert from "node:assert/strict";
import { once } from "node:events";
import { type TestContext, test } from "node:test";
import type { NodeReport, PushView } from "@sluice/model";
import type { MemberCandidate } from "./fleet-membership.ts";
import { createFleetViews, type FleetViewsOptions } from "./fleet-views.ts";

const TERM = 1;

const node = (name: string, epoch: number): MemberCandidate & { readonly fleet: string } => ({
  address: `https://${name}:8005`,
  fleet: "shared",
  state: {
    node: name,
    hash: null,
    revision: 1,
    term: TERM,
    version: "test",
    peer: { name, port: 8006, epoch, state: "present" },
  },
  unansweredSince: null,
  isRefusing: false,
  isTerminating: false,
});

/** The calls for these nodes until each of those without a view has got it. */
async function callsFor(
  context: TestContext,
  nodes: readonly ReturnType<typeof node>[],
  options: Partial<FleetViewsOptions> = {},
): Promise<readonly string[]> {
  const calls: string[] = [];
  const sent = new EventTarget();
  const nameOf = (address: string) => new URL(address).hostname;
  const views = createFleetViews({
    nodes: () => nodes,
    term: () => TERM,
    send: async (address: string, view: PushView): Promise<NodeReport> => {
      calls.push(`view ${nameOf(address)}`);
      sent.dispatchEvent(new Event("view"));
      const { state } = node(nameOf(address), view.epoch);
      return state ?? assert.fail();
    },
    restore: async ({ address }) => void calls.push(`restore ${nameOf(address)}`),
    onRefusal: assert.fail,
    ...options,
  });
  context.after(() => views.close());
  views.schedule();
  while (calls.filter((call) => call.startsWith("view")).length < nodes.length) await once(sent, "view");
  return calls;
}

test("new nodes get the counters that the operator keeps before their first view", async (context) => {
  const calls = await callsFor(context, [node("a", 0), node("b", 0)]);
  assert.deepEqual(calls.toSorted(), ["restore a", "restore b", "view a", "view b"]);
  for (const name of ["a", "b"]) assert.ok(calls.indexOf(`restore ${name}`) < calls.indexOf(`view ${name}`));
});

test("a node that has had a view gets no counters with the next one", async (context) => {
  assert.deepEqual((await callsFor(context, [node("a", 5), node("b", 0)])).toSorted(), [
    "restore b",
    "view a",
    "view b",
  ]);
});

test("a node that did not take the counters gets no view until it has", async (context) => {
  let attempts = 0;
  const calls = await callsFor(context, [node("a", 0)], {
    restore: async () => {
      attempts += 1;
      if (attempts === 1) throw new Error("no answer");
    },
  });
  assert.deepEqual([calls, attempts], [["view a"], 2]);
});

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import {
  FLEET_COUNTERS_PATH,
  type FleetCountersAnswer,
  type FleetCountersCall,
  type KeptCounter,
  type PluginEndpointCall,
} from "@sluice/model";
import { createFleetCounters, type FleetCountersOptions } from "./fleet-counters.ts";

const HOUR = 3_600_000;

const kept = (key: string, content: unknown = key, facts: Partial<KeptCounter> = {}): KeptCounter => ({
  key,
  expires: Date.now() + HOUR,
  savedAt: 1,
  content,
  ...facts,
});

const bodyOf = ({ request }: PluginEndpointCall) => request.body as FleetCountersCall;

/** A node that has saved counters, each with the next sequence. */
function nodeWith(...saved: KeptCounter[]) {
  const restored: KeptCounter[] = [];
  const calls: FleetCountersCall[] = [];
  const answer = (call: PluginEndpointCall, most = 2): FleetCountersAnswer => {
    assert.deepEqual(call.request.path, [FLEET_COUNTERS_PATH]);
    const body = bodyOf(call);
    calls.push(body);
    restored.push(...body.restored);
    const counters = saved.slice(body.since, body.since + most);
    const sequence = body.since + counters.length;
    return { sequence, counters, hasMore: sequence < saved.length };
  };
  return { saved, restored, calls, answer };
}

type TestNode = ReturnType<typeof nodeWith>;

/** The counters of fleet "shared", whose nodes are a and b; "other" has the node c. */
function countersOf(
  context: TestContext,
  nodes: Record<string, TestNode>,
  options: Partial<FleetCountersOptions> = {},
) {
  const refusals: string[] = [];
  const counters = createFleetCounters({
    nodes: () => Object.keys(nodes).map((name) => ({ address: name, name, fleet: name === "c" ? "other" : "shared" })),
    ask: async (address, call) => {
      const node = nodes[address];
      if (node === undefined) throw new Error("no such node");
      return { response: { status: 200, body: node.answer(call) } };
    },
    onRefusal: (address, reason) => refusals.push(`${address}: ${reason}`),
    interval: HOUR,
    ...options,
  });
  context.after(() => counters.close());
  return { counters, refusals };
}

const contentsOf = (node: TestNode) => node.restored.map(({ content }) => content).toSorted();

test("a new node gets what the nodes of its fleet have saved, of each counter what was saved last", async (context) => {
  const [a, b, c] = [
    nodeWith(kept("one", "old"), kept("two"), kept("three")),
    nodeWith(kept("one", "new", { savedAt: 2 }), kept("ended", "ended", { expires: Date.now() - 1 })),
    nodeWith(kept("of another fleet")),
  ];
  const nodes = { a, b, c };
  const { counters } = countersOf(context, nodes);
  await counters.round();
  await counters.round();
  await counters.restore({ address: "a", fleet: "shared" });
  assert.deepEqual(contentsOf(a), ["new", "three", "two"]);
  assert.deepEqual(contentsOf(c), []);
});

test("each round asks for what was saved since the last one, and a new process from the beginning", async (context) => {
  const a = nodeWith(kept("one"), kept("two"), kept("three"));
  const nodes: Record<string, TestNode> = { a };
  const { counters } = countersOf(context, nodes);
  await counters.round();
  a.saved.push(kept("four"));
  await counters.round();
  assert.deepEqual(
    a.calls.map(({ since }) => since),
    [0, 2, 3],
  );
  Reflect.deleteProperty(nodes, "a");
  await counters.round();
  nodes.a = a;
  await counters.round();
  assert.equal(a.calls.at(3)?.since, 0);
});

test("counters are restored in calls of at most half a megabyte", async (context) => {
  const a = nodeWith(...Array.from({ length: 30 }, (_, at) => kept(`${at}`, "x".repeat(100_000))));
  const { counters } = countersOf(context, { a });
  for (let rounds = 0; rounds < 3; rounds++) await counters.round();
  a.calls.length = 0;
  await counters.restore({ address: "a", fleet: "shared" });
  assert.equal(a.restored.length, 30);
  for (const call of a.calls) assert.ok(JSON.stringify(call).length < 600_000);
});

test("a node without this endpoint, or that does not answer, is left out", async (context) => {
  const a = nodeWith(kept("one"));
  const { counters } = countersOf(
    context,
    { a, b: a },
    {
      ask: async (address, call) => {
        if (address === "b") throw new Error("gone");
        return { response: bodyOf(call).restored.length > 0 ? null : { status: 200, body: a.answer(call) } };
      },
    },
  );
  await counters.round();
  await counters.restore({ address: "a", fleet: "shared" });
  await assert.rejects(counters.restore({ address: "b", fleet: "shared" }), /gone/);
});

test("a node that refuses the counters gets its view nevertheless, and is reported", async (context) => {
  const a = nodeWith(kept("one"));
  const { counters, refusals } = countersOf(
    context,
    { a },
    {
      ask: async (_, call) => {
        const isRestored = bodyOf(call).restored.length > 0;
        return {
          response: isRestored ? { status: 400, body: { message: "no" } } : { status: 200, body: a.answer(call) },
        };
      },
    },
  );
  await counters.round();
  await counters.restore({ address: "a", fleet: "shared" });
  assert.deepEqual(refusals, ['a: status 400: {"message":"no"}']);
});

test("the counters that were saved first make room for others above 10,000", async (context) => {
  const a = nodeWith(...Array.from({ length: 10_050 }, (_, at) => kept(`${at}`)));
  const { counters } = countersOf(
    context,
    { a },
    {
      ask: async (_, call) => ({ response: { status: 200, body: a.answer(call, 1000) } }),
    },
  );
  await counters.round();
  await counters.restore({ address: "a", fleet: "shared" });
  assert.equal(a.restored.length, 10_000);
  assert.equal(a.restored[0]?.key, "50");
});

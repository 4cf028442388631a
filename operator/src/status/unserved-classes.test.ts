import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Condition, Resource, SluiceKind } from "@sluice/crds";
import { pino } from "pino";
import { waitFor } from "../../../tools/process/index.ts";
import { testClusterState } from "../translate/testing-cluster-state.ts";
import { createUnservedClasses } from "./unserved-classes.ts";

function scene(t: TestContext, { speaks = true, served = ["dev"] as readonly string[] } = {}) {
  const { clusterState, put } = testClusterState();
  const state = { speaks, served, fails: 0 };
  const said: string[] = [];
  const messages: string[] = [];
  const unserved = createUnservedClasses({
    client: {
      async setConditions({ kind, name }, conditions) {
        if (state.fails-- > 0) throw new Error("no answer");
        said.push(`${kind} ${name}: ${conditions.map(({ type, status, reason }) => `${type} ${status} ${reason}`)}`);
      },
    },
    manager: "test",
    recordEvent: (_, { message }) => messages.push(message),
    clusterState: clusterState as unknown as Record<SluiceKind, ReadonlyMap<string, Resource>>,
    classes: {
      classOf: ({ spec }) => (spec?.class as string | undefined) ?? "sluice",
      servedClasses: () => state.served,
    },
    isReporter: () => state.speaks,
    log: pino({ level: "silent" }),
    gracePeriod: 5,
  });
  t.after(() => unserved.close());
  return {
    state,
    said,
    messages,
    unserved,
    put(name: string, spec: object, conditions?: readonly Condition[]) {
      put("Route", name, { spec: { ...spec }, ...(conditions && { status: { conditions } }) });
      unserved.check("Route", `default/${name}`);
    },
  };
}

const condition = (reason: string, observedGeneration: number): Condition => ({
  type: "Accepted",
  status: "True",
  reason,
  message: "",
  observedGeneration,
});

test("a resource whose class no operator serves is reported after a while, with the served classes", async (t) => {
  const { put, said, messages } = scene(t, { served: ["dev", "edge"] });
  put("web", {});
  put("odd", { class: "odd" });
  put("ours", { class: "dev" });
  await waitFor(() => messages.length === 2, { what: "both resources to be reported" });
  assert.deepEqual(said, [
    "Route web: Accepted False ClassNotServed,Programmed False ClassNotServed",
    "Route odd: Accepted False ClassNotServed,Programmed False ClassNotServed",
  ]);
  assert.deepEqual(messages, [
    "no operator serves the class sluice, to which resources of default without spec.class belong: " +
      "set spec.class to one that is served (dev, edge)",
    "no operator serves the class odd: set spec.class to one that is served (dev, edge)",
  ]);
});

test("a condition for the current generation with a reason other than ClassNotServed stays; a condition for an earlier generation or with an outdated message is replaced", async (t) => {
  const { put, said, messages } = scene(t);
  put("current", {}, [condition("Accepted", 1)]);
  put("changed", {}, [condition("Accepted", 0)]);
  put("outdated", {}, [condition("ClassNotServed", 1)]);
  await waitFor(() => messages.length === 2, { what: "two resources to be reported" });
  assert.deepEqual(
    said.map((one) => one.split(":")[0]),
    ["Route changed", "Route outdated"],
  );
});

test("a resource whose class becomes served is not reported, and a failed write is retried", async (t) => {
  const { put, state, said, messages, unserved } = scene(t);
  put("late", { class: "late" });
  put("odd", { class: "odd" });
  state.served = ["dev", "late"];
  state.fails = 1;
  await waitFor(() => messages.length > 0, { what: "one resource to be reported" });
  assert.deepEqual(said, ["Route odd: Accepted False ClassNotServed,Programmed False ClassNotServed"]);
  unserved.close();
});

test("an operator reports no resource until it becomes the reporting operator", async (t) => {
  const { put, state, messages, unserved } = scene(t, { speaks: false });
  put("web", {});
  assert.deepEqual(messages, []);
  state.speaks = true;
  unserved.checkAll();
  await waitFor(() => messages.length === 1, { what: "the resource to be reported" });
});

import assert from "node:assert/strict";
import { test } from "node:test";
import type { PluginPhases } from "@sluice/plugin-sdk";
import { fakeServices, pluginsWithPhases } from "../../../test/plugins/fake-exchange.ts";
import { compile } from "../compile/compile.ts";
import type { Runtime } from "../compile/runtime.ts";
import { PluginLifecycle } from "./plugin-lifecycle.ts";
import { snapshotOfDocument } from "./threads/testing-worker-pool.ts";

/** The lifecycle of instances that record their starts and stops. */
function startLifecycle() {
  const events: string[] = [];
  const phases = ({ max_age, status_code }: Readonly<Record<string, unknown>>): PluginPhases => ({
    start: () => void events.push(`start ${max_age ?? status_code}`),
    stop: async () => void events.push(`stop ${max_age ?? status_code}`),
  });
  const tools = { plugins: pluginsWithPhases(phases), services: fakeServices() };
  const lifecycle = new PluginLifecycle();
  let current: Runtime | null = null;
  return {
    events,
    /** Activates these plugins; returns the runtime. */
    serve(plugins: readonly object[]): Runtime {
      const previous = current;
      const document = { routes: [{ name: "r", paths: ["/"] }], plugins };
      current = compile(previous, snapshotOfDocument(document, previous?.snapshot), tools);
      lifecycle.replaced(previous, current);
      return current;
    },
    close: async () => void (current && (await lifecycle.close(current))),
  };
}

function endExchange({ exchanges }: Runtime): void {
  if (--exchanges.open === 0) exchanges.onIdle?.();
}

const cors = (max_age: number) => ({ name: "cors", config: { max_age } });
const termination = (status_code: number) => ({ name: "request-termination", config: { status_code } });

test("an instance starts when it becomes active and stops when a new configuration lacks it", () => {
  const { events, serve } = startLifecycle();
  serve([cors(1)]);
  assert.deepEqual(events.splice(0), ["start 1"]);
  serve([cors(2)]);
  assert.deepEqual(events.splice(0), ["start 2", "stop 1"]);
  serve([]);
  assert.deepEqual(events, ["stop 2"]);
});

test("an instance that a new configuration does not change keeps running", () => {
  const { events, serve } = startLifecycle();
  serve([cors(1)]);
  serve([cors(1), termination(200)]);
  assert.deepEqual(events, ["start 1", "start 200"]);
});

test("an instance stops after the last exchange that uses it, and waits for exchanges of earlier configurations too", () => {
  const { events, serve } = startLifecycle();
  const first = serve([cors(1)]);
  first.exchanges.open = 2;
  const second = serve([cors(1), termination(200)]);
  second.exchanges.open = 1;
  serve([termination(503)]);
  events.length = 0;
  endExchange(second);
  endExchange(first);
  assert.deepEqual(events, ["stop 200"], "the first configuration has no instance with 200");
  endExchange(first);
  assert.deepEqual(events, ["stop 200", "stop 1"]);
});

test("an exchange of an old configuration, such as a WebSocket, does not keep the instances of later ones", () => {
  const { events, serve } = startLifecycle();
  const first = serve([cors(1)]);
  first.exchanges.open = 1;
  const second = serve([cors(1), termination(200)]);
  second.exchanges.open = 1;
  serve([cors(2), termination(200)]);
  serve([cors(3)]);
  serve([cors(4)]);
  assert.deepEqual(
    events.splice(0).filter((event) => event.startsWith("stop")),
    ["stop 2", "stop 3"],
    "the second configuration still uses 200, and both use 1",
  );
  endExchange(second);
  assert.deepEqual(events.splice(0), ["stop 200"]);
  endExchange(first);
  assert.deepEqual(events, ["stop 1"]);
});

test("closing the lifecycle stops all instances, also those of replaced configurations", async () => {
  const { events, serve, close } = startLifecycle();
  serve([cors(1)]).exchanges.open = 1;
  serve([cors(2)]);
  events.length = 0;
  await close();
  assert.deepEqual(events.toSorted(), ["stop 1", "stop 2"]);
});

import assert from "node:assert/strict";
import type { AddressInfo, Socket } from "node:net";
import { createServer } from "node:net";
import { test } from "node:test";
import type { PluginContext, PluginNetwork, PluginPhases } from "@sluice/plugin-sdk";
import {
  fakeExchange,
  fakeScope,
  fakeServices,
  pluginsWithPhases,
  printMetrics,
} from "../../../test/plugins/fake-exchange.ts";
import { PluginInstance } from "./plugin-instance.ts";

/** An instance of a plugin with these phases, and what it logged. */
function startInstance(phases: (context: PluginContext) => PluginPhases) {
  const log: object[] = [];
  const write = (facts: object, message: string) => void log.push({ message, ...facts });
  const services = fakeServices({ log: { info: write, warn: write, error: write } });
  const plugin = pluginsWithPhases((_config, context) => phases(context)).get("cors");
  assert.ok(plugin);
  const limits = { start: 10, stop: 10 };
  return { log, services, instance: new PluginInstance(plugin, { config: {}, scope: fakeScope(), services, limits }) };
}

const origin = { plugin: "cors", instance: fakeScope().id };

test("an error in start or stop is logged with the name of the plugin and the id of the instance", async () => {
  const error = new Error("broken");
  const { log, instance } = startInstance(() => ({
    start() {
      throw error;
    },
    stop: () => Promise.reject(error),
  }));
  await instance.start();
  await instance.stop();
  assert.deepEqual(log, [
    { message: "the plugin could not start", err: error, ...origin },
    { message: "the plugin could not stop", err: error, ...origin },
  ]);
});

test("a start or stop that does not end is no longer awaited after its limit", async () => {
  const never = new Promise<void>(() => {});
  const { log, instance } = startInstance(() => ({ start: () => never, stop: () => never }));
  await Promise.all([instance.start(), keepAlive()]);
  await Promise.all([instance.stop(), keepAlive()]);
  assert.deepEqual(log, [
    { message: "the plugin did not start in time", milliseconds: 10, ...origin },
    { message: "the plugin did not stop in time", milliseconds: 10, ...origin },
  ]);
});

/** Keeps the process alive for 20 ms, because the instance's own timers do not. */
const keepAlive = () => new Promise((resolve) => setTimeout(resolve, 20));

for (const [what, phases, message] of [
  ["a promise", Promise.resolve({}), /returned a promise: it must not be asynchronous/],
  ["nothing", undefined, /returned undefined, not an object with phases/],
  ["a function", () => undefined, /returned a function, not an object with phases/],
  ["a phase that is no function", { access: { status: 403 } }, /the phase access is no function/],
  [
    "only members that are no phases",
    { acces: () => ({ status: 403 }) },
    /returned an object without a phase: acces is none, did you mean access\?/,
  ],
] as const)
  test(`an instance cannot be created if \`phases\` returns ${what}, because the plugin may protect something`, () => {
    assert.throws(() => startInstance(() => phases as PluginPhases), { name: "TypeError", message });
  });

test("an instance may have no phases at all, or members beside its phases", () => {
  const helper = { help: () => 1, access: () => undefined, log: undefined, response: null } as unknown as PluginPhases;
  for (const phases of [{}, helper]) assert.ok(startInstance(() => phases).instance);
});

test("an instance that cannot be created leaves no connection open", async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  let socket: Socket | undefined;
  const create = () =>
    startInstance(({ network }) => {
      socket = network.connect({ host: "127.0.0.1", port });
      throw new Error("not today");
    });
  assert.throws(create, /not today/);
  const isClosed = socket?.destroyed;
  socket?.destroy();
  server.close();
  assert.equal(isClosed, true);
});

test("a log line contains the id of the exchange that is given", () => {
  const { log } = startInstance(({ log }) => {
    log.warn("strange", { status: 1 }, fakeExchange());
    return {};
  });
  assert.deepEqual(log, [{ message: "strange", status: 1, ...origin, requestId: "0123456789abcdef" }]);
});

test("timers end with the instance, and their errors are logged", async () => {
  const ran: string[] = [];
  const done = Promise.withResolvers<void>();
  const { log, instance } = startInstance(({ timers }) => ({
    start() {
      timers.after(1, () => void ran.push("after"));
      timers.after(1, () => Promise.reject(new Error("broken")));
      timers.after(1, () => void ran.push("cancelled")).cancel();
      timers.every(1, () => {
        ran.push("every");
        if (ran.length > 3) done.resolve();
      });
    },
    stop: () => void timers.after(0, () => void ran.push("late")),
  }));
  await instance.start();
  await Promise.all([done.promise, keepAlive()]);
  await instance.stop();
  const count = ran.length;
  await keepAlive();
  assert.equal(ran.length, count);
  assert.deepEqual([...new Set(ran)].toSorted(), ["after", "every"]);
  assert.equal(log.length, 1);
});

test("connections end with the instance", async () => {
  const closed = Promise.withResolvers<void>();
  const server = createServer((socket) =>
    socket
      .on("error", () => {})
      .on("close", () => closed.resolve())
      .resume(),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const { instance } = startInstance(({ network }) => ({
    start: () => new Promise((resolve) => void network.connect({ host: "127.0.0.1", port }).once("connect", resolve)),
  }));
  await instance.start();
  await instance.stop();
  await closed.promise;
  await new Promise((resolve) => server.close(resolve));
});

test("an error of a connection for which the plugin has no handler is logged, and does not end the process", async () => {
  const { log, instance } = startInstance(({ network }) => ({
    start: () => new Promise((resolve) => void network.connect({ host: "127.0.0.1", port: 1 }).once("close", resolve)),
  }));
  await Promise.all([instance.start(), keepAlive()]);
  assert.deepEqual(log, [
    {
      message: "a connection failed, and the plugin has no handler for its error",
      reason: "connect ECONNREFUSED 127.0.0.1:1",
      ...origin,
    },
  ]);
  log.length = 0;
  const { log: handled, instance: handling } = startInstance(({ network }) => ({
    start: () => new Promise((resolve) => void network.connect({ host: "127.0.0.1", port: 1 }).once("error", resolve)),
  }));
  await Promise.all([handling.start(), keepAlive()]);
  assert.deepEqual(handled, []);
});

test("a connection that is opened after the end of the instance is closed", async () => {
  let network: PluginNetwork | undefined;
  const { instance } = startInstance((context) => {
    network = context.network;
    return {};
  });
  await instance.start();
  await instance.stop();
  const socket = network?.connect({ host: "127.0.0.1", port: 1 }).on("error", () => {});
  assert.equal(socket?.destroyed, true);
});

test("calls of counterMetric with one name share a metric, whose name contains the plugin's and whose number of series is bounded", async () => {
  const { services } = startInstance((context) => {
    const options = { name: "seen_total", help: "Seen", labelNames: ["by"] };
    context.counterMetric(options).add(2, ["a"]);
    context.counterMetric(options).add(3, ["a"]);
    for (let count = 0; count < 3000; count++) context.counterMetric(options).add(1, [String(count)]);
    return {};
  });
  const text = await printMetrics(services.metrics.counted);
  const lines = text.split("\n").filter((line) => line.startsWith("sluice_cors_seen_total{"));
  assert.ok(lines.length > 500 && lines.length <= 1000);
});

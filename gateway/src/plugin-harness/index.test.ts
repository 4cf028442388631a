import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it } from "node:test";
import { definePlugin, integer, record, text } from "@sluice/plugin-sdk";
import { waitFor } from "../../../tools/process/index.ts";
import { leaksNothing, startTestGateway } from "./index.ts";

const kept: object[] = [];

const quota = definePlugin({
  name: "quota",
  version: "1.0.0",
  priority: 10,
  protects: true,
  schema: record(
    {
      seconds: integer({ description: "Seconds between two requests.", default: 60, minimum: 1 }),
      leak: text({ description: "Whether to leak.", default: "no" }),
    },
    { description: "Lets one request pass in a period." },
  ),
  phases({ seconds, leak }, { now }) {
    let last = Number.NEGATIVE_INFINITY;
    return {
      access(exchange) {
        if (leak === "yes") kept.push({ path: exchange.request.path, at: now(), body: new Array(32).fill(0) });
        if (leak !== "off") return undefined;
        if (exchange.request.header("x-throw")) throw new Error("thrown");
        if (now() - last < seconds * 1000) return { status: 429, message: "wait" };
        last = now();
        exchange.upstreamHeaders.set("X-Consumer", exchange.consumer?.username ?? "none");
        return undefined;
      },
    };
  },
});
const config = { leak: "off" };

describe("startTestGateway", () => {
  it("proxies to an upstream that shows the request, and fills in the defaults of the config", async () => {
    await using gateway = await startTestGateway({ plugin: quota, config });
    const response = await gateway.fetch("/users?a=1", { method: "POST" });
    assert.equal(response.status, 200);
    const { method, path, headers } = (await response.json()) as Record<string, Record<string, string>>;
    assert.deepEqual([method, path, headers?.["x-consumer"]], ["POST", "/users?a=1", "none"]);
  });

  it("shows the plugin a clock that the test advances", async () => {
    await using gateway = await startTestGateway({ plugin: quota, config });
    const statuses: number[] = [];
    for (const pause of [0, 59_999, 1]) {
      gateway.advance(pause);
      statuses.push((await gateway.fetch("/")).status);
    }
    assert.deepEqual(statuses, [200, 429, 200]);
  });

  it("runs the timers of the plugin up to the time to which the test advances, in order", async () => {
    const ran: string[] = [];
    const timing = definePlugin({
      name: "timing",
      version: "1.0.0",
      priority: 10,
      protects: false,
      schema: record({}, { description: "Starts timers." }),
      phases(_config, { timers, now }) {
        const started = now();
        const at = (name: string) => () => void ran.push(`${name} after ${now() - started}`);
        return {
          start() {
            timers.every(3_600_000, at("hourly"));
            timers.after(5_400_000, async () => {
              at("once")();
              throw new Error("reported in the log");
            });
            timers.after(60_000, at("cancelled")).cancel();
          },
        };
      },
    });
    await using gateway = await startTestGateway({ plugin: timing });
    await gateway.advance(3_599_999);
    assert.deepEqual(ran, []);
    await gateway.advance(3_600_001);
    assert.deepEqual(ran, ["hourly after 3600000", "once after 5400000", "hourly after 7200000"]);
    assert.deepEqual(
      gateway.log.map(({ message }) => message),
      ["a timer of the plugin failed"],
    );
    await gateway.configure({});
  });

  it("replaces the config of a running gateway, and refuses an invalid config", async () => {
    await using gateway = await startTestGateway({ plugin: quota, config });
    await assert.rejects(
      gateway.configure({ seconds: 0 }),
      /plugins\[0\]\.config\.seconds: value should be between 1 and/,
    );
    await gateway.configure({ ...config, seconds: 1 });
    assert.equal((await gateway.fetch("/")).status, 200);
    gateway.advance(1000);
    assert.equal((await gateway.fetch("/")).status, 200);
  });

  it("uses the upstream, the further plugins and the consumers of its options", async () => {
    await using gateway = await startTestGateway({
      plugin: quota,
      config,
      upstream: (request, response) => response.end(`for ${request.headers["x-consumer"]}`),
      plugins: [{ name: "key-auth" }],
      consumers: [{ username: "ann", keys: ["secret"] }],
    });
    assert.equal((await gateway.fetch("/")).status, 401);
    assert.equal(await (await gateway.fetch("/", { headers: { apikey: "secret" } })).text(), "for ann");
  });

  it("answers 500 and logs when the plugin throws", async () => {
    await using gateway = await startTestGateway({ plugin: quota, config });
    assert.equal((await gateway.fetch("/", { headers: { "x-throw": "1" } })).status, 500);
    assert.partialDeepStrictEqual(gateway.log, [{ level: "error", message: "a plugin failed" }]);
  });

  it("rejects invalid facts with a list of all faults, a second definition of a name, and an unknown field of the config", async () => {
    const invalid = { ...quota, name: "Quota", priority: Number.NaN };
    await assert.rejects(startTestGateway({ plugin: invalid }), /^TypeError: .*\nname: .*"Quota"\npriority: expected/);
    await assert.rejects(startTestGateway({ plugin: { ...quota } }), /the process has another plugin quota/);
    await assert.rejects(startTestGateway({ plugin: quota, config: { second: 1 } }), /config\.second: unknown field/);
  });
});

describe("leaksNothing", () => {
  it("resolves for a plugin that keeps nothing", async () => {
    await using gateway = await startTestGateway({ plugin: quota });
    await leaksNothing(gateway);
  });

  it("closes its connections if a request fails", async () => {
    let [requests, open] = [0, 0];
    const server = createServer((_request, response) => {
      if (++requests > 100) response.destroy();
      else response.end();
    });
    server.keepAliveTimeout = 0;
    server.on("connection", (socket) => {
      open++;
      socket.once("close", () => open--);
    });
    await using gateway = await startTestGateway({ plugin: quota });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    try {
      await assert.rejects(leaksNothing({ ...gateway, url: `http://127.0.0.1:${port}` }), /ECONNRESET|socket hang up/);
      await waitFor(() => open === 0, { what: "all connections to be closed" });
    } finally {
      server.close();
      server.closeAllConnections();
    }
  });

  it("rejects for a plugin that keeps an object for each request", async () => {
    await using gateway = await startTestGateway({ plugin: quota, config: { leak: "yes" } });
    await assert.rejects(leaksNothing(gateway, { requests: 5000 }), /each request leaves about \d+ bytes in memory/);
    assert.ok(kept.length >= 5000);
  });
});

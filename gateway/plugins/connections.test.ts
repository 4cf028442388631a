/** Plugins that act on connections that are not HTTP. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { fakeContext, fakeService, fakeStream, pluginInstance } from "../../test/plugins/fake-exchange.ts";
import { withConfigDefaults } from "../../test/plugins/filled-configs.ts";
import {
  startDatagramServer,
  startLineServer,
  startLogCollector,
  startLogging,
  type TextServer,
} from "../../test/plugins/log-servers.ts";
import { temporaryFolder } from "../../tools/process/index.ts";
import { builtInPlugins } from "./index.ts";

const RECORD = '{"session":{"received":5}}';

/** A log server, the config that names it, and the texts that it has received. */
interface LogServer {
  readonly config: object;
  received(): Promise<readonly string[]>;
}

const ofServer = ({ port, received }: TextServer, config: object = {}): LogServer => ({
  config: { host: "127.0.0.1", port, ...config },
  received: () => received(1),
});

const logServers: Readonly<Record<string, (test: TestContext) => Promise<LogServer>>> = {
  async "file-log"(test) {
    const folder = temporaryFolder("connections");
    test.after(() => folder.remove());
    const path = join(folder.path, "log");
    return { config: { path }, received: async () => [await readFile(path, "utf8")] };
  },
  async "http-log"(test) {
    const { origin, received } = await startLogCollector(test);
    return { config: { http_endpoint: `http://${origin}/` }, received: async () => received.map(({ body }) => body) };
  },
  loggly: async (test) => ofServer(await startDatagramServer(test), { key: "k" }),
  syslog: async (test) => ofServer(await startDatagramServer(test)),
  "tcp-log": async (test) => ofServer(await startLineServer(test)),
  "udp-log": async (test) => ofServer(await startDatagramServer(test)),
};

describe("connections", () => {
  for (const [name, start] of Object.entries(logServers))
    it(`are recorded by ${name} when they have ended`, async (test) => {
      const { config, received } = await start(test);
      const { addConnection, stop } = startLogging(test, name as "file-log", { ...config });
      addConnection({ logRecord: () => RECORD });
      await stop();
      const [text = ""] = await received();
      assert.ok(text.trimEnd().endsWith(RECORD), text);
    });

  it("are the concern of exactly the plugins that declare it", () => {
    const withPhases = Object.keys(logServers);
    assert.deepEqual(
      builtInPlugins
        .flatMap(({ name, actsOnConnections }) => (actsOnConnections === undefined ? [] : [name]))
        .toSorted(),
      [...withPhases, "concurrency-limiting", "ip-restriction"].toSorted(),
    );
  });

  for (const [address, config, refusal] of [
    ["192.0.2.1", { deny: ["192.0.2.0/24"] }, { status: 403, reason: "IP address not allowed: 192.0.2.1" }],
    ["192.0.2.1", { allow: ["10.0.0.0/8"], status: 401, message: "no" }, { status: 401, reason: "no" }],
    ["10.0.0.1", { allow: ["10.0.0.0/8"] }, undefined],
  ] as const)
    it(`from ${address} are ${refusal === undefined ? "served" : "closed"} by ip-restriction with ${JSON.stringify(config)}`, () => {
      const filled = withConfigDefaults("ip-restriction", config);
      const { connection } = pluginInstance("ip-restriction", filled, fakeContext());
      assert.deepEqual(connection?.(fakeStream({ clientAddress: address })), refusal);
    });

  for (const [what, config, other] of [
    ["client", { limit: 1 }, { clientAddress: "192.0.2.2" }],
    ["service", { limit: 1, limit_by: "service" }, { service: fakeService({ id: "other" }) }],
    ["client without a consumer", { limit: 1, limit_by: "consumer" }, { clientAddress: "192.0.2.2" }],
  ] as const)
    it(`are limited by concurrency-limiting for each ${what}, until they end`, () => {
      const filled = withConfigDefaults("concurrency-limiting", config);
      const { connection, connectionLog } = pluginInstance("concurrency-limiting", filled, fakeContext());
      const [first, second, third] = [fakeStream(), fakeStream(), fakeStream(other)];
      const refusal = { status: 503, reason: "Too many requests in progress" };
      assert.deepEqual(
        [first, second, third].map((one) => connection?.(one)),
        [undefined, refusal, undefined],
      );
      connectionLog?.(second);
      assert.deepEqual(connection?.(second), refusal);
      connectionLog?.(first);
      assert.equal(connection?.(second), undefined);
    });

  it("of exempt clients are not limited by concurrency-limiting", () => {
    const filled = withConfigDefaults("concurrency-limiting", { limit: 1, exempt: ["192.0.2.0/24"] });
    const { connection } = pluginInstance("concurrency-limiting", filled, fakeContext());
    assert.deepEqual([connection?.(fakeStream()), connection?.(fakeStream())], [undefined, undefined]);
  });
});

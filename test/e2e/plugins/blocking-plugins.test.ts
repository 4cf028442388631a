/** A node, started as users start it, with a plugin that blocks the event loop in each place where its code may run. */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import { temporaryFolder, waitFor } from "../../../tools/process/index.ts";
import { type NodeWithPlugins, startNodeIn, writeIn } from "./node-with-plugins.ts";

const folder = temporaryFolder("blocking-plugins");
const upstream = createServer((_request, response) => response.end("ok"));

writeIn(
  folder.path,
  "stuck/schema.ts",
  `import { definePluginFacts, record, text } from "@sluice/plugin-sdk";
  export default definePluginFacts({
    name: "stuck", version: "1.0.0", priority: 5, protects: false,
    schema: record({ where: text({ description: "Where it blocks.", default: "" }) }, { description: "Blocks." }),
  });`,
);
writeIn(
  folder.path,
  "stuck/index.ts",
  `import { definePlugin, middleware } from "@sluice/plugin-sdk";
  import facts from "./schema.ts";
  const durationOf = ({ request }) => Number(request.header("x-block") ?? 0);
  const blockFor = (duration) => {
    for (const end = Date.now() + duration; Date.now() < end; );
  };
  const block = (exchange) => blockFor(durationOf(exchange));
  export default definePlugin({
    ...facts,
    phases({ where }, { network, timers }) {
      const places = {
        access: { access: (exchange) => void block(exchange) },
        response: { response: (exchange) => void block(exchange) },
        responseHeaders: { responseHeaders: block },
        responseBody: { responseBody: (exchange) => ({ piece: (bytes) => (block(exchange), bytes) }) },
        log: { log: block },
        timer: {
          access(exchange) {
            // The exchange may have ended when the timer runs.
            const duration = durationOf(exchange);
            timers.after(0, () => blockFor(duration));
          },
        },
        "after a body": { access: async (exchange) => { await exchange.request.body(100); block(exchange); } },
        "after HTTP": {
          async access(exchange) {
            await network.http.send({ method: "GET", url: "http://127.0.0.1:" + exchange.request.header("x-port"), timeout: 5000 });
            block(exchange);
          },
        },
        "after next": middleware(async (_request, next, exchange) => {
          const response = await next();
          block(exchange);
          return response;
        }),
      };
      return places[where];
    },
  });`,
);

/** Each place, and the phase that the warning names. */
const places: readonly (readonly [where: string, phase: string])[] = [
  ["access", "access"],
  ["response", "response"],
  ["responseHeaders", "responseHeaders"],
  ["responseBody", "responseBody"],
  ["log", "log"],
  ["timer", "timer"],
  ["after a body", "after an await"],
  ["after HTTP", "after an await"],
  ["after next", "after an await"],
];
const pathOf = (where: string): string => `/${where.replaceAll(" ", "-")}`;

let node: NodeWithPlugins | undefined;
before(async () => {
  await new Promise<void>((resolve) => upstream.listen(0, "127.0.0.1", resolve));
  const { port } = upstream.address() as AddressInfo;
  const routes = places.map(([where]) => ({
    name: pathOf(where).slice(1),
    paths: [pathOf(where)],
    plugins: [{ name: "stuck", config: { where } }],
  }));
  const services = [{ name: "up", host: "127.0.0.1", port, routes }];
  writeIn(folder.path, "sluice.json", JSON.stringify({ _format_version: "3.0", services }));
  node = await startNodeIn(folder.path, "gateway", {
    SLUICE_PLUGINS: "./stuck",
    SLUICE_WORKERS: "1",
    SLUICE_WORKER_TIMEOUT: "2s",
  });
});
after(async () => {
  await node?.process.stop();
  upstream.close();
  upstream.closeAllConnections();
  folder.remove();
});

const ask = (where: string, block: number): Promise<number | null> => {
  const { port } = upstream.address() as AddressInfo;
  return fetch(`${node?.proxy}${pathOf(where)}`, {
    method: "POST",
    body: "x",
    headers: { "x-block": `${block}`, "x-port": `${port}` },
  }).then(
    async (response) => (await response.text()) && response.status,
    () => null,
  ) as Promise<number | null>;
};

for (const [where, phase] of places)
  test(`a plugin that blocks (${where}) is named in a warning, and again in the log when its worker is replaced`, async () => {
    assert.ok(node);
    const { output, tail } = node.process;
    // Waits until a new worker serves. A worker measures its first call of a phase, and later calls only rarely.
    await waitFor(async () => (await ask(where, 0)) === 200, { what: "a worker" });
    const from = output().length;
    assert.equal(await ask(where, 700), 200);
    // Any three digits match, because the duration is counted in ticks, and the control thread misses some ticks on a
    // busy machine.
    const warning = new RegExp(`"plugin":"stuck","phase":"${phase}","milliseconds":\\d{3},.*blocked the event loop`);
    await waitFor(() => warning.test(output().slice(from)), { what: `the warning in ${tail()}` });
    void ask(where, 600_000);
    await waitFor(() => /has been blocked for 2000 ms by the plugin stuck/.test(output().slice(from)), {
      what: "the worker to be replaced",
    });
  });

/** The URLs that tell of the listener, its nodes and its schemas (kong-contract 1.6). */
import { pluginNames } from "@sluice/model";
import type { Received } from "../call.ts";
import type { Route } from "../handlers.ts";
import { schemaRoutes } from "../schemas/routes.ts";
import type { Facts } from "./facts.ts";
import { rootBody } from "./root.ts";
import { statusBody } from "./status.ts";

const reading = (url: string, body: (received: Received) => object | Promise<object>): Route => ({
  url,
  handlers: { GET: async (received) => ({ status: 200, body: await body(received) }) },
});

export const informationRoutes = (facts: Facts): readonly Route[] => [
  reading("/", ({ trusted }) => rootBody(facts, trusted)),
  reading("/status", ({ trusted }) => statusBody(facts, trusted)),
  reading("/plugins/enabled", () => ({ enabled_plugins: [...pluginNames].sort() })),
  // Nothing here runs by timers that somebody else would have to look after.
  reading("/timers", () => ({
    worker: { id: 0, count: 1 },
    stats: { sys: { total: 0, runs: 0, running: 0, pending: 0, waiting: 0 }, timers: {} },
  })),
  reading("/debug/node/log-level", () => ({ message: `log level: ${facts.settings.logLevel}` })),
  ...schemaRoutes(facts.store),
];

/** A worker that serves one route with the plugins graphql and proxy-cache. */
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Counters, PluginPhases } from "@sluice/plugin-sdk";
import {
  fakeContext,
  fakeExchange,
  pluginInstance,
  type TestClock,
  ThreadCounters,
} from "../../../test/plugins/fake-exchange.ts";
import { withConfigDefaults } from "../../../test/plugins/filled-configs.ts";

const SCHEMA = `
  type Query { users: [User] user(id: ID): User posts: [Post] node: Node version: Int }
  type Mutation { updateUser(id: ID, input: UserInput): User addPost: Post ping: Int }
  input UserInput { id: ID }
  interface Node { id: ID }
  type User implements Node { id: ID name: String posts: [Post] }
  type Post implements Node { id: ID title: String }
`;
/** Rules for the schema of `startRoute`. */
export const cachedPurgeRules = [
  { mutation: "updateUser", types: ["User"] },
  { mutation: "addPost", types: ["Post"] },
];

export const DATA = '{"data":{"users":[]}}';

export interface Ask {
  readonly body?: unknown;
  readonly method?: string;
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly consumer?: string;
  readonly response?: string | Buffer;
  readonly responseHeaders?: Readonly<Record<string, string>>;
  /** When the client disconnects. Absent: it gets the whole response. */
  readonly disconnects?: "before the response" | "within the body";
}

/** What else happens during a request. */
export interface DuringRequest {
  /** Before the head of the response. */
  readonly before?: () => Promise<unknown>;
  /** Between the head and the end of the response. */
  readonly within?: () => Promise<unknown>;
}

export interface RouteOptions {
  readonly graphql?: object;
  readonly cache?: object;
  readonly counters?: Counters;
  /** The instance of proxy-cache. Default: a new one. */
  readonly cacheInstance?: PluginPhases;
}

/** @param clock Runs the timers of the cache. Default: real timers */
export const startResultCache = (
  cache: object = {},
  counters: Counters = new ThreadCounters(),
  clock?: TestClock,
): PluginPhases => {
  const config = { request_method: ["GET", "POST"], strategy: "memory", ...cache };
  const context = fakeContext({ counters, ...(clock && { startTimer: clock.startTimer }) });
  return pluginInstance("proxy-cache", withConfigDefaults("proxy-cache", config), context);
};

/** A worker with both plugins at one route. */
export function startRoute({
  graphql = {},
  cache,
  counters,
  cacheInstance = startResultCache(cache, counters),
}: RouteOptions = {}) {
  const config = withConfigDefaults("graphql", { schema: SCHEMA, purge: cachedPurgeRules, ...graphql });
  const phases = [pluginInstance("graphql", config), cacheInstance];
  /** Resolves to X-Cache-Status, or to the status of a refusal. */
  return async (asked: Ask, { before, within }: DuringRequest = {}): Promise<string | number | undefined> => {
    const { body = { query: "query Users { users { name } }" }, method = "POST", response = DATA, consumer } = asked;
    const exchange = fakeExchange({
      method,
      headers: { "content-type": "application/json", ...asked.headers },
      ...(asked.query !== undefined && { query: asked.query }),
      ...(method === "POST" && { body: typeof body === "string" ? body : JSON.stringify(body) }),
      ...(consumer !== undefined && { consumer: consumerNamed(consumer) }),
      status: 200,
      source: asked.disconnects === "before the response" ? "gateway" : "service",
      attempts: [{ started: 1, host: "10.0.0.1", port: 80, failed: false }],
      responseHeaders: { "content-type": "application/json", ...asked.responseHeaders },
    });
    const status = () => exchange.responseHeaders.get("x-cache-status");
    for (const { access } of phases) {
      const answer = await access?.(exchange);
      if (answer !== undefined) return status() ?? answer.status;
    }
    await before?.();
    if (asked.disconnects !== "before the response") {
      for (const { responseHeaders } of phases) responseHeaders?.(exchange);
      const filters = phases.flatMap(({ responseBody }) => responseBody?.(exchange) ?? []);
      await within?.();
      for (const filter of filters) if ("observe" in filter) filter.observe(Buffer.from(response));
      const isComplete = asked.disconnects === undefined;
      if (isComplete) for (const filter of filters) if ("observe" in filter) filter.complete();
    }
    for (const { log } of phases) log?.(exchange);
    // The engines use the memory of the request's head again.
    Object.assign(exchange, { upstreamHeaderValues: () => [] });
    // A result that is stored after a promise is stored now.
    await nextTurn();
    return status();
  };
}

const consumerNamed = (username: string) => ({
  id: `00000000-0000-4000-8000-${username.charCodeAt(0).toString().padStart(12, "0")}`,
  created_at: 0,
  updated_at: 0,
  username,
  custom_id: null,
  tags: null,
});

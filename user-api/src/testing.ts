/** Helpers for the tests of the application. */
import { Writable } from "node:stream";
import type { FastifyInstance } from "fastify";
import { type AppOptions, buildApp } from "./app.ts";
import { openProcessEvents } from "./events/events.ts";
import { defaultLimits, type Limits } from "./limits/limits.ts";
import { makeLog } from "./operations/log.ts";
import type { User, UserStore } from "./store/store.ts";

/** A store for tests that do not concern storage: an array without checks. */
export function arrayStore(overrides: Partial<UserStore> = {}): UserStore {
  const users: User[] = [];
  return {
    users: async ({ after = "", first = users.length } = {}) => users.filter(({ id }) => id > after).slice(0, first),
    user: async (id) => users.find((user) => user.id === id) ?? null,
    async add(user) {
      users.push(user);
      return true;
    },
    update: async () => "unknown",
    remove: async () => null,
    addPost: async () => "unknown",
    updatePost: async () => null,
    removePost: async () => null,
    postsOf: async (ids) => ids.map((id) => [{ id: `post-of-${id}`, title: `a post of ${id}` }]),
    ping: async () => undefined,
    close: async () => undefined,
    ...overrides,
  };
}

export interface TestApp {
  readonly app: FastifyInstance;
  /** The log lines so far. */
  readonly logged: readonly Readonly<Record<string, unknown>>[];
}

export const GATEWAY_SECRET = "the-secret-of-tests";

/** The headers that the gateway adds to the requests of a consumer. */
export const fromGateway = { "x-gateway-secret": GATEWAY_SECRET, "x-consumer-id": "1", "x-consumer-username": "demo" };

export type TestOptions = Omit<Partial<AppOptions>, "limits"> & { readonly limits?: Partial<Limits> };

/**
 * The application as in development mode, but without GraphiQL: default limits, direct calls allowed, and at most 2 s
 * for the drain.
 */
export async function testApp(options: TestOptions = {}): Promise<TestApp> {
  const logged: Record<string, unknown>[] = [];
  const destination = new Writable({
    write(line, _encoding, done) {
      logged.push(JSON.parse(String(line)));
      done();
    },
  });
  const app = await buildApp({
    store: arrayStore(),
    log: makeLog({ level: "info" }, destination),
    events: openProcessEvents(),
    policy: { access: "open", rules: {} },
    gatewaySecret: GATEWAY_SECRET,
    directCalls: true,
    origins: [],
    introspection: true,
    graphiql: false,
    requestsPerMinute: 0,
    redisUrl: undefined,
    redisPrefix: "test",
    drainMilliseconds: 2_000,
    ...options,
    limits: { ...defaultLimits, ...options.limits },
  });
  return { app, logged };
}

interface Reply {
  readonly status: number;
  readonly data?: Readonly<Record<string, unknown>> | null;
  readonly errors?: readonly {
    readonly message: string;
    readonly path?: readonly (string | number)[];
    readonly extensions: Readonly<Record<string, unknown>>;
  }[];
}

export interface TestRequest {
  readonly query: string;
  readonly variables?: Readonly<Record<string, unknown>>;
  readonly operationName?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** POSTs a document. Resolves to the status and the body of the response. */
export async function postQuery(app: FastifyInstance, { headers = {}, ...payload }: TestRequest): Promise<Reply> {
  const accept = "application/graphql-response+json";
  const response = await app.inject({ method: "POST", url: "/graphql", headers: { accept, ...headers }, payload });
  return { status: response.statusCode, ...response.json() };
}

/** The codes of a reply's errors. */
export const replyCodesOf = ({ errors }: Reply): readonly unknown[] =>
  (errors ?? []).map(({ extensions }) => extensions.code);

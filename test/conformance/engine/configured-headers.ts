/** Header names in a configuration are case-insensitive (RFC 9110 section 5.1). */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import type { PluginConfigs } from "@sluice/model";
import { fakeContext, pluginInstance } from "../../plugins/fake-exchange.ts";
import { filledCors, filledKeyAuth, filledRateLimiting } from "../../plugins/filled-configs.ts";
import { sendRequest } from "./client.ts";
import { startHttp2 } from "./http2.ts";
import { requestHttp2 } from "./http2-client.ts";
import { startPool, weighted } from "./pool.ts";
import { type Engine, type RigOptions, startRig } from "./proxy-rig.ts";

interface Asked {
  readonly path?: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

interface ReceivedValues {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

type Asks = (asked: Asked) => Promise<ReceivedValues>;

interface Row {
  readonly says: string;
  rig(test: TestContext): RigOptions | Promise<RigOptions>;
  /** Sends requests; returns the value that is compared with `expected`. */
  seen(ask: Asks): Promise<unknown>;
  readonly expected: unknown;
}

/** Responds with the received headers. */
const echo: RigOptions["upstream"] = (request, response) => {
  request.resume().on("end", () => response.end(JSON.stringify(request.headers)));
};

const statuses = async (ask: Asks, asked: readonly Asked[]) => {
  const found: number[] = [];
  for (const each of asked) found.push((await ask(each)).status);
  return found;
};

const withHeaders = (headers: Readonly<Record<string, string>>): Asked => ({ headers });

const limited = (members: Partial<PluginConfigs["rate-limiting"]>): RigOptions => ({
  upstream: echo,
  plugins: {
    "rate-limiting": pluginInstance(
      "rate-limiting",
      { ...filledRateLimiting, minute: null, year: 1, ...members },
      fakeContext({ now: Date.now }),
    ),
  },
});

const guarded = (members: Partial<PluginConfigs["key-auth"]>): RigOptions => ({
  upstream: echo,
  plugins: { "key-auth": pluginInstance("key-auth", { ...filledKeyAuth, ...members }) },
});

/** For each request, whether key-auth found a key. No key is valid, but the message shows whether one was found. */
const found = async (ask: Asks, asked: readonly Asked[]) => {
  const messages: unknown[] = [];
  for (const { headers, ...each } of asked) {
    const { body } = await ask({ ...each, headers: { accept: "application/json", ...headers } });
    messages.push(JSON.parse(body).message === "Unauthorized");
  }
  return messages;
};

const hashed = (upstream: object) => async (test: TestContext) => ({
  pool: {
    upstream: { algorithm: "consistent-hashing", ...upstream },
    targets: weighted(await startPool(test, 4)),
  },
});

const USERS = Array.from({ length: 24 }, (_, at) => `user-${at}`);

/**
 * The largest number of targets that one user reaches, and whether all users together reach several targets. How many
 * they reach depends on the ports.
 */
const spread = (header: string) => async (ask: Asks) => {
  const all = new Set<string>();
  let most = 0;
  for (const user of USERS) {
    const own = new Set<string>();
    for (let turn = 0; turn < 3; turn++) own.add((await ask({ headers: { [header]: user } })).body);
    most = Math.max(most, own.size);
    for (const each of own) all.add(each);
  }
  return { ofOne: most, isSpread: all.size > 1 };
};

const rows: readonly Row[] = [
  {
    says: "rate-limiting by header_name counts each value separately",
    rig: () => limited({ limit_by: "header", header_name: "X-Tenant-ID" }),
    seen: (ask) =>
      statuses(
        ask,
        ["a", "b", "a", "b"].map((tenant) => withHeaders({ "x-tenant-id": tenant })),
      ),
    expected: [200, 200, 429, 429],
  },
  {
    says: "key-auth finds a key in a header of key_names, and in a query argument whose name exactly equals one of them",
    rig: () => guarded({ key_names: ["X-Api-Key", "Api_Token"] }),
    seen: (ask) =>
      found(ask, [
        withHeaders({ "x-api-key": "k" }),
        withHeaders({ api_token: "k" }),
        withHeaders({ "api-token": "k" }),
        { path: "/?X-Api-Key=k" },
        { path: "/?x-api-key=k" },
        {},
      ]),
    expected: [true, true, true, true, false, false],
  },
  {
    says: "key-auth with hide_credentials removes the headers of key_names",
    rig: () => {
      const plugin = pluginInstance("key-auth", {
        ...filledKeyAuth,
        key_names: ["X-Api-Key", "Api_Token"],
        hide_credentials: true,
        anonymous: "guest",
      });
      // The request continues even if the plugin refuses it, because the headers at the upstream are compared.
      return {
        upstream: echo,
        plugins: {
          "key-auth": {
            async access(exchange) {
              await plugin.access?.(exchange);
              return undefined;
            },
          },
        },
      };
    },
    seen: async (ask) => {
      const sent = { "x-api-key": "k", api_token: "k", "api-token": "k", "x-other": "1" };
      const seen = JSON.parse((await ask(withHeaders(sent))).body);
      return Object.keys(sent).map((name) => seen[name]);
    },
    expected: [undefined, undefined, undefined, "1"],
  },
  {
    says: "a route matches by the headers that it names",
    rig: () => ({ upstream: echo, route: { headers: { "X-Version": ["Two"] } } }),
    seen: (ask) => statuses(ask, [withHeaders({ "x-version": "two" }), withHeaders({ "x-version": "1" }), {}]),
    expected: [200, 404, 404],
  },
  {
    says: "an upstream hashes on hash_on_header",
    rig: hashed({ hash_on: "header", hash_on_header: "X-User" }),
    seen: spread("x-user"),
    expected: { ofOne: 1, isSpread: true },
  },
  {
    says: "an upstream hashes on hash_fallback_header if a request does not have the hash_on_header",
    rig: hashed({
      hash_on: "header",
      hash_on_header: "X-Absent",
      hash_fallback: "header",
      hash_fallback_header: "X-User",
    }),
    seen: spread("x-user"),
    expected: { ofOne: 1, isSpread: true },
  },
  {
    says: "an upstream hashes on a cookie with exactly the configured name, because cookie names are case-sensitive (RFC 6265)",
    rig: hashed({ hash_on: "cookie", hash_on_cookie: "Home" }),
    seen: async (ask) => {
      const gets = async (cookie: string) => (await ask(withHeaders({ cookie }))).headers["set-cookie"] !== undefined;
      return [await gets("Home=1"), await gets("home=1")];
    },
    expected: [false, true],
  },
  {
    says: "upstream_headers of a service replace a client's headers with the same names",
    rig: () => ({ upstream: echo, service: { upstream_headers: [{ name: "X-Secret", value: "ours" }] } }),
    seen: async (ask) => JSON.parse((await ask(withHeaders({ "x-secret": "forged" }))).body)["x-secret"],
    expected: "ours",
  },
  {
    says: "cors allows and exposes headers in the spelling of the configuration",
    rig: () => ({
      upstream: echo,
      plugins: {
        cors: pluginInstance("cors", { ...filledCors, headers: ["X-Asked"], exposed_headers: ["X-Told"] }),
      },
    }),
    seen: async (ask) => {
      const origin = { origin: "http://a.example" };
      const preflight = { ...origin, "access-control-request-method": "GET", "access-control-request-headers": "x-a" };
      return [
        (await ask({ method: "OPTIONS", headers: preflight })).headers["access-control-allow-headers"],
        (await ask({ headers: origin })).headers["access-control-expose-headers"],
      ];
    },
    expected: ["X-Asked", "X-Told"],
  },
];

export function configuredHeaderSuite(engine: Engine): void {
  describe(`headers that a configuration names with capital letters (${engine.name})`, () => {
    for (const { says, rig, seen, expected } of rows) {
      it(`over HTTP/1.1: ${says}`, async (test) => {
        for (const spelled of [(name: string) => name, (name: string) => name.toUpperCase()]) {
          const { port } = await startRig(test, engine, await rig(test));
          const asks: Asks = ({ headers = {}, ...asked }) =>
            sendRequest(port, {
              ...asked,
              headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [spelled(name), value])),
            });
          assert.deepEqual(await seen(asks), expected);
        }
      });

      if (engine.name !== "http1") continue;
      it(`over HTTP/2: ${says}`, async (test) => {
        const { session } = await startHttp2(test, engine, await rig(test));
        const asks: Asks = async ({ headers = {}, path = "/", method = "GET" }) => {
          const answer = await requestHttp2(session, { headers: { ":path": path, ":method": method, ...headers } });
          return { ...answer, body: answer.body.toString() };
        };
        assert.deepEqual(await seen(asks), expected);
      });
    }
  });
}

/** The schema that the plugin reads from the service itself. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { HttpRequest } from "@sluice/plugin-sdk";
import { buildSchema, graphql as execute } from "graphql";
import { fakeContext, fakeExchange } from "../../../../test/plugins/fake-exchange.ts";
import { configViolations, withConfigDefaults } from "../../../../test/plugins/filled-configs.ts";
import { waitFor } from "../../../../tools/process/index.ts";
import { graphql } from "../index.ts";

const OF_FIVE = "type Query { users(first: Int = 5): [User!]! } type User { name: String }";
const OF_SEVEN = OF_FIVE.replace("5", "7");
const TTL = 300;

/** The response of a service with this schema to an introspection query. */
async function introspected(sdl: string, { body }: HttpRequest): Promise<string> {
  const { query } = JSON.parse(String(body)) as { query: string };
  return JSON.stringify(await execute({ schema: buildSchema(sdl), source: query }));
}

type Service = (request: HttpRequest) => Promise<string> | string;

function start(config: object = {}) {
  let time = 1_700_000_000_000;
  let service: Service = (request) => introspected(OF_FIVE, request);
  const asked: HttpRequest[] = [];
  const warnings: string[] = [];
  const context = fakeContext({
    plugin: "graphql",
    now: () => time,
    log: { info() {}, warn: (_facts, message) => void warnings.push(message), error() {} },
    openHttpClient: () => ({
      async send(request) {
        asked.push(request);
        return { status: 200, headers: {}, body: Buffer.from(await service(request)) };
      },
      close() {},
    }),
  });
  const introspect = { url: "http://users.test/graphql", headers: { "X-Token": "t" } };
  const phases = graphql.phases(withConfigDefaults("graphql", { introspect, max_cost: 6, ...config }), context);
  return {
    asked,
    warnings,
    advance(seconds: number) {
      time += seconds * 1000;
    },
    serve(next: Service) {
      service = next;
    },
    /** The cost of the query of all users, or the status of a refusal. */
    async costOf(query = "{ users { name } }"): Promise<string | number | undefined> {
      const headers = { "content-type": "application/json" };
      const exchange = fakeExchange({ method: "POST", headers, body: JSON.stringify({ query }) });
      const response = await phases.access?.(exchange);
      return response?.status ?? String(exchange.shared.get("graphql.cost"));
    },
  };
}

const unreadable: readonly (readonly [what: string, service: Service, reason: string])[] = [
  ["is not JSON", () => "<html>", "the response is not JSON"],
  [
    "has an error instead of a schema",
    () => '{"errors":[{"message":"introspection is disabled"}]}',
    "the response has no schema (introspection is disabled)",
  ],
  ["has no type Query", () => '{"data":{"__schema":{"types":[]}}}', "the response has no schema"],
  [
    "has a field without a type",
    () => '{"data":{"__schema":{"types":[{"kind":"OBJECT","name":"Query","fields":[{"name":"a"}]}]}}}',
    "the field a has no type that can be read",
  ],
  [
    "does not arrive",
    () => {
      throw new Error("users.test: the connection was refused");
    },
    "users.test: the connection was refused",
  ],
];

describe("the schema of introspect", () => {
  it("is requested once, with the configured headers, and has the sizes of lists", async () => {
    const { asked, costOf } = start();
    assert.deepEqual(await Promise.all([costOf(), costOf(), costOf()]), ["5", "5", "5"]);
    assert.deepEqual(
      asked.map(({ url, headers }) => [url, headers?.["x-token"], headers?.["content-type"]]),
      [["http://users.test/graphql", "t", "application/json"]],
    );
  });

  it("is refined by the definitions of the config", async () => {
    const schema =
      "type Query { users(first: Int): [User] @listSize(assumedSize: 2) } type User @cost(weight: 3) { name: String }";
    assert.equal(await start({ schema }).costOf(), "6");
  });

  it("is read again after its ttl, and requests do not wait for that", async () => {
    const { serve, advance, costOf, asked } = start();
    assert.equal(await costOf(), "5");
    serve((request) => introspected(OF_SEVEN, request));
    advance(TTL - 1);
    assert.equal(await costOf(), "5");
    advance(1);
    assert.equal(await costOf(), "5");
    await new Promise(setImmediate);
    assert.equal(await costOf(), 400, "the operation now costs 7");
    assert.equal(asked.length, 2);
  });

  for (const [what, failing, reason] of unreadable) {
    it(`stays in use if the next response ${what}`, async () => {
      const { serve, advance, costOf, warnings } = start();
      await costOf();
      serve(failing);
      advance(TTL);
      assert.deepEqual([await costOf(), await costOf()], ["5", "5"]);
      await new Promise(setImmediate);
      assert.deepEqual(warnings, [
        `the schema of the service cannot be read, so the known one stays in use: ${reason}`,
      ]);
    });

    it(`closes the route if the first response ${what}, and is requested again after five seconds`, async () => {
      const { serve, advance, costOf, asked } = start();
      serve(failing);
      assert.deepEqual([await costOf(), await costOf(), asked.length], [503, 503, 1]);
      serve((request) => introspected(OF_FIVE, request));
      advance(5);
      assert.equal(await costOf(), 503, "requests wait for the first attempt only");
      await waitFor(async () => (await costOf()) === "5", { what: "the schema" });
    });
  }

  it("delays no request after the first attempt while the service does not answer", async () => {
    const { serve, advance, costOf, asked } = start();
    serve(() => "{}");
    await costOf();
    serve(() => new Promise<string>(() => {}));
    advance(5);
    assert.deepEqual([await costOf(), await costOf(), asked.length], [503, 503, 2]);
  });

  it("delays no request with enforce: false", async () => {
    const { serve, costOf } = start({ enforce: false });
    serve(() => new Promise<string>(() => {}));
    assert.equal(await costOf(), "1");
  });

  it("closes nothing with enforce: false", async () => {
    const { serve, costOf } = start({ enforce: false });
    serve(() => "{}");
    assert.equal(await costOf(), "1");
  });

  for (const [url, message] of [
    ["users.test", "missing scheme in url"],
    ["ftp://users.test", "the scheme must be http or https"],
    ["http://ann:secret@users.test", "must not contain a user name or a password"],
  ] as const) {
    it(`cannot be read from ${url}`, () => {
      assert.deepEqual(configViolations("graphql", { introspect: { url } }), [`introspect.url: ${message}`]);
    });
  }
});

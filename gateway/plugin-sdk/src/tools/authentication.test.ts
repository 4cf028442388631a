import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type FakeExchange, fakeConsumer, fakeExchange } from "../../../../test/plugins/fake-exchange.ts";
import { type AuthenticationResult, authenticationPhase } from "./authentication.ts";

const bob = fakeConsumer({ username: "bob" });
const eve = fakeConsumer({ id: "c-eve", username: "eve" });
const guest = fakeConsumer({ id: "c-guest", username: "guest" });

const accepted = (consumer: typeof bob): AuthenticationResult => ({
  identity: { consumer, credential: { id: `credential of ${consumer.username}`, consumer: { id: consumer.id } } },
});
const refused: AuthenticationResult = { refusal: { status: 401, message: "no" } };

interface Plugin {
  readonly result: AuthenticationResult;
  readonly anonymous?: string;
}

/** Runs the plugins in this order until one of them answers. `asked` names the plugins that looked for credentials. */
async function run(
  plugins: readonly Plugin[],
  exchange: FakeExchange = fakeExchange({ consumers: [bob, eve, guest] }),
) {
  const asked: string[] = [];
  for (const [index, { result, anonymous = null }] of plugins.entries()) {
    const access = authenticationPhase({
      plugin: `plugin-${index}`,
      anonymous,
      authenticate() {
        asked.push(`plugin-${index}`);
        // Every second plugin returns a promise, like plugins that read the body.
        return index % 2 === 0 ? result : Promise.resolve(result);
      },
    });
    const answer = await access(exchange);
    if (answer !== undefined) return { exchange, asked, answer };
  }
  return { exchange, asked, answer: undefined };
}

const anonymous = "guest";

const rows: readonly (readonly [
  what: string,
  plugins: readonly Plugin[],
  expected: { readonly status?: number; readonly consumer: string | null; readonly asked: number },
])[] = [
  [
    "has the consumer of the second of two plugins without anonymous consumers if both accept it",
    [{ result: accepted(bob) }, { result: accepted(eve) }],
    { consumer: "eve", asked: 2 },
  ],
  [
    "is refused if only the first of two plugins without anonymous consumers accepts it",
    [{ result: accepted(bob) }, { result: refused }],
    { status: 401, consumer: "bob", asked: 2 },
  ],
  [
    "is refused if only the second of two plugins without anonymous consumers accepts it",
    [{ result: refused }, { result: accepted(bob) }],
    { status: 401, consumer: null, asked: 1 },
  ],
  [
    "is not examined by the second of two plugins with anonymous consumers if the first accepts it",
    [
      { result: accepted(bob), anonymous },
      { result: refused, anonymous },
    ],
    { consumer: "bob", asked: 1 },
  ],
  [
    "has the consumer of the second of two plugins with anonymous consumers if only the second accepts it",
    [
      { result: refused, anonymous },
      { result: accepted(bob), anonymous },
    ],
    { consumer: "bob", asked: 2 },
  ],
  [
    "has the anonymous consumer of the second plugin if neither plugin accepts it",
    [
      { result: refused, anonymous },
      { result: refused, anonymous: "eve" },
    ],
    { consumer: "eve", asked: 2 },
  ],
  [
    "is refused if neither plugin accepts it and the second has no anonymous consumer",
    [{ result: refused, anonymous }, { result: refused }],
    { status: 401, consumer: "guest", asked: 2 },
  ],
  [
    "is not examined by a second plugin with an anonymous consumer if the first plugin accepts it",
    [{ result: accepted(bob) }, { result: refused, anonymous }],
    { consumer: "bob", asked: 1 },
  ],
  [
    "is refused if the second plugin refuses it and has no anonymous consumer",
    [{ result: accepted(bob), anonymous }, { result: refused }],
    { status: 401, consumer: "bob", asked: 2 },
  ],
];

describe("a request to a route with two authentication plugins", () => {
  for (const [what, plugins, { status, consumer, asked }] of rows) {
    it(what, async () => {
      const { exchange, answer, ...ran } = await run(plugins);
      assert.deepEqual(
        [answer?.status, exchange.consumer?.username ?? null, ran.asked.length],
        [status, consumer, asked],
      );
    });
  }

  it("keeps nothing of the anonymous consumer of the first plugin once the second plugin accepts the request", async () => {
    const { exchange } = await run([
      { result: refused, anonymous },
      { result: accepted(bob), anonymous },
    ]);
    assert.equal(exchange.anonymous, false);
    assert.equal(exchange.upstreamHeaders.get("X-Anonymous-Consumer"), undefined);
    assert.equal(exchange.upstreamHeaders.get("X-Credential-Identifier"), "credential of bob");
  });

  it("has no headers of an earlier plugin's consumer once it has an anonymous consumer", async () => {
    const exchange = fakeExchange({ consumers: [{ ...bob, custom_id: "7" }, guest] });
    await run([{ result: accepted({ ...bob, custom_id: "7" }) }], exchange);
    exchange.credential = null;
    await run([{ result: refused, anonymous }], exchange);
    assert.deepEqual(exchange.upstreamHeaders.all(), {
      "x-consumer-id": "c-guest",
      "x-consumer-username": "guest",
      "x-anonymous-consumer": "true",
    });
  });
});

it("a request is answered with 500 if the anonymous consumer of a plugin does not exist, and the reason names it", async () => {
  const { answer, exchange } = await run([{ result: refused, anonymous: "gone" }]);
  assert.equal(answer?.status, 500);
  assert.match(answer?.reason ?? "", /plugin-0: the consumer gone of `anonymous` does not exist/);
  assert.doesNotMatch(answer?.message ?? "", /gone/);
  assert.equal(exchange.consumer, null);
});

it("a plugin may name its anonymous consumer by id", async () => {
  const { exchange } = await run([{ result: refused, anonymous: guest.id }]);
  assert.deepEqual([exchange.consumer, exchange.anonymous], [guest, true]);
});

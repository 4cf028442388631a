/** Mutations that the service may still execute when the gateway has purged what they change. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { TestClock } from "../../../test/plugins/fake-exchange.ts";
import { type Ask, startResultCache, startRoute } from "./testing-cached-route.ts";

const UPDATE: Ask = { body: { query: "mutation { updateUser { id } }" } };
const STREAM = { responseHeaders: { "content-type": "text/event-stream" } };

function start() {
  const clock = new TestClock(0);
  const ask = startRoute({ cacheInstance: startResultCache({}, undefined, clock) });
  return {
    ask,
    /** The seconds at which a stored result was no longer used, of the next five minutes. */
    async purges(): Promise<readonly number[]> {
      const found: number[] = [];
      await ask({});
      for (let second = 1; second <= 300; second++) {
        await clock.advance(1000);
        if ((await ask({})) === "Refresh") found.push(second);
      }
      return found;
    },
  };
}

const repeated = [1, 3, 7, 15, 31, 63, 127];

const rows: readonly (readonly [what: string, asked: Ask, purges: readonly number[]])[] = [
  ["that is answered", {}, []],
  ["of which the client gets only a part of the answer", { disconnects: "within the body" }, []],
  ["whose client disconnects before the answer", { disconnects: "before the response" }, repeated],
  ["whose event stream ends", STREAM, []],
  ["whose client disconnects within the event stream", { ...STREAM, disconnects: "within the body" }, repeated],
];

describe("a mutation of GraphQL", () => {
  for (const [what, asked, expected] of rows)
    it(`${what} purges ${expected.length === 0 ? "once" : "again, because the service may execute it later"}`, async () => {
      const { ask, purges } = start();
      await ask({});
      await ask({ ...UPDATE, ...asked });
      assert.equal(await ask({}), "Refresh");
      assert.deepEqual(await purges(), expected);
    });

  it("with an event stream also purges at the end of the stream", async () => {
    const { ask } = start();
    await ask({ ...UPDATE, ...STREAM }, { within: () => ask({}) });
    assert.equal(await ask({}), "Refresh");
  });

  it("that repeats another one begins its repetitions anew", async () => {
    const { ask, purges } = start();
    for (let count = 0; count < 3; count++) await ask({ ...UPDATE, disconnects: "before the response" });
    assert.deepEqual(await purges(), repeated);
  });
});

/** What rate-limiting tells clients with `cost: graphql` and `limit_by: operation`, with the counters of a policy. */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { CounterOptions, Counters, WindowCounters } from "@sluice/plugin-sdk";
import { fakeContext, fakeExchange, pluginInstance } from "../../plugins/fake-exchange.ts";
import { withConfigDefaults } from "../../plugins/filled-configs.ts";

export interface CostsUnderTest {
  readonly counters: WindowCounters;
  /** Members of the plugin's config. */
  readonly options: Pick<CounterOptions, "policy"> & Partial<CounterOptions>;
}

type CostRow = readonly [
  title: string,
  config: object,
  /** Of each request: its operation and its cost, whether it is admitted, and what is left. */
  requests: readonly (readonly [operation: string, cost: number | null, admitted: boolean, remaining: string])[],
];

const rows: readonly CostRow[] = [
  [
    "costs",
    { cost: "graphql" },
    [
      ["Users", 6, true, "4"],
      ["Users", 5, false, "4"],
      ["Posts", 3, true, "1"],
      ["Users", null, true, "0"],
      ["Posts", 1, false, "0"],
      ["Users", 11, false, "0"],
    ],
  ],
  [
    "operations",
    { limit_by: "operation" },
    [
      ["Users", 6, true, "9"],
      ["Posts", 5, true, "9"],
      ["Users", null, true, "8"],
    ],
  ],
  [
    "costs of each operation",
    { cost: "graphql", limit_by: "operation" },
    [
      ["Users", 7, true, "3"],
      ["Posts", 8, true, "2"],
      ["Users", 4, false, "3"],
      ["Posts", 2, true, "0"],
      ["Users", 3, true, "0"],
      ["Users", 1, false, "0"],
    ],
  ],
];

/** The tests of a fleet share its counters. */
let scopes = 0;

/** @param open Called for every test */
export function costsSuite(name: string, open: () => Promise<CostsUnderTest>): void {
  describe(name, () => {
    let under: CostsUnderTest;
    beforeEach(async () => {
      under = await open();
    });
    afterEach(() => under.counters.close());

    for (const [title, members, requests] of rows)
      it(`tell clients what is left of a limit of 10 by ${title}`, async () => {
        const { counters, options } = under;
        const all: Counters = {
          incrementBelowLimit: (wanted, config) => counters.incrementBelowLimit(wanted, config),
          addAmount: (wanted, amount, config) => counters.addAmount(wanted, amount, config),
          fillBuckets: () => assert.fail(),
          bucketLevels: () => assert.fail(),
          close: async () => undefined,
        };
        const context = fakeContext({ counters: all, now: Date.now });
        const scope_name = `costs-${++scopes}`;
        const config = withConfigDefaults("rate-limiting", { month: 10, scope_name, ...members, ...options });
        const phases = pluginInstance("rate-limiting", config, context);
        for (const [operation, cost, admitted, remaining] of requests) {
          const shared = { "graphql.operation": operation, ...(cost !== null && { "graphql.cost": `${cost}` }) };
          const exchange = fakeExchange({ shared });
          const answer = await phases.access?.(exchange);
          const what = `${operation}, ${cost}`;
          assert.equal(answer === undefined, admitted, what);
          for (const header of ["X-RateLimit-Remaining-Month", "RateLimit-Remaining"])
            assert.equal(exchange.responseHeaders.get(header), remaining, `${header} of ${what}`);
          assert.equal(exchange.responseHeaders.get("X-RateLimit-Limit-Month"), "10");
        }
      });
  });
}

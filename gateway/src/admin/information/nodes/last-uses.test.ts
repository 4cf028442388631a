import assert from "node:assert/strict";
import { test } from "node:test";
import { routeNamed } from "../../../compile/testing-entities.ts";
import type { AdminContext } from "../../context.ts";
import { lastUseRoutes } from "./last-uses.ts";

const MINUTE = 60;
const now = 1000 * MINUTE + 1;
/** The minutes of the last uses, in Unix time. */
const minutes = { a: now - 1, b: now - 1 - MINUTE, ahead: now - 1 + 2 * MINUTE };

/** The names of the routes that GET /usage/routes lists; `never` was never used. */
async function namesFor(query: string): Promise<readonly unknown[]> {
  const routes = [...Object.keys(minutes), "never"].map((name) => routeNamed(name));
  const last_uses = Object.fromEntries(
    Object.entries(minutes).map(([name, minute]) => [routeNamed(name).id, minute] as const),
  );
  const fleet = {
    askPlugin: async () => ({
      answered: [{ node: "one", response: { status: 200, body: { since: 0, last_uses } } }],
      unanswered: [],
    }),
  };
  const store = { list: async () => ({ entities: routes, more: false }) };
  const [own] = lastUseRoutes({ fleet, store } as unknown as AdminContext);
  const response = await own?.handlers.GET?.({ query: new URLSearchParams(query) } as never);
  const body = response?.body as { readonly data: readonly { readonly name: string }[] } | undefined;
  return (body?.data ?? []).map(({ name }) => name);
}

for (const [query, expected] of [
  ["", ["never", "b", "a", "ahead"]],
  // The minute in which the route b was last used ended one second ago.
  ["unused_for=1", ["never", "b"]],
  ["unused_for=2", ["never"]],
  ["unused_for=3153600000", ["never"]],
] as const)
  test(`routes without a use in the time of ?${query} are listed: ${expected}`, async (context) => {
    context.mock.timers.enable({ apis: ["Date"], now: now * 1000 });
    assert.deepEqual(await namesFor(query), expected);
  });

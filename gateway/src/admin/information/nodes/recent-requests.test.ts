import assert from "node:assert/strict";
import { test } from "node:test";
import type { WatchedRequests } from "@sluice/model";
import type { AdminContext } from "../../context.ts";
import { recentRequestRoutes } from "./recent-requests.ts";

/** The body of GET /access-log if the nodes return these requests. */
async function accessLogOf(nodes: Readonly<Record<string, WatchedRequests>>): Promise<unknown> {
  const answered = Object.entries(nodes).map(([node, body]) => ({ node, response: { status: 200, body } }));
  const fleet = { askPlugin: async () => ({ answered, unanswered: [] }) };
  const routes = recentRequestRoutes({ fleet } as unknown as AdminContext);
  const own = routes.find(({ url }) => url === "/access-log");
  const response = await own?.handlers.GET?.({ query: new URLSearchParams("watch=a") } as never);
  return response?.body;
}

const request = { time: "2026-01-01T00:00:00.000Z", request_id: "r" };

test("a node on which too many watches are open is named as unanswered", async () => {
  const body = await accessLogOf({
    one: { requests: [request], missed: 0, is_full: false },
    two: { requests: [], missed: 0, is_full: true },
  });
  assert.deepEqual(body, {
    watch: "a",
    data: [{ node: "one", ...request }],
    missed: 0,
    unanswered: [{ node: "two", reason: "too many callers watch requests" }],
  });
});

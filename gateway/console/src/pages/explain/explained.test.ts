import assert from "node:assert/strict";
import { test } from "node:test";
import type { Explanation } from "@sluice/model";
import { headersFromText, verdictOf } from "./explained.ts";

const empty: Explanation = {
  connection: null,
  handshake: null,
  listener: null,
  warnings: [],
  request: null,
  route: null,
  service: null,
  consumer: null,
  candidates: [],
  other_candidates: 0,
  plugins: [],
  counters: [],
  upstream: null,
  closed: null,
  response: null,
  log: [],
  unknown: null,
};
const shop = { id: "1", name: "shop" };
const response = (status: number, body = "") => ({ status, headers: [], body });
const plugin = (result: "answered" | "failed", reason: string | null = null) => ({
  id: "2",
  label: "2",
  name: "key-auth",
  scope: {},
  result,
  reason,
  identifies: true,
});

const table: readonly (readonly [what: string, explanation: Partial<Explanation>, title: string, sentence: string])[] =
  [
    [
      "no route, with the nearest candidate",
      {
        response: response(404),
        candidates: [
          { route: shop, path: "/shop", result: "no match", attribute: "method", reason: "the method POST is not GET" },
        ],
      },
      "The gateway answers 404",
      "No route matches. The nearest is shop: the method POST is not GET.",
    ],
    [
      "the plugin that answers, with its message",
      {
        route: shop,
        response: response(401, '{"message":"No API key found in request"}'),
        plugins: [plugin("answered")],
      },
      "The gateway answers 401",
      "The plugin key-auth answered: No API key found in request",
    ],
    [
      "why a connection is closed",
      { route: shop, closed: { status: 403, reason: "IP address not allowed: 192.0.2.1" } },
      "The gateway closes the connection",
      "IP address not allowed: 192.0.2.1",
    ],
    [
      "where a connection goes",
      {
        route: shop,
        service: { id: "3", name: "orders" },
        upstream: {
          ...{ method: null, url: "tcp://127.0.0.1:9001", path_changes: [], headers: [] },
          ...{ algorithm: "round-robin", targets: [], target: null },
        },
      },
      "Goes to the service orders",
      "tcp://127.0.0.1:9001",
    ],
    [
      "the plugin that failed",
      { route: shop, response: response(500), plugins: [plugin("failed", "boom")] },
      "The gateway answers 500",
      "The plugin key-auth failed: boom",
    ],
    [
      "the log, if no target is left",
      { route: shop, response: response(503), log: ["no target accepts requests"] },
      "The gateway answers 503",
      "no target accepts requests",
    ],
    [
      "why the result is not known",
      { route: shop, unknown: "it asks another server" },
      "Not known",
      "The explanation ends early: it asks another server",
    ],
    [
      "where the request goes",
      {
        route: shop,
        service: shop,
        upstream: {
          method: "GET",
          url: "http://a/b",
          headers: [],
          path_changes: [],
          algorithm: "round-robin",
          targets: [],
          target: null,
        },
      },
      "Goes to the service shop",
      "GET http://a/b",
    ],
  ];
for (const [what, explanation, title, sentence] of table) {
  test(`the verdict names ${what}`, () => {
    const verdict = verdictOf({ ...empty, ...explanation });
    assert.deepEqual([verdict.title, verdict.sentence], [title, sentence]);
  });
}

test("headers are read line by line, and a line that is no header is an error", () => {
  assert.deepEqual(headersFromText("a: 1\n\nb:2: 3\na: 4"), { a: ["1", "4"], b: ["2: 3"] });
  assert.match(String(headersFromText("a: 1\nnonsense")), /^'nonsense' is not a header/);
});

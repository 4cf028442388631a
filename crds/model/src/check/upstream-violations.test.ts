import assert from "node:assert/strict";
import { test } from "node:test";
import type { Collection } from "../entities/index.ts";
import { checkEntity } from "./index.ts";

const UUID = "fd02801f-0957-4a15-a55a-c8d9606f30b5";
const MISSING = "required field missing";
const given = (name: string) => `failed conditional validation given value of field '${name}'`;

/** Upstreams, targets and retry budgets as given, with `path: message` for every violation. */
const cases: readonly (readonly [collection: Collection, raw: unknown, ...faults: string[]])[] = [
  ["upstreams", {}, `name: ${MISSING}`],
  ["upstreams", { name: "10.0.0.1" }, "name: Invalid name; no ip addresses allowed"],
  ["upstreams", { name: "u", slots: 9 }, "slots: value should be between 10 and 65536"],
  [
    "upstreams",
    {
      name: "u",
      slow_start_window: 0,
      outlier_detection: { base_ejection_time: 0, max_ejection_percent: 101, share: 1 },
    },
    "outlier_detection.share: unknown field",
    "outlier_detection.base_ejection_time: value should be between 0.001 and 86400",
    "outlier_detection.max_ejection_percent: value should be between 0 and 100",
    "slow_start_window: value should be between 0.001 and 86400",
  ],
  [
    "services",
    { host: "a", retry_budget: { percent: 101, min_concurrency: -1 } },
    "retry_budget.min_concurrency: value should be between 0 and 1000000",
    "retry_budget.percent: value should be between 0 and 100",
  ],
  ["upstreams", { name: "u", hash_on: "header" }, `hash_on_header: ${MISSING}`, `@entity: ${given("hash_on")}`],
  [
    "upstreams",
    { name: "u", hash_on: "ip", hash_fallback: "query_arg" },
    `hash_fallback_query_arg: ${MISSING}`,
    `@entity: ${given("hash_fallback")}`,
  ],
  [
    "upstreams",
    { name: "u", hash_on: "cookie", hash_on_cookie: "c", hash_fallback: "ip" },
    "hash_fallback: expected one of: none",
    `@entity: ${given("hash_on")}`,
  ],
  [
    "upstreams",
    { name: "u", hash_on: "ip", hash_fallback: "ip" },
    "hash_fallback: expected one of: none, consumer, header, cookie, path, query_arg, uri_capture",
    `@entity: ${given("hash_on")}`,
  ],
  [
    "upstreams",
    { name: "u", hash_on: "header", hash_on_header: "X-A", hash_fallback: "header", hash_fallback_header: "X-A" },
    "@entity: values of these fields must be distinct: 'hash_on_header', 'hash_fallback_header'",
  ],
  [
    "upstreams",
    { name: "u", healthchecks: { active: { http_path: "up", healthy: { interval: -1, colour: 1 } } } },
    "healthchecks.active.http_path: should start with: /",
    "healthchecks.active.healthy.colour: unknown field",
    "healthchecks.active.healthy.interval: value should be between 0 and 65535",
  ],
  ["targets", {}, `target: ${MISSING}`, `upstream: ${MISSING}`],
  [
    "targets",
    { target: "http://a", upstream: { id: UUID }, weight: 65_536 },
    "target: Invalid target ('http://a'); not a valid hostname or ip address",
    "weight: value should be between 0 and 65535",
  ],
];

for (const [collection, raw, ...faults] of cases) {
  test(`checkEntity reports every violation of ${collection} ${JSON.stringify(raw).slice(0, 100)}`, () => {
    const { violations = [] } = checkEntity(collection, raw);
    assert.deepEqual(violations.map(({ path, message }) => `${path.join(".")}: ${message}`).sort(), faults.sort());
  });
}

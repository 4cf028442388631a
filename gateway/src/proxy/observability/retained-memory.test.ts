/** What recent and watched requests keep in memory: copies of short strings, but no heads of requests. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { readRequestWatch } from "@sluice/model";
import type { GatewayErrorName } from "../../exchange/gateway-errors.ts";
import type { RejectedRequest } from "./observer.ts";
import { RecentRequestLog } from "./recent-requests.ts";
import { RequestTaps } from "./request-taps.ts";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

/** Bytes of a head; Node keeps strings of about 1 MiB or more outside the heap. */
const HEAD = 256 * 1024;
const COUNT = 50;
const names: readonly GatewayErrorName[] = ["noRoute", "badRequest", "headTooLarge", "targetTooLong", "requestTimeout"];

/** A request whose path and User-Agent are parts of a long string, as they are parts of a head. */
function requestAt(at: number): RejectedRequest {
  const head = Buffer.alloc(HEAD, `/a-path-of-some-length/${at}/`).toString("latin1");
  return {
    id: "r",
    name: names[at % names.length] ?? "noRoute",
    status: 404,
    request: {
      method: "GET",
      host: head.slice(1, 30),
      path: head.slice(0, 100),
      query: "",
      clientAddress: "10.0.0.1",
      head: { peer: { tlsVersion: null } },
      header: (name) => (name === "user-agent" ? head.slice(100, 200) : undefined),
    },
    peerAddress: "10.0.0.1",
    duration: 1,
  };
}

for (const [what, start] of [
  ["the list of recent requests", () => new RecentRequestLog({ slowAfter: 1000 })],
  [
    "a watch",
    () => {
      const taps = new RequestTaps();
      const { value } = readRequestWatch({ watch: "a" });
      assert.ok(value);
      taps.read(value);
      return taps;
    },
  ],
] as const)
  test(`${what} does not keep the heads of requests in memory`, () => {
    const observer = start();
    collectGarbage();
    const before = process.memoryUsage().heapUsed;
    for (let at = 0; at < COUNT; at++) observer.rejected(requestAt(at));
    collectGarbage();
    const kept = process.memoryUsage().heapUsed - before;
    assert.ok(kept < HEAD * (COUNT / 10), `${kept} bytes`);
    // Used here, so that the observer is not garbage-collected before the measurement.
    assert.ok(observer);
  });

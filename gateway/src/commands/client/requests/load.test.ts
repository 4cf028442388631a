import assert from "node:assert/strict";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import { runCommandLine } from "../../testing-command.ts";
import { generateLoad, LoadCounts, type LoadResponse } from "./load.ts";

const response = (headers: LoadResponse["headers"] = {}, status = 200): LoadResponse => ({ status, headers });

/** A clock on which each timer moves the time forward at once, instead of waiting. */
function mockClock({ mock }: TestContext): { now: number } {
  const clock = { now: 0 };
  mock.method(performance, "now", () => clock.now);
  mock.method(globalThis, "setTimeout", (callback: () => void, milliseconds: number) => {
    clock.now += milliseconds;
    queueMicrotask(callback);
  });
  return clock;
}

test("requests are due at the rate, and those that wait for a connection are measured from the time they were due", async (context) => {
  const clock = mockClock(context);
  const counts = new LoadCounts();
  const { unsent } = await generateLoad(
    {
      connections: 1,
      milliseconds: 400,
      rate: 100,
      async send() {
        if (counts.responses === 0) clock.now += 200;
        return response();
      },
    },
    counts,
  );
  assert.deepEqual([counts.responses, unsent], [40, 0]);
  assert.ok(counts.latencies.max >= 200_000);
  // Ten of the forty requests were due within the first half of the delay.
  assert.ok(counts.latencies.percentile(80) >= 90_000, String(counts.latencies.percentile(80)));
});

test("at a rate that the connections cannot reach, the requests that they did not send are counted", async (context) => {
  const clock = mockClock(context);
  const { promise, resolve } = Promise.withResolvers<LoadResponse>();
  const counts = new LoadCounts();
  let sent = 0;
  function send(): Promise<LoadResponse> {
    sent++;
    if (sent === 2) {
      clock.now = 150;
      resolve(response());
    }
    return promise;
  }
  const { unsent, elapsed } = await generateLoad({ connections: 2, milliseconds: 100, rate: 100, send }, counts);
  assert.deepEqual([counts.responses, unsent], [2, 8]);
  assert.ok(elapsed >= 140);
});

const origins: readonly (readonly [does: string, response: LoadResponse, refused: number, attributed: number])[] = [
  ["a 429 of the gateway", response({ "x-sluice-response-latency": "1" }, 429), 1, 1],
  ["a 429 of the gateway with Kong's names of headers", response({ "x-kong-response-latency": "1" }, 429), 1, 1],
  ["a response of the gateway that is no error", response({ "x-sluice-response-latency": "1" }), 0, 1],
  ["a 500 of an upstream", response({ "x-sluice-upstream-latency": "1" }, 500), 0, 1],
  ["a 500 of another server", response({ server: "nginx" }, 500), 0, 0],
];

for (const [does, given, refused, attributed] of origins) {
  test(`${does} counts as ${refused === 1 ? "refused" : attributed === 1 ? "not refused" : "unknown"}`, () => {
    const counts = new LoadCounts();
    counts.addResponse(given, 1);
    assert.deepEqual([counts.refused, counts.attributed], [refused, attributed]);
  });
}

async function startServer(context: TestContext, answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  context.after(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

test("bench sends the given request, and counts responses and broken connections", async (context) => {
  const received: string[] = [];
  let count = 0;
  const url = await startServer(context, async (request, answer) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    received.push([request.method, request.headers.host, request.headers["x-a"], body].join(" "));
    if (++count % 5 === 0) request.socket.destroy();
    else answer.writeHead(count % 2 === 0 ? 404 : 200).end("x".repeat(100_000));
  });
  // The same server under an address that is not loopback.
  const proxyUrl = url.replace("127.0.0.1", "0.0.0.0");
  const request = ["http://a.example/", "--proxy-url", proxyUrl, "-H", "X-A: b", "--data", "{}"];
  const load = ["--rate", "20", "--seconds", "1", "--connections", "2", "--json"];
  const { code, printed, warnings } = await runCommandLine(["bench", ...request, ...load]);
  const measured = JSON.parse(printed);
  assert.equal(code, 3);
  assert.deepEqual(new Set(received), new Set(["POST a.example b {}"]));
  // Every fifth of the requests, the first of which only checks the address, loses its connection.
  const lost = Math.floor(count / 5);
  assert.deepEqual([measured.responses, measured.errors], [count - 1 - lost, { UND_ERR_SOCKET: lost }]);
  // A busy machine does not send all requests within the second.
  assert.equal(measured.responses + lost + measured.unsent, 20);
  assert.deepEqual(Object.keys(measured.statuses), ["200", "404"]);
  assert.partialDeepStrictEqual(measured, { connections: 2, rate: 20, refused: null });
  assert.ok(measured.latencies.p50 > 0 && measured.latencies.max >= measured.latencies.p99);
  assert.match(
    warnings.join("\n"),
    /^http:\/\/0\.0\.0\.0:\d+ is not on this machine: the latencies include the network; send load only/,
  );
});

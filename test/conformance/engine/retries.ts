/** The retries and timeouts of routes of Gateway API (GEP-1731, GEP-1742). */
import assert from "node:assert/strict";
import type { IncomingMessage, ServerResponse } from "node:http";
import { describe, it, type TestContext } from "node:test";
import type { Service, ServiceExtras } from "@sluice/model";
import { waitFor } from "../../../tools/process/index.ts";
import { sendRequest } from "./client.ts";
import { type Engine, startRig } from "./proxy-rig.ts";

interface Attempt {
  readonly method: string;
  readonly body: string;
  readonly began: number;
}

interface SceneOptions extends ServiceExtras {
  readonly retries: number;
  /** Default: none. */
  readonly budget?: Service["retry_budget"];
  /** Answers an attempt, by its number from 0, once its body has been received. */
  readonly answer: (response: ServerResponse, attempt: number) => void;
}

const status = (code: number) => (response: ServerResponse) => {
  response.statusCode = code;
  response.end(`${code}`);
};
const silence = () => {};

export function retrySuite(engine: Engine): void {
  /** A gateway, and an upstream that records the attempts. */
  async function start(test: TestContext, { retries, budget = null, answer, ...extras }: SceneOptions) {
    const attempts: Attempt[] = [];
    const counted: number[] = [];
    const retried: boolean[] = [];
    const rig = await startRig(test, engine, {
      upstream: (request, response) => void receive(request, response),
      service: { retries, retry_budget: budget, _sluice: extras },
      observer: {
        finished: ({ tries }) => void counted.push(tries),
        retried: (_exchange, isSent) => void retried.push(isSent),
      },
    });
    return { ...rig, attempts, counted, retried };

    async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
      const began = performance.now();
      const number = attempts.length;
      const attempt = { method: request.method ?? "", body: "", began };
      attempts.push(attempt);
      request.setEncoding("latin1").on("data", (piece: string) => (attempt.body += piece));
      request.on("end", () => answer(response, number)).on("error", () => {});
    }
  }

  /** Answers the first attempts with the status, and the others with 200. */
  const failing = (count: number, code: number) => (response: ServerResponse, attempt: number) =>
    status(attempt < count ? code : 200)(response);

  const rows: readonly (readonly [does: string, failures: number, code: number, status: number, attempts: number])[] = [
    ["sends a request again after a status of the policy", 2, 500, 200, 3],
    ["passes the last response on when no attempt is left", 5, 500, 500, 4],
    ["sends a request once after another status", 2, 503, 503, 1],
  ];

  describe(`retries of routes of Gateway API: the ${engine.name} engine`, () => {
    for (const [does, failures, code, expected, count] of rows)
      it(does, async (test) => {
        const retry = { codes: [500], backoff: 0 };
        const { port, attempts, counted } = await start(test, { retries: 3, retry, answer: failing(failures, code) });
        const { status, body } = await sendRequest(port);
        assert.deepEqual([status, body, attempts.length], [expected, `${expected}`, count]);
        assert.deepEqual(counted, [count]);
      });

    const broken = (response: ServerResponse) => response.socket?.destroy();
    for (const [name, fails] of [
      ["a status", status(500)],
      ["a broken connection", broken],
    ] as const)
      it(`sends requests again after ${name} only within the service's retry budget`, async (test) => {
        const held: ServerResponse[] = [];
        const retry = { codes: [500], backoff: 0 };
        const { port, attempts, retried } = await start(test, {
          retries: 2,
          retry,
          budget: { percent: 0, min_concurrency: 1 },
          answer: (response, attempt) => (attempt === 1 ? void held.push(response) : fails(response)),
        });
        const first = sendRequest(port);
        await waitFor(() => held.length === 1, { what: "the second attempt of the first request" });
        // While the first request is being sent again, no other request is.
        assert.notEqual((await sendRequest(port)).status, 200);
        assert.equal(attempts.length, 3);
        for (const response of held) status(200)(response);
        assert.equal((await first).status, 200);
        assert.notEqual((await sendRequest(port)).status, 200);
        assert.equal(attempts.length, 6);
        assert.deepEqual(retried, [true, false, true, true], "observers learn of attempts and of refused ones");
      });

    it("sends a request again without the retry budget, once, if an idle connection turns out to be closed", async (test) => {
      const { port, attempts } = await start(test, {
        retries: 2,
        budget: { percent: 0, min_concurrency: 0 },
        answer: (response, attempt) => ([1, 4].includes(attempt) || attempt > 4 ? broken : status(200))(response),
      });
      const statuses: number[] = [];
      for (let count = 0; count < 4; count++) statuses.push((await sendRequest(port)).status);
      // The second request is sent again on a new connection. That of the last one breaks too.
      assert.deepEqual([statuses, attempts.length], [[200, 200, 200, 502], 6]);
    });

    it("sends a body of at most 64 KiB again, whatever the method, and a longer one only once", async (test) => {
      const retry = { codes: [503], backoff: 0 };
      const { port, attempts } = await start(test, { retries: 1, retry, answer: failing(1, 503) });
      const body = "b".repeat(65_536);
      const framings: readonly Readonly<Record<string, string>>[] = [{}, { "transfer-encoding": "chunked" }];
      for (const headers of framings) {
        attempts.length = 0;
        assert.equal((await sendRequest(port, { method: "POST", body, headers })).status, 200);
        assert.deepEqual(
          attempts.map((one) => one.body === body),
          [true, true],
        );
        attempts.length = 0;
        assert.equal((await sendRequest(port, { method: "POST", body: `${body}b`, headers })).status, 503);
        assert.equal(attempts.length, 1);
      }
    });

    it("waits for the backoff before the second attempt, and longer before the next", async (test) => {
      const retry = { codes: [500], backoff: 60 };
      const { port, attempts } = await start(test, { retries: 2, retry, answer: failing(2, 500) });
      assert.equal((await sendRequest(port)).status, 200);
      const [first = 0, second = 0, third = 0] = attempts.map(({ began }) => began);
      assert.ok(second - first >= 59 && third - second >= 119, `${second - first} and ${third - second} ms`);
    });

    it("sends an idempotent request again when an attempt times out or its connection breaks", async (test) => {
      const retry = { codes: [], backoff: 0 };
      for (const failure of [silence, broken])
        for (const [method, expected] of [
          ["PUT", [200, 2]],
          ["POST", [failure === silence ? 504 : 502, 1]],
        ] as const) {
          const { port, attempts } = await start(test, {
            retries: 1,
            retry,
            timeouts: { attempt: 150 },
            answer: (response, attempt) => (attempt === 0 ? failure(response) : status(200)(response)),
          });
          const { status: received } = await sendRequest(port, { method, body: "b" });
          assert.deepEqual([received, attempts.length], expected);
        }
    });

    it("answers 504 after the request timeout, which includes all attempts and pauses", async (test) => {
      const retry = { codes: [500], backoff: 0 };
      const timeouts = { request: 300, attempt: 120 };
      const { port, attempts } = await start(test, { retries: 100, retry, timeouts, answer: silence });
      const began = performance.now();
      assert.equal((await sendRequest(port)).status, 504);
      const taken = performance.now() - began;
      assert.ok(taken >= 295 && taken < 900, `${taken} ms`);
      assert.ok(attempts.length >= 2 && attempts.length <= 3, `${attempts.length} attempts`);
    });

    it("passes a response on when the request timeout leaves no time for another attempt", async (test) => {
      const retry = { codes: [500], backoff: 60_000 };
      const { port, attempts } = await start(test, {
        retries: 3,
        retry,
        timeouts: { request: 30_000 },
        answer: failing(1, 500),
      });
      assert.deepEqual([(await sendRequest(port)).status, attempts.length], [500, 1]);
    });

    it("breaks a response off that is not complete within the request timeout", async (test) => {
      const { port } = await start(test, {
        retries: 0,
        timeouts: { request: 200 },
        answer: (response) => void response.writeHead(200, { "content-length": "10" }).write("begun"),
      });
      const { status, body, complete } = await sendRequest(port);
      assert.deepEqual([status, body, complete], [200, "begun", false]);
    });
  });
}

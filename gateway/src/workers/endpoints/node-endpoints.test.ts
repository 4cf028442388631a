/** A node's reports about clients' requests: recent requests, last uses, and the timings of debugged requests. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, describe, test } from "node:test";
import {
  type DebugTokenGrant,
  type LastUses,
  NODE_ENDPOINT_ID,
  nodePaths,
  type RecentRequest,
  readRecentRequestFilter,
  readRequestWatch,
  type UsedCollection,
  type WatchedRequests,
} from "@sluice/model";
import { dial, receiveUntil } from "../../../../test/conformance/engine/client.ts";
import { type ExplainRig, startExplainRig } from "../../explain/testing-worker.ts";
import { mergeNodeResponses } from "./node-endpoints.ts";

const SLOW = 200;

for (const engine of ["http1", "reply-from"] as const)
  describe(`${engine}:`, () => {
    let rig: ExplainRig;
    before(async () => {
      rig = await startExplainRig({ plan: { engine, slowRequest: SLOW } });
      rig.serve({
        services: [
          { name: "up", url: `http://127.0.0.1:${rig.upstreamPort}` },
          { name: "dead", url: "http://127.0.0.1:1", retries: 1 },
          { name: "hosted", host: "up.example" },
        ],
        upstreams: [{ name: "up.example", targets: [] }],
        routes: [
          { name: "open", paths: ["/open"], service: { name: "up" } },
          { name: "keyed", paths: ["/keyed"], service: { name: "up" } },
          { name: "limited", paths: ["/limited"], service: { name: "up" } },
          { name: "small", paths: ["/small"], service: { name: "up" } },
          { name: "ended", paths: ["/ended"], service: { name: "up" } },
          { name: "dead", paths: ["/dead"], service: { name: "dead" } },
          { name: "empty", paths: ["/empty"], service: { name: "hosted" } },
          { name: "none", paths: ["/none"] },
          { name: "slow", paths: ["/slow"], service: { name: "up" } },
        ],
        plugins: [
          { name: "key-auth", route: { name: "keyed" } },
          { name: "key-auth", route: { name: "limited" } },
          { name: "rate-limiting", config: { minute: 1 }, route: { name: "limited" } },
          {
            name: "request-size-limiting",
            config: { allowed_payload_size: 10, size_unit: "bytes" },
            route: { name: "small" },
          },
          { name: "request-termination", config: { status_code: 410, message: "gone" }, route: { name: "ended" } },
        ],
        consumers: [{ username: "ann", keyauth_credentials: [{ key: "ann-key" }] }],
      });
    });
    after(() => rig[Symbol.asyncDispose]());

    const send = async (path: string, init: RequestInit = {}) => {
      const response = await fetch(`http://127.0.0.1:${rig.port}${path}`, init);
      await response.text();
      return response;
    };
    const ask = async (path: string, body: unknown) => {
      const response = await rig.worker.askPlugin(NODE_ENDPOINT_ID, { method: "POST", path: [path], query: {}, body });
      assert.ok(response && response.status < 300, JSON.stringify(response));
      return response.body;
    };
    const recent = async (filter: Record<string, string> = {}): Promise<readonly RecentRequest[]> => {
      const { value } = readRecentRequestFilter(filter);
      return ((await ask(nodePaths.recentRequests, value)) as { requests: readonly RecentRequest[] }).requests;
    };

    for (const [what, path, init, expected] of [
      ["no route matches", "/nowhere?apikey=hidden", {}, [404, null, null, null, /^no Route matched/]],
      ["a key is missing", "/keyed", {}, [401, "keyed", null, "key-auth", /^No API key found in request$/]],
      ["a key is unknown", "/keyed?apikey=hidden", {}, [401, "keyed", null, "key-auth", /^Unauthorized$/]],
      [
        "a plugin answers with an error",
        "/ended",
        {},
        [410, "ended", null, "request-termination", /^a plugin answered with status 410$/],
      ],
      [
        "its body is too long",
        "/small",
        { method: "POST", body: "more than ten bytes" },
        [413, "small", null, "request-size-limiting", /^Request size limit exceeded$/],
      ],
      [
        "its service cannot be reached",
        "/dead",
        {},
        [502, "dead", null, null, /^the upstream failed: connect ECONNREFUSED 127\.0\.0\.1:1$/],
      ],
      ["its upstream has no targets", "/empty", {}, [503, "empty", null, null, /^failure to get a peer/]],
      ["its route has no service", "/none", {}, [503, "none", null, null, /^no Service found/]],
    ] as const)
      test(`a request is listed with the reason if ${what}`, async () => {
        const { status, headers } = await send(path, init);
        const [request, ...others] = await recent({ size: "1" });
        assert.ok(request && others.length === 0);
        const { route, consumer, plugin, reason } = request;
        const [wantedStatus, ...wanted] = expected.slice(0, 4);
        assert.deepEqual([status, request.status, request.kind], [wantedStatus, wantedStatus, "refused"]);
        assert.deepEqual([route?.name ?? null, consumer?.name ?? null, plugin?.name ?? null], wanted);
        assert.match(reason, expected[4]);
        assert.equal(request.request_id, headers.get("x-sluice-request-id"));
        assert.equal(request.path, path.split("?")[0]);
        assert.ok(!JSON.stringify(request).includes("hidden"), "no query is listed");
      });

    test("a request whose limit is reached is listed with its consumer, and can be found by each name and id", async () => {
      const init = { headers: { apikey: "ann-key" } };
      assert.deepEqual([(await send("/limited", init)).status, (await send("/limited", init)).status], [200, 429]);
      const [found] = await recent({ status: "429" });
      assert.ok(found?.route && found.service && found.consumer && found.plugin);
      assert.deepEqual([found.consumer.name, found.plugin.name, found.target], ["ann", "rate-limiting", null]);
      for (const name of ["route", "service", "consumer", "plugin"] as const)
        for (const value of [found[name]?.id, found[name]?.name]) {
          const listed = await recent({ [name]: String(value), status: "429" });
          assert.deepEqual(listed, [found], `${name}=${value}`);
        }
      assert.deepEqual(await recent({ consumer: "bob" }), []);
      assert.deepEqual(await recent({ kind: "slow", status: "429" }), []);
    });

    test("a malformed request is listed without its content", async (context) => {
      const socket = await dial(context, rig.port);
      socket.write("GET /a b c HTTP/1.1\r\n\r\n");
      await receiveUntil(socket, "400");
      const [request] = await recent({ status: "400" });
      assert.deepEqual([request?.method, request?.path, request?.route], [null, null, null]);
    });

    test("a slow response is listed with the part of the time that the service took; a fast one is not", async () => {
      await send("/open");
      assert.deepEqual(await recent({ kind: "slow" }), []);
      await send("/slow", { headers: { "x-delay": String(SLOW) } });
      const [request] = await recent({ kind: "slow" });
      assert.ok(request?.latencies.upstream && request.latencies.upstream >= SLOW - 1, JSON.stringify(request));
      assert.match(request.reason, /^the service began to respond after 0\.\d\d s$/);
      assert.deepEqual([request.status, request.route?.name, request.tries], [200, "slow", 1]);
    });

    test("a flood of refusals of one kind is limited to ten, and does not displace others", async () => {
      await send("/dead");
      for (let at = 0; at < 40; at++) await send("/nowhere");
      assert.equal((await recent({ status: "404" })).length, 10);
      assert.equal((await recent({ route: "dead" }))[0]?.status, 502);
    });

    test("routes that matched, and consumers and keys that were accepted, are reported as used", async () => {
      await send("/open");
      await send("/keyed?apikey=unknown");
      await send("/limited?apikey=ann-key");
      const minute = Math.floor(Date.now() / 60_000) * 60;
      const uses = async (collection: UsedCollection) => {
        const { since, last_uses } = (await ask(nodePaths.lastUses, { collection })) as LastUses;
        assert.ok(since <= Date.now() / 1000 && since > Date.now() / 1000 - 600);
        for (const time of Object.values(last_uses))
          assert.ok(time % 60 === 0 && time <= minute && time > minute - 600);
        return Object.keys(last_uses);
      };
      const { snapshot } = rig.worker.runtime();
      const named = (await uses("routes")).map((id) => snapshot.routes.get(id)?.name);
      for (const name of ["open", "keyed", "limited"]) assert.ok(named.includes(name), name);
      assert.deepEqual(
        (await uses("consumers")).map((id) => snapshot.consumers.get(id)?.username),
        ["ann"],
      );
      assert.deepEqual(
        await uses("credentials"),
        [...snapshot.keyauth_credentials.values()].map(({ id }) => id),
      );
    });

    describe("a watch", () => {
      const read = async (given: Record<string, string>) => {
        const { value } = readRequestWatch(given);
        return (await ask(nodePaths.watchedRequests, value)) as WatchedRequests;
      };
      const targets = ({ requests }: WatchedRequests) => requests.map(({ path, status }) => `${path} ${status}`);

      for (const [what, filter, expected] of [
        ["of all requests", {}, ["/open 200", "/keyed 401", "/dead 502", "/nowhere 404"]],
        ["of a route", { route: "keyed" }, ["/keyed 401"]],
        ["of a service", { service: "up" }, ["/open 200", "/keyed 401"]],
        ["of a consumer", { consumer: "ann" }, []],
        ["of a status", { status: "404" }, ["/nowhere 404"]],
        ["of a class of statuses", { status: "4" }, ["/keyed 401", "/nowhere 404"]],
        ["of slow requests", { min_latency: "60000" }, []],
      ] as const)
        test(`${what} reports the requests since its last read`, async () => {
          const watch = { watch: `${engine} ${what}`, ...filter };
          assert.deepEqual(await read(watch), { requests: [], missed: 0, is_full: false });
          for (const path of ["/open?apikey=hidden", "/keyed", "/dead", "/nowhere"]) await send(path);
          const reported = await read(watch);
          assert.deepEqual(targets(reported), expected);
          assert.ok(!JSON.stringify(reported).includes("hidden"), "no query is reported");
          assert.deepEqual((await read(watch)).requests, []);
        });
    });

    describe("with a debug token,", () => {
      const token = "a-token";
      before(() => {
        const grant: DebugTokenGrant = { hash: createHash("sha256").update(token).digest("hex"), lifetime: 60_000 };
        return ask(nodePaths.debugTokens, grant);
      });
      const debugged = async (path: string, headers: Record<string, string> = {}) => {
        const response = await send(path, { headers: { "X-Sluice-Debug": token, ...headers } });
        const timing = response.headers.get("server-timing") ?? "";
        return { response, timing: timing.replaceAll(/dur=[\d.]+/g, "dur=N") };
      };

      for (const [what, path, headers, expected] of [
        [
          "a forwarded request shows its route, service and target",
          "/open",
          {},
          'route;desc="open", service;desc="up", gateway;dur=N, upstream;dur=N;desc="UP", total;dur=N',
        ],
        [
          "an authenticated request shows its consumer and plugins",
          "/keyed",
          { apikey: "ann-key" },
          'route;desc="keyed", service;desc="up", consumer;desc="ann", plugin-key-auth;dur=N;desc="ran", gateway;dur=N, upstream;dur=N;desc="UP", total;dur=N',
        ],
        [
          "a refused request shows the plugin that answered",
          "/keyed",
          {},
          'route;desc="keyed", service;desc="up", plugin-key-auth;dur=N;desc="answered", gateway;dur=N, total;dur=N',
        ],
        [
          "a request to a dead service shows every failed attempt",
          "/dead",
          {},
          'route;desc="dead", service;desc="dead", gateway;dur=N, failed-try-1;dur=N;desc="127.0.0.1:1", failed-try-2;dur=N;desc="127.0.0.1:1", total;dur=N',
        ],
        [
          "a request without a route shows that no route matched",
          "/nowhere",
          {},
          'total;dur=N;desc="no route matched"',
        ],
      ] as const)
        test(what, async () => {
          const { response, timing } = await debugged(path, headers);
          assert.equal(timing.replace(`127.0.0.1:${rig.upstreamPort}`, "UP"), expected);
          assert.equal(response.headers.get("x-sluice-trace-id"), response.headers.get("x-sluice-request-id"));
        });

      test("the token is not forwarded, and the id of a received trace is shown", async () => {
        const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        const { response } = await debugged("/open", { traceparent });
        assert.equal(response.headers.get("x-sluice-trace-id"), "0af7651916cd43dd8448eb211c80319c");
        assert.ok(!rig.last()?.headers.some((text) => /x-sluice-debug/i.test(text)));
      });

      test("requests without a valid token show nothing", async () => {
        for (const headers of [{}, { "x-sluice-debug": "another" }])
          for (const path of ["/open", "/nowhere"]) {
            const response = await send(path, { headers });
            assert.deepEqual(
              [response.headers.get("server-timing"), response.headers.get("x-sluice-trace-id")],
              [null, null],
            );
          }
      });
    });
  });

test("the responses of several nodes are merged: the newest requests, the latest uses, and the latest start", () => {
  const request = { method: "POST", path: [nodePaths.recentRequests], query: {}, body: { size: 2 } } as const;
  const listed = (...times: string[]) => ({ status: 200, body: { requests: times.map((time) => ({ time })) } });
  assert.deepEqual(mergeNodeResponses(request, [listed("3", "1"), listed("4")])?.body, {
    requests: [{ time: "4" }, { time: "3" }],
  });
  const used = (since: number, last_uses: object) => ({ status: 200, body: { since, last_uses } });
  const merged = mergeNodeResponses({ ...request, path: [nodePaths.lastUses] }, [
    used(10, { a: 60, b: 120 }),
    used(20, { a: 180 }),
  ]);
  assert.deepEqual(merged?.body, { since: 20, last_uses: { a: 180, b: 120 } });
  const failed = { status: 500, body: { message: "failed" } };
  assert.deepEqual(mergeNodeResponses(request, [listed("1"), failed])?.status, 500);
  assert.equal(mergeNodeResponses(request, []), null);
});

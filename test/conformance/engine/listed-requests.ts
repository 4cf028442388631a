/** The list of recent requests (`GET /requests`): which plugin and which reason it names. */
import assert from "node:assert/strict";
import { createServer } from "node:net";
import { describe, it, type TestContext } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { type RecentRequest, readRecentRequestFilter } from "@sluice/model";
import type { BodyFilter, DirectResponse, PluginPhases } from "@sluice/plugin-sdk";
import { RecentRequestLog } from "../../../gateway/src/proxy/observability/recent-requests.ts";
import { freePort } from "../../../tools/process/index.ts";
import { dial, receiveUntil, sendRequest, signal } from "./client.ts";
import { sized } from "./filtered-bodies.ts";
import { type Engine, listen, portOf, type RigOptions, startRig, startUpstream } from "./proxy-rig.ts";

/** A response that takes at least this many milliseconds is slow. */
const SLOW = 150;
/** Timers may end a millisecond early. */
const LATE = SLOW + 20;
/** More bytes than the client and the upstream of a test can buffer together. */
const LONG = 32 * 1024 * 1024;

const answering = (answer: DirectResponse): PluginPhases => ({ access: () => answer });
const filteringBy = (responseBody: () => BodyFilter | DirectResponse): PluginPhases => ({ responseBody });

const filter = { limit: 1000, longer: "refused" } as const;
const failing = (): never => {
  throw new Error("a bug");
};

export function listedRequestSuite(engine: Engine): void {
  async function startListing(test: TestContext, options: RigOptions) {
    const observer = new RecentRequestLog({ slowAfter: SLOW });
    const rig = await startRig(test, engine, { upstream: sized, ...options, observer });
    const { value } = readRecentRequestFilter({});
    assert.ok(value);
    return { rig, list: () => observer.list(value) };
  }

  const shown = ({ kind, status, plugin, reason }: RecentRequest) => ({ kind, status, plugin: plugin?.name, reason });

  describe(`the list of recent requests (${engine.name})`, () => {
    const unexpected = "An unexpected error occurred";
    for (const [what, body, expected] of [
      [
        "replaced the response in the phase responseBody",
        filteringBy(() => ({ status: 403, message: "not this body" })),
        { status: 403, reason: "not this body" },
      ],
      ["failed in the phase responseBody", filteringBy(failing), { status: 500, reason: unexpected }],
      [
        "buffers less than the body",
        filteringBy(() => ({ limit: 3, longer: "refused", whole: (all) => all })),
        {
          status: 502,
          reason: "the body of the response is longer than the 3 bytes that a plugin may buffer",
        },
      ],
      [
        "failed while it changed the body",
        filteringBy(() => ({ ...filter, whole: failing })),
        { status: 500, reason: unexpected },
      ],
    ] as const)
      for (const [whose, plugins] of [
        ["the upstream's response", { "proxy-cache": body }],
        ["a plugin's response", { "key-auth": answering({ status: 401, body: "hello" }), "proxy-cache": body }],
      ] as const)
        it(`names the plugin that ${what}, for ${whose}`, async (test) => {
          const { rig, list } = await startListing(test, { plugins });
          await sendRequest(rig.port);
          assert.deepEqual(list().map(shown), [{ kind: "refused", plugin: "proxy-cache", ...expected }]);
        });

    it("names the plugin that answered if another one only filtered the response", async (test) => {
      const plugins = {
        "key-auth": answering({ status: 401, message: "no key" }),
        "proxy-cache": filteringBy(() => ({ ...filter, whole: (all) => all })),
      };
      const { rig, list } = await startListing(test, { plugins });
      await sendRequest(rig.port);
      assert.deepEqual(list().map(shown), [{ kind: "refused", status: 401, plugin: "key-auth", reason: "no key" }]);
    });

    it("leaves room in the log for the failure of a plugin after many refusals with different reasons", async (test) => {
      let asked = 0;
      const access = () => (++asked > 60 ? failing() : { status: 429, message: "no", reason: `limit ${asked}` });
      const { rig } = await startListing(test, { plugins: { "key-auth": { access } } });
      while (asked < 61) await sendRequest(rig.port);
      assert.equal(rig.log.at(-1)?.message, "a plugin failed");
    });

    for (const [what, status, expected] of [
      ["contains as failed", 503, [{ kind: "failed", status: 503, reason: "the service answered with status 503" }]],
      ["does not contain", 404, []],
    ] as const)
      it(`${what} a request that the upstream answers with ${status}`, async (test) => {
        const upstream: RigOptions["upstream"] = (_request, response) => response.writeHead(status).end("hello");
        const { rig, list } = await startListing(test, { upstream });
        await sendRequest(rig.port);
        assert.deepEqual(
          list().map(({ kind, status, reason }) => ({ kind, status, reason })),
          expected,
        );
        for (const { plugin, target } of list()) assert.deepEqual([plugin, typeof target], [null, "string"]);
      });

    it("does not give the error of an earlier attempt as the reason of a later failure", async (test) => {
      const live = portOf(await startUpstream(test, sized));
      const targets = { [`127.0.0.1:${await freePort()}`]: 1, [`127.0.0.1:${live}`]: 1 };
      const plugins = { "key-auth": { response: failing } };
      const { rig, list } = await startListing(test, { pool: { targets }, service: { retries: 1 }, plugins });
      await sendRequest(rig.port);
      await sendRequest(rig.port);
      assert.deepEqual(
        list()
          .map(({ tries }) => tries)
          .toSorted(),
        [1, 2],
      );
      for (const { reason, plugin } of list()) assert.deepEqual([reason, plugin?.name], [unexpected, "key-auth"]);
    });

    it("gives the reason if the upstream aborts a response that a plugin buffers", async (test) => {
      const upstream = createServer((socket) => {
        socket.once("data", () => socket.end("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe"));
      });
      const port = portOf(await listen(test, upstream));
      const plugins = { "proxy-cache": filteringBy(() => ({ ...filter, whole: (all) => all })) };
      const { rig, list } = await startListing(test, { upstream: port, plugins });
      await sendRequest(rig.port);
      const [entry] = list();
      assert.deepEqual([entry?.status, entry?.plugin], [502, null]);
      assert.match(entry?.reason ?? "", /^the upstream failed: ./);
    });

    for (const [what, wait, expected] of [
      ["does not contain", 0, []],
      ["contains as slow", LATE, ["slow"]],
    ] as const)
      it(`${what} a request whose client disconnected after ${wait} ms, while a plugin ran`, async (test) => {
        const [runs, goesOn] = [signal(), signal()];
        const access = async (): Promise<undefined> => {
          runs.fire();
          await goesOn.seen;
        };
        const ended = signal();
        const plugins = { "key-auth": { access, log: () => ended.fire() } };
        const { rig, list } = await startListing(test, { plugins });
        const socket = await dial(test, rig.port);
        socket.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        await runs.seen;
        await delay(wait);
        socket.destroy();
        await ended.seen;
        goesOn.fire();
        assert.deepEqual(
          list().map(({ kind }) => kind),
          expected,
        );
        for (const { status, plugin, reason } of list()) {
          assert.deepEqual([status, plugin], [499, null]);
          assert.match(reason, /^the client disconnected after 0\.\d\d s, before the response began$/);
        }
      });

    for (const [what, phases] of [
      ["in the phase response", { response: async () => void (await delay(LATE)) }],
      ["in the phase responseBody", filteringBy(() => ({ ...filter, whole: (all) => all }))],
    ] as const satisfies readonly (readonly [string, PluginPhases])[])
      it(`contains a slow response that a plugin held ${what}`, async (test) => {
        const upstream: RigOptions["upstream"] = (_request, response) => {
          response.writeHead(200, { "Content-Length": 5 }).write("he");
          setTimeout(() => response.end("llo"), "response" in phases ? 0 : LATE);
        };
        const { rig, list } = await startListing(test, { upstream, plugins: { "proxy-cache": phases } });
        await sendRequest(rig.port);
        const [entry] = list();
        assert.deepEqual([entry?.kind, entry?.plugin], ["slow", null]);
        assert.match(entry?.reason ?? "", /^plugins held the response for 0\.\d\d s$/);
      });

    it("does not contain a response of a plugin that the client reads slowly", async (test) => {
      const ended = signal();
      const plugins = {
        "key-auth": { ...answering({ status: 200, body: Buffer.alloc(LONG) }), log: () => ended.fire() },
      };
      const { rig, list } = await startListing(test, { plugins });
      const socket = await dial(test, rig.port);
      socket.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
      await receiveUntil(socket, "200 OK");
      socket.pause();
      await delay(LATE);
      socket.destroy();
      await ended.seen;
      assert.deepEqual(list(), []);
    });
  });
}

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate } from "node:timers/promises";
import { type FastifyInstance, type FastifyRequest, fastify } from "fastify";
import type { Caller } from "../policy/caller.ts";
import { fromGateway, testApp } from "../testing.ts";
import { countRequests } from "./rate.ts";

const get = (app: FastifyInstance, headers: Record<string, string> = {}) =>
  app.inject({ url: "/graphql?query={users{id}}", headers });

/** The parts of a request that the limiter reads. */
const askedBy = (caller: Partial<Caller>) =>
  ({ caller: { consumer: null, gateway: true, ...caller }, routeOptions: { config: {} } }) as FastifyRequest;

describe("the rate limit", () => {
  it("answers 429 to requests beyond it, with a single error and the time to retry", async () => {
    const { app } = await testApp({ requestsPerMinute: 2 });
    const statuses = [];
    for (let n = 0; n < 3; n++) statuses.push((await get(app)).statusCode);
    assert.deepEqual(statuses, [200, 200, 429]);
    const response = await get(app);
    const seconds = Number(response.headers["retry-after"]);
    assert.ok(seconds >= 1 && seconds <= 60, `${seconds}`);
    assert.deepEqual(response.json(), { error: `Too many requests. Retry in ${seconds} seconds` });
    assert.match(String(response.headers["content-type"]), /^application\/json/);
    const { body } = await app.inject("/metrics");
    assert.match(body, /^sluice_user_api_rate_limited_total 2$/m);
    await app.close();
  });

  it("counts by consumer, otherwise by the address that the gateway names, and only requests to /graphql", async () => {
    const { app } = await testApp({ requestsPerMinute: 1 });
    const { "x-gateway-secret": secret } = fromGateway;
    const clients: readonly Record<string, string>[] = [
      {},
      fromGateway,
      { ...fromGateway, "x-consumer-id": "2" },
      { "x-gateway-secret": secret, "x-real-ip": "1.1.1.1" },
      { "x-gateway-secret": secret, "x-real-ip": "2.2.2.2" },
    ];
    for (const status of [200, 429]) {
      for (const headers of clients) assert.equal((await get(app, headers)).statusCode, status);
    }
    // An address that the client itself names is ignored.
    assert.equal((await get(app, { "x-real-ip": "3.3.3.3" })).statusCode, 429);
    for (let n = 0; n < 3; n++) assert.equal((await app.inject("/healthz")).statusCode, 200);
    await app.close();
  });

  it("is shared by all addresses of a client's IPv6 network", async () => {
    const { app } = await testApp({ requestsPerMinute: 1 });
    const { "x-gateway-secret": secret } = fromGateway;
    const from = (address: string) => get(app, { "x-gateway-secret": secret, "x-real-ip": address });
    assert.equal((await from("2001:db8::1")).statusCode, 200);
    assert.equal((await from("2001:db8::ffff:2")).statusCode, 429);
    assert.equal((await from("2001:db8:0:1::1")).statusCode, 200);
    await app.close();
  });

  it("counts in the process itself while Redis is unreachable, and logs this once", async () => {
    // No process listens on that port.
    const { app, logged } = await testApp({ requestsPerMinute: 2, redisUrl: "redis://127.0.0.1:1" });
    const statuses = [];
    for (let n = 0; n < 4; n++) statuses.push((await get(app)).statusCode);
    assert.deepEqual(statuses, [200, 200, 429, 429]);
    const warnings = () => logged.filter(({ level }) => Number(level) > 30).map(({ msg }) => msg);
    while (warnings().length === 0) await setImmediate();
    await app.close();
    assert.deepEqual(warnings(), ["Redis does not count requests; each replica counts its own"]);
  });

  it("of a consumer is unaffected by requests from any number of addresses", async () => {
    const app = fastify();
    const count = await countRequests(app, {
      requestsPerMinute: 1,
      redisUrl: undefined,
      redisPrefix: "",
      log: app.log,
    });
    await app.ready();
    const isCounted = async (caller: Partial<Caller>) => (await count?.(askedBy(caller))) === null;
    const consumer = { consumer: { id: "1" } } as Partial<Caller>;
    assert.deepEqual([await isCounted(consumer), await isCounted(consumer)], [true, false]);
    for (let net = 0; net < 60_000; net++) await isCounted({ address: `2001:db8:0:${net.toString(16)}::1` });
    assert.equal(await isCounted(consumer), false);
    await app.close();
  });

  it("is off for 0 requests per minute", async () => {
    const { app } = await testApp({ requestsPerMinute: 0 });
    for (let n = 0; n < 50; n++) assert.equal((await get(app)).statusCode, 200);
    await app.close();
  });
});

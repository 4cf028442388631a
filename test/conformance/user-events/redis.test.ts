import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Redis } from "ioredis";
import { type Redis as Server, startRedis, startTlsRedis } from "../../../tools/programs/servers/redis.ts";
import { openEvents } from "../../../user-api/src/events/events.ts";
import { openRedis } from "../../../user-api/src/events/redis.ts";
import { type CuttableLink, openLink } from "./link.ts";
import { endReplicas, startReplica, waitForConnections } from "./replicas.ts";
import { eventsSuite } from "./suite.ts";

describe("Redis", () => {
  let server: Server;
  let link: CuttableLink;
  let otherClient: Redis;
  before(async () => {
    server = await startRedis();
    link = await openLink(server.port);
    otherClient = new Redis(server.url);
  });
  after(async () => {
    otherClient?.disconnect();
    await link?.cut();
    await server?.stop();
  });

  eventsSuite({
    name: "a real Redis",
    open: async (options) =>
      openEvents({
        ...options,
        through: "redis",
        open: openRedis({ url: `redis://127.0.0.1:${link.port}`, channel: "users", heartbeatMilliseconds: 200 }),
      }),
    between: {
      cut: () => link.cut(),
      freeze: () => link.freeze(),
      mend: () => link.mend(),
      say: async (text) => void (await otherClient.publish("users", text)),
    },
  });
});

describe("a Redis whose password was changed", () => {
  after(endReplicas);

  it("is reported in the log without the password, for events and for rates", async (context) => {
    const server = await startRedis("--requirepass", "former-password");
    context.after(() => server.stop());
    const url = server.url.replace("//", "//:former-password@");
    const environment = { SLUICE_USER_API_REDIS_URL: url, SLUICE_USER_API_REQUESTS_PER_MINUTE: "60" };
    const before = await startReplica(environment);
    await waitForConnections([before], "redis", true);
    const admin = new Redis(url);
    context.after(() => admin.disconnect());
    await admin.config("SET", "requirepass", "another-password");
    for (const type of ["NORMAL", "PUBSUB"]) await admin.call("CLIENT", "KILL", "TYPE", type, "SKIPME", "YES");
    await waitForConnections([before], "redis", false);
    const after = await startReplica(environment);
    for (const line of [/"msg":"lost the connection to other replicas/, /"msg":"Redis does not count requests/]) {
      await after.process.waitForOutput(new RegExp(`"WRONGPASS [^\n]*${line.source}`));
    }
    for (const { process } of [before, after]) assert.doesNotMatch(process.output(), /former-password/);
  });
});

describe("a Redis with a certificate of a private authority", () => {
  after(endReplicas);

  it("is trusted by a replica whose setting names the authority, and by no other replica", async (context) => {
    const server = await startTlsRedis("localhost");
    context.after(() => server.stop());
    const environment = { SLUICE_USER_API_REDIS_URL: `rediss://localhost:${server.port}` };
    const trusting = { ...environment, SLUICE_USER_API_TRUSTED_CERTIFICATES: server.authorityFile };
    await waitForConnections([await startReplica(trusting)], "redis", true);
    await waitForConnections([await startReplica(environment)], "redis", false);
    for (const [file, reason] of [
      [server.keyFile, /holds no PEM certificate/],
      [`${server.keyFile}.gone`, /cannot read the file of SLUICE_USER_API_TRUSTED_CERTIFICATES/],
    ] as const) {
      await assert.rejects(startReplica({ ...environment, SLUICE_USER_API_TRUSTED_CERTIFICATES: file }), reason);
    }
  });
});

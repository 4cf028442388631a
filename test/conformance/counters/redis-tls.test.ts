/** Counters in a Redis whose certificate is signed by a private authority. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { readSettings } from "@sluice/model";
import type { CounterOptions } from "@sluice/plugin-sdk";
import { pino } from "pino";
import { RedisCounters } from "../../../gateway/src/counters/redis/redis-counters.ts";
import { startGateway } from "../../../gateway/src/node/start-gateway.ts";
import { connectBehind } from "../../../gateway/src/outbound/connect.ts";
import { createGuard } from "../../../gateway/src/outbound/guard.ts";
import { gatewaySettings } from "../../../gateway/src/settings/commands/gateway.ts";
import { temporaryFolder } from "../../../tools/process/index.ts";
import { startTlsRedis, type TlsRedis } from "../../../tools/programs/servers/redis.ts";
import { filledRateLimiting as filled } from "../../plugins/filled-configs.ts";
import { counter } from "./suite.ts";

const folder = temporaryFolder("redis-tls-node");
const documentFile = join(folder.path, "sluice.json");
let redis: TlsRedis;

before(async () => {
  redis = await startTlsRedis("redis.internal", "localhost");
});
after(async () => {
  await redis.stop();
  folder.remove();
});

const configWith = (members: Partial<CounterOptions["redis"]>): CounterOptions => ({
  ...filled,
  policy: "redis",
  sync_rate: -1,
  redis: { ...filled.redis, host: "localhost", port: redis.port, ssl: true, ssl_verify: true, ...members },
});

const guard = createGuard({ allowedUpstreams: ["127.0.0.0/8"], ownListeners: [] });

const cases: readonly (readonly [
  what: string,
  members: Partial<CounterOptions["redis"]>,
  trusts: boolean,
  reason: RegExp | null,
])[] = [
  ["is used with the authority and a name that the certificate contains", {}, true, null],
  ["is refused without the authority", {}, false, /unable to (?:verify|get)|self-signed/],
  ["is used without the authority if nothing is verified", { ssl_verify: false }, false, null],
  [
    "is used at an IP address with a server_name that the certificate contains",
    { host: "127.0.0.1", server_name: "redis.internal" },
    true,
    null,
  ],
  [
    "is refused with a server_name that the certificate does not contain",
    { server_name: "other.internal" },
    true,
    /altnames|Altname/,
  ],
  [
    "is refused at an IP address that the certificate does not contain",
    { host: "127.0.0.1" },
    true,
    /altnames|Altname|IP/,
  ],
];

describe("a Redis with a certificate of a private authority", () => {
  for (const [what, members, trusts, reason] of cases) {
    it(what, async () => {
      const reasons: unknown[] = [];
      const counters = new RedisCounters({
        connect: connectBehind(guard, trusts ? [redis.authority] : []),
        warn: (_message, facts) => void reasons.push(facts.reason),
      });
      const taken = Promise.resolve(counters.incrementBelowLimit([counter()], configWith(members)));
      if (reason === null) assert.equal((await taken).admitted, true, String(reasons));
      else {
        await assert.rejects(taken);
        assert.match(String(reasons[0]), reason);
      }
      await counters.close();
    });
  }

  const limit = {
    name: "rate-limiting",
    config: {
      minute: 5,
      policy: "redis",
      fault_tolerant: false,
      redis: { host: "localhost", ssl: true, ssl_verify: true },
    },
  };
  for (const [trusted, status] of [
    [true, 503],
    [false, 500],
  ] as const) {
    it(`is ${status === 500 ? "not " : ""}trusted by a node with${trusted ? "" : "out"} SLUICE_TRUSTED_CERTIFICATES`, async () => {
      const redisAt = { ...limit.config.redis, port: redis.port };
      const plugins = [{ ...limit, config: { ...limit.config, redis: redisAt } }];
      writeFileSync(documentFile, JSON.stringify({ _format_version: "3.0", routes: [{ paths: ["/"] }], plugins }));
      const node = await startNode({ SLUICE_TRUSTED_CERTIFICATES: trusted ? redis.authorityFile : "" });
      try {
        const answer = await fetch(`http://127.0.0.1:${node.proxy.port}/`);
        // The route has no service, so a request within the limit gets 503.
        assert.equal(answer.status, status, await answer.text());
        assert.equal(answer.headers.get("ratelimit-limit"), status === 503 ? "5" : null);
      } finally {
        await node.close();
      }
    });
  }

  it("is not reached by a node whose SLUICE_TRUSTED_CERTIFICATES is unreadable or has no certificate: the node does not start", async () => {
    for (const file of [join(folder.path, "gone.pem"), redis.keyFile]) {
      await assert.rejects(startNode({ SLUICE_TRUSTED_CERTIFICATES: file }), /^SettingsError: SLUICE_TRUSTED/);
    }
  });
});

async function startNode(env: Readonly<Record<string, string>>) {
  const read = readSettings(gatewaySettings, {
    SLUICE_SOURCE: "file",
    SLUICE_FILE: documentFile,
    SLUICE_PROXY_LISTEN: "127.0.0.1:0",
    SLUICE_STATUS_LISTEN: "127.0.0.1:0",
    SLUICE_ALLOWED_UPSTREAMS: "127.0.0.0/8",
    ...env,
  });
  assert.ok(read.value, JSON.stringify(read.violations));
  return startGateway({ settings: read.value, log: pino({ level: "silent" }) });
}

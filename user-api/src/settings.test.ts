import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { defaultLimits, defaultSubscriptionLimits, type SubscriptionLimits } from "./limits/limits.ts";
import { readSettings, type Settings } from "./settings.ts";

/** Development mode does not limit connections per client: all programs on a machine count as one client. */
const subscriptionLimits: SubscriptionLimits = { ...defaultSubscriptionLimits, clientConnections: 0 };

const defaults: Settings = {
  mode: "development",
  host: "127.0.0.1",
  port: 4000,
  databaseUrl: undefined,
  dataFolder: undefined,
  migrate: true,
  redisUrl: undefined,
  redisPrefix: "sluice-user-api",
  trustedCertificates: undefined,
  gatewaySecret: undefined,
  policy: { access: "open", rules: {} },
  origins: [],
  introspection: true,
  graphiql: true,
  trustedDocuments: undefined,
  limits: defaultLimits,
  subscriptionLimits,
  requestsPerMinute: 0,
  logLevel: "info",
  logFormat: "auto",
  drainMilliseconds: 10_000,
};

const GATEWAY_SECRET = "0123456789abcdef";

/** In development mode no other setting is required. */
const readIn = (environment: Record<string, string>) =>
  readSettings({ SLUICE_USER_API_MODE: "development", ...environment });

describe("readSettings", () => {
  it("has a default for each setting, even if its variable is empty", () => {
    assert.deepEqual(readIn({}), { settings: defaults, warnings: [] });
    assert.deepEqual(readIn({ SLUICE_USER_API_LISTEN: "", SLUICE_USER_API_DEPTH: "" }), {
      settings: defaults,
      warnings: [],
    });
  });

  const good = [
    ["LISTEN", "0.0.0.0:80", { host: "0.0.0.0", port: 80 }],
    ["LISTEN", "[::1]:0", { host: "::1", port: 0 }],
    ["DATABASE_URL", "postgresql://u:p@db/users", { databaseUrl: "postgresql://u:p@db/users" }],
    ["DATA", "/data", { dataFolder: "/data" }],
    ["ACCESS", "authenticated", { policy: { access: "authenticated", rules: {} } }],
    ["ACCESS", "anonymous-read", { policy: { access: "anonymous-read", rules: {} } }],
    [
      "POLICY",
      "Mutation.createUser=scope:writer|admin, User.email=authenticated",
      {
        policy: {
          access: "open",
          rules: {
            "Mutation.createUser": { kind: "scope", tags: ["writer", "admin"] },
            "User.email": { kind: "authenticated" },
          },
        },
      },
    ],
    ["REDIS_URL", "rediss://redis:6380", { redisUrl: "rediss://redis:6380" }],
    ["TRUSTED_CERTIFICATES", "/ca.pem", { trustedCertificates: "/ca.pem" }],
    ["REDIS_PREFIX", "staging", { redisPrefix: "staging" }],
    ["CONNECTIONS", "0", { subscriptionLimits: { ...subscriptionLimits, connections: 0 } }],
    ["CLIENT_CONNECTIONS", "20", { subscriptionLimits: { ...subscriptionLimits, clientConnections: 20 } }],
    ["CLIENT_BYTES", "2048", { subscriptionLimits: { ...subscriptionLimits, clientBytes: 2048 } }],
    ["SOCKET_OPERATIONS", "1", { subscriptionLimits: { ...subscriptionLimits, operations: 1 } }],
    ["OPERATION_QUEUE_BYTES", "1024", { subscriptionLimits: { ...subscriptionLimits, operationBytes: 1024 } }],
    ["QUEUE_BYTES", "2048", { subscriptionLimits: { ...subscriptionLimits, connectionBytes: 2048 } }],
    ["INIT_TIMEOUT", "500ms", { subscriptionLimits: { ...subscriptionLimits, initMilliseconds: 500 } }],
    ["HEARTBEAT_INTERVAL", "500ms", { subscriptionLimits: { ...subscriptionLimits, heartbeatMilliseconds: 500 } }],
    ["GATEWAY_SECRET", GATEWAY_SECRET, { gatewaySecret: GATEWAY_SECRET }],
    ["INTROSPECTION", "false", { introspection: false }],
    ["GRAPHIQL", "False", { graphiql: false }],
    ["MIGRATE", "false", { migrate: false }],
    ["TRUSTED_DOCUMENTS", "/manifest.json", { trustedDocuments: "/manifest.json" }],
    ["REQUESTS_PER_MINUTE", "60", { requestsPerMinute: 60 }],
    ["TOKENS", "500", { limits: { ...defaultLimits, tokens: 500 } }],
    ["ALIASES", "0", { limits: { ...defaultLimits, aliases: 0 } }],
    ["ROOT_FIELDS", "2", { limits: { ...defaultLimits, rootFields: 2 } }],
    ["COST", "100", { limits: { ...defaultLimits, cost: 100 } }],
    ["VARIABLES_DEPTH", "2", { limits: { ...defaultLimits, variablesDepth: 2 } }],
    ["REQUEST_BYTES", "2048", { limits: { ...defaultLimits, bytes: 2048 } }],
    ["RECEIVE_TIMEOUT", "500ms", { limits: { ...defaultLimits, receiveMilliseconds: 500 } }],
    ["TIMEOUT", "0.5s", { limits: { ...defaultLimits, milliseconds: 500 } }],
    ["PAGE", "50", { limits: { ...defaultLimits, page: 50 } }],
    ["ORIGINS", "https://a.org, https://b.org,", { origins: ["https://a.org", "https://b.org"] }],
    ["ORIGINS", "*", { origins: ["*"] }],
    ["ORIGINS", "http://[::1]:3000, app://directory", { origins: ["http://[::1]:3000", "app://directory"] }],
    ["DEPTH", "3", { limits: { ...defaultLimits, depth: 3 } }],
    ["LOG_LEVEL", "silent", { logLevel: "silent" }],
    ["DRAIN_TIMEOUT", "0s", { drainMilliseconds: 0 }],
    ["DRAIN_TIMEOUT", "2m", { drainMilliseconds: 120_000 }],
  ] as const;
  for (const [name, text, value] of good) {
    it(`reads ${name}=${text}`, () => {
      assert.deepEqual(readIn({ [`SLUICE_USER_API_${name}`]: text }), {
        settings: { ...defaults, ...value },
        warnings: [],
      });
    });
  }

  const bad = [
    ["LISTEN", "4000", /^SLUICE_USER_API_LISTEN must be host:port/],
    ["LISTEN", "localhost:65536", /host:port/],
    ["LISTEN", "::1:4000", /\[::1\]:4000/],
    ["DATABASE_URL", "mysql://u:hunter2@db/users", /must be postgres:\/\/user:password@host/],
    ["ACCESS", "closed", /must be one of open, anonymous-read, authenticated/],
    ["MODE", "test", /must be one of production, development/],
    ["POLICY", "Mutation.createUser=hunter2", /must be rules for fields.*Type.field=scope:tag\|tag/],
    ["POLICY", "createUser=authenticated", /must be rules for fields/],
    ["REDIS_URL", "http://redis", /must be redis:\/\//],
    ["GATEWAY_SECRET", "short", /must be 16 to 200 printable characters/],
    ["INTROSPECTION", "yes", /must be true or false/],
    ["ORIGINS", "app.example.org", /must be \* or origins, comma-separated/],
    ["ORIGINS", "https://a.org, https://b.org/", /without a path/],
    ["ORIGINS", "https://a.org:443", /origins/],
    ["ORIGINS", "null", /origins/],
    ["TOKENS", "10001", /from 100 to 10000/],
    ["COST", "0", /from 1 to/],
    ["DEPTH", "0", /whole number from 1 to 100/],
    ["DEPTH", "1e1", /whole number/],
    ["SOCKET_OPERATIONS", "0", /from 1 to 10000/],
    ["LOG_LEVEL", "loud", /one of trace, debug, info, warn, error, fatal, silent/],
    ["DRAIN_TIMEOUT", "-1s", /a duration from 0ms to 3600s with its unit/],
    ["DRAIN_TIMEOUT", "10", /with its unit/],
    ["TIMEOUT", "601s", /from 1ms to 600s/],
    ["DRAIN_SECONDS", "-1", /^SLUICE_USER_API_DRAIN_SECONDS must be a duration from 0ms to 3600s/],
    ["DRAIN_SECONDS", "3601", /from 0ms to 3600s/],
  ] as const;
  for (const [name, text, message] of bad) {
    it(`refuses ${name}=${text}, and the message contains no secret`, () => {
      const result = readIn({ [`SLUICE_USER_API_${name}`]: text });
      assert.ok("violations" in result);
      assert.equal(result.violations.length, 1);
      assert.match(result.violations[0] ?? "", message);
      assert.doesNotMatch(result.violations[0] ?? "", /hunter2/);
    });
  }

  const former = [
    ["RECEIVE_MILLISECONDS", "500", { limits: { ...defaultLimits, receiveMilliseconds: 500 } }, /RECEIVE_TIMEOUT/],
    [
      "TIMEOUT_MILLISECONDS",
      "500",
      { limits: { ...defaultLimits, milliseconds: 500 } },
      /is now SLUICE_USER_API_TIMEOUT,/,
    ],
    [
      "INIT_MILLISECONDS",
      "500",
      { subscriptionLimits: { ...subscriptionLimits, initMilliseconds: 500 } },
      /INIT_TIMEOUT/,
    ],
    [
      "HEARTBEAT_MILLISECONDS",
      "500",
      { subscriptionLimits: { ...subscriptionLimits, heartbeatMilliseconds: 500 } },
      /HEARTBEAT_INTERVAL/,
    ],
    ["DRAIN_SECONDS", "7", { drainMilliseconds: 7_000 }, /DRAIN_TIMEOUT/],
    ["MIGRATE", "off", { migrate: false }, /^SLUICE_USER_API_MIGRATE must be false instead of off/],
    ["GRAPHIQL", "on", { graphiql: true }, /must be true instead of on/],
  ] as const;
  for (const [name, text, value, warning] of former) {
    it(`still reads ${name}=${text} of version 0.1, with a warning`, () => {
      const result = readIn({ [`SLUICE_USER_API_${name}`]: text });
      assert.ok("settings" in result);
      assert.deepEqual(result.settings, { ...defaults, ...value });
      assert.equal(result.warnings.length, 1);
      assert.match(result.warnings[0] ?? "", warning);
    });
  }

  it("prefers the current name of a setting to its former name, with a warning", () => {
    const result = readIn({ SLUICE_USER_API_DRAIN_SECONDS: "7", SLUICE_USER_API_DRAIN_TIMEOUT: "8s" });
    assert.ok("settings" in result);
    assert.equal(result.settings.drainMilliseconds, 8_000);
    assert.match(result.warnings.join(), /^SLUICE_USER_API_DRAIN_SECONDS is ignored/);
  });

  it("defaults to production: no access without a consumer, no introspection, a rate limit", () => {
    const { mode: _, ...rest } = defaults;
    assert.deepEqual(readSettings({ SLUICE_USER_API_GATEWAY_SECRET: GATEWAY_SECRET }), {
      settings: {
        ...rest,
        mode: "production",
        gatewaySecret: GATEWAY_SECRET,
        policy: { access: "authenticated", rules: {} },
        introspection: false,
        graphiql: false,
        subscriptionLimits: defaultSubscriptionLimits,
        requestsPerMinute: 600,
      },
      warnings: [],
    });
  });

  it("allows one client 5,000 connections by default", () => {
    assert.equal(defaultSubscriptionLimits.clientConnections, 5_000);
  });

  it("requires the gateway's secret in production, unless the command serves no requests", () => {
    const result = readSettings({});
    assert.ok("violations" in result);
    assert.match(result.violations.join(), /^SLUICE_USER_API_GATEWAY_SECRET must be set/);
    assert.ok("settings" in readSettings({}, { serves: false }));
  });

  const misspelt = [
    [
      "SLUICE_USER_API_LISTN",
      /^SLUICE_USER_API_LISTN: there is no such setting, did you mean SLUICE_USER_API_LISTEN\?$/,
    ],
    ["SLUICE_USERAPI_MODE", /did you mean SLUICE_USER_API_MODE\?$/],
    ["SLUICE_USER_API_PORT", /^SLUICE_USER_API_PORT: there is no such setting/],
  ] as const;
  for (const [name, message] of misspelt) {
    it(`refuses ${name}`, () => {
      const result = readIn({ [name]: "4000" });
      assert.ok("violations" in result);
      assert.match(result.violations.join("\n"), message);
    });
  }

  it("ignores variables of other programs, empty variables, and those that Kubernetes sets for the Service sluice-user-api", () => {
    const others = { SLUICE_LOG_LEVEL: "info", SLUICE_USERS: "a", SLUICE_USER_API_LISTN: "" };
    const service = {
      SLUICE_USER_API_SERVICE_HOST: "10.0.0.11",
      SLUICE_USER_API_SERVICE_PORT: "4000",
      SLUICE_USER_API_PORT: "tcp://10.0.0.11:4000",
      SLUICE_USER_API_PORT_4000_TCP_ADDR: "10.0.0.11",
    };
    assert.deepEqual(readIn({ ...others, ...service }), { settings: defaults, warnings: [] });
  });

  it("reports every invalid setting, not only the first", () => {
    const result = readIn({ SLUICE_USER_API_LISTEN: "x", SLUICE_USER_API_DEPTH: "x" });
    assert.ok("violations" in result);
    assert.equal(result.violations.length, 2);
  });
});

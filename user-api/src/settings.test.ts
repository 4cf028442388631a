import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readSettings } from "./settings.ts";

const defaults = {
  host: "127.0.0.1",
  port: 4000,
  databaseUrl: undefined,
  dataFolder: undefined,
  access: "open",
  origins: [],
  depth: 8,
  logLevel: "info",
  drainSeconds: 10,
};

describe("settings", () => {
  it("has a default for each, also for a variable that is set to nothing", () => {
    assert.deepEqual(readSettings({}), { settings: defaults });
    assert.deepEqual(readSettings({ SLUICE_USER_API_LISTEN: "", SLUICE_USER_API_DEPTH: "" }), { settings: defaults });
  });

  const good = [
    ["LISTEN", "0.0.0.0:80", { host: "0.0.0.0", port: 80 }],
    ["LISTEN", "[::1]:0", { host: "::1", port: 0 }],
    ["DATABASE_URL", "postgresql://u:p@db/users", { databaseUrl: "postgresql://u:p@db/users" }],
    ["DATA", "/data", { dataFolder: "/data" }],
    ["ACCESS", "authenticated", { access: "authenticated" }],
    ["ORIGINS", "https://a.org, https://b.org,", { origins: ["https://a.org", "https://b.org"] }],
    ["DEPTH", "3", { depth: 3 }],
    ["LOG_LEVEL", "silent", { logLevel: "silent" }],
    ["DRAIN_SECONDS", "0", { drainSeconds: 0 }],
  ] as const;
  for (const [name, text, value] of good) {
    it(`reads ${name}=${text}`, () => {
      assert.deepEqual(readSettings({ [`SLUICE_USER_API_${name}`]: text }), { settings: { ...defaults, ...value } });
    });
  }

  const bad = [
    ["LISTEN", "4000", /^SLUICE_USER_API_LISTEN must be host:port/],
    ["LISTEN", "localhost:65536", /host:port/],
    ["LISTEN", "::1:4000", /\[::1\]:4000/],
    ["DATABASE_URL", "mysql://u:hunter2@db/users", /must be postgres:\/\/user:password@host/],
    ["ACCESS", "closed", /must be one of open, authenticated/],
    ["DEPTH", "0", /whole number from 1 to 100/],
    ["DEPTH", "1e1", /whole number/],
    ["LOG_LEVEL", "loud", /one of trace, debug, info, warn, error, fatal, silent/],
    ["DRAIN_SECONDS", "-1", /from 0 to 3600/],
  ] as const;
  for (const [name, text, message] of bad) {
    it(`refuses ${name}=${text}, without repeating it`, () => {
      const result = readSettings({ [`SLUICE_USER_API_${name}`]: text });
      assert.ok("violations" in result);
      assert.equal(result.violations.length, 1);
      assert.match(result.violations[0] ?? "", message);
      assert.doesNotMatch(result.violations[0] ?? "", /hunter2/);
    });
  }

  it("names all faults at once", () => {
    const result = readSettings({ SLUICE_USER_API_LISTEN: "x", SLUICE_USER_API_DEPTH: "x" });
    assert.ok("violations" in result);
    assert.equal(result.violations.length, 2);
  });
});

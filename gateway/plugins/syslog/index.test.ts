import assert from "node:assert/strict";
import { hostname } from "node:os";
import { describe, it } from "node:test";
import { configViolations, withConfigDefaults } from "../../../test/plugins/filled-configs.ts";
import { startDatagramServer, startLogging } from "../../../test/plugins/log-servers.ts";

const host = "127.0.0.1";

describe("syslog", () => {
  it("sends each record as a datagram in the format of RFC 5424", async (context) => {
    const { port, received } = await startDatagramServer(context);
    const { add } = startLogging(context, "syslog", { host, port });
    add({ logRecord: '{"a":1}' });
    assert.deepEqual(await received(1), [`<14>1 2023-11-14T22:13:20Z ${hostname()} kong - - - {"a":1}`]);
  });

  for (const [facility, status, priority] of [
    ["kern", 200, 0 * 8 + 5],
    ["local7", 399, 23 * 8 + 5],
    ["authpriv", 404, 10 * 8 + 4],
    ["cron", 503, 9 * 8 + 2],
  ] as const) {
    it(`sends a record with the facility and the severity for its status: ${facility}, ${status}`, async (context) => {
      const { port, received } = await startDatagramServer(context);
      const config = {
        facility,
        successful_severity: "notice",
        client_errors_severity: "warning",
        server_errors_severity: "crit",
      };
      const { add } = startLogging(context, "syslog", { host, port, ...config });
      add({ status });
      assert.match((await received(1))[0] ?? "", new RegExp(`^<${priority}>1 `));
    });
  }

  it("does not send records that are less urgent than log_level", async (context) => {
    const { port, received } = await startDatagramServer(context);
    const config = { log_level: "err", server_errors_severity: "err" };
    const { add } = startLogging(context, "syslog", { host, port, ...config });
    add({ status: 200 });
    add({ status: 500 });
    assert.match((await received(1))[0] ?? "", /^<11>1 /);
  });

  it("has Kong's defaults, and the port of RFC 5426", () => {
    const { port, facility, log_level, server_errors_severity } = withConfigDefaults("syslog", { host });
    assert.deepEqual([port, facility, log_level, server_errors_severity], [514, "user", "info", "info"]);
  });

  it("refuses a server on an address that no setting allows", async (context) => {
    const { add, stop, log } = startLogging(context, "syslog", { host: "169.254.169.254" });
    add({ logRecord: "{}" });
    await stop();
    assert.match(JSON.stringify(log), /169\.254\.169\.254:514 is a link-local address/);
  });

  for (const [config, expected] of [
    [{}, "host: set it to a syslog server that receives datagrams: unlike Kong, nodes cannot write to the socket"],
    [{ host, facility: "x" }, "facility: expected one of: auth, authpriv, cron, daemon"],
    [{ host, log_level: "error" }, "log_level: expected one of: debug, info, notice, warning, err, crit, alert, emerg"],
    [{ host, custom_fields_by_lua: { a: "return 1" } }, "custom_fields_by_lua: Lua is not supported"],
  ] as const) {
    it(`refuses the config ${JSON.stringify(config)}`, () => {
      const violations = configViolations("syslog", config);
      assert.ok(violations.length === 1 && violations[0]?.startsWith(expected), violations.join("\n"));
    });
  }
});

import assert from "node:assert/strict";
import { hostname } from "node:os";
import { describe, it } from "node:test";
import { configViolations, withConfigDefaults } from "../../../test/plugins/filled-configs.ts";
import { startDatagramServer, startLogging } from "../../../test/plugins/log-servers.ts";

const host = "127.0.0.1";

describe("loggly", () => {
  it("sends each record in the format of RFC 5424 with the token and the tags", async (context) => {
    const { port, received } = await startDatagramServer(context);
    const { add } = startLogging(context, "loggly", { host, port, key: "token", tags: ["a", "b"] });
    add({ logRecord: '{"a":1}' });
    assert.deepEqual(await received(1), [
      `<14>1 2023-11-14T22:13:20Z ${hostname()} kong - - [token@41058 tag="a" tag="b"] {"a":1}`,
    ]);
  });

  const severities: readonly (readonly [number, string])[] = [
    [200, "<13>"],
    [399, "<13>"],
    [404, "<12>"],
    [503, "<10>"],
  ];
  for (const [status, priority] of severities) {
    it(`sends a record with the severity that is configured for its status: ${status}`, async (context) => {
      const { port, received } = await startDatagramServer(context);
      const config = {
        successful_severity: "notice",
        client_errors_severity: "warning",
        server_errors_severity: "crit",
      };
      const { add } = startLogging(context, "loggly", { host, port, key: "token", ...config });
      add({ status });
      assert.equal((await received(1))[0]?.slice(0, 4), priority);
    });
  }

  it("does not send records that are less urgent than log_level", async (context) => {
    const { port, received } = await startDatagramServer(context);
    const config = { log_level: "err", server_errors_severity: "err" };
    const { add } = startLogging(context, "loggly", { host, port, key: "token", ...config });
    add({ status: 200 });
    add({ status: 500 });
    assert.equal((await received(1))[0]?.slice(0, 4), "<11>");
  });

  it("sends to Loggly by default", () => {
    const { host, port, tags } = withConfigDefaults("loggly", { key: "token" });
    assert.deepEqual([host, port, tags], ["logs-01.loggly.com", 514, ["kong"]]);
  });

  const refused: readonly (readonly [object, string])[] = [
    [{}, "key: required field missing"],
    [{ key: "a]b" }, "key: must not contain white space or one of '\"', ']', '\\'"],
    [{ key: "a", tags: ["b c"] }, "tags.0: must not contain white space or one of '\"', ']', '\\'"],
    [
      { key: "a", log_level: "fatal" },
      "log_level: expected one of: debug, info, notice, warning, err, crit, alert, emerg",
    ],
  ];
  for (const [config, violation] of refused) {
    it(`refuses the config ${JSON.stringify(config)}`, () => {
      assert.deepEqual(configViolations("loggly", config), [violation]);
    });
  }
});

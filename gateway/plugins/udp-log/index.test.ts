import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { configViolations } from "../../../test/plugins/filled-configs.ts";
import { refusingPort, startDatagramServer, startLogging } from "../../../test/plugins/log-servers.ts";

const host = "127.0.0.1";

describe("udp-log", () => {
  for (const name of [host, "localhost"]) {
    it(`sends each record as a datagram to ${name}`, async (context) => {
      const { port, received } = await startDatagramServer(context);
      const { add, stop } = startLogging(context, "udp-log", { host: name, port });
      for (const logRecord of ['{"a":"ü"}', '{"b":2}']) add({ logRecord });
      await stop();
      assert.deepEqual((await received(2)).toSorted(), ['{"a":"ü"}', '{"b":2}']);
    });
  }

  it("drops a record that does not fit into a datagram, and sends the next one", async (context) => {
    const { port, received } = await startDatagramServer(context);
    const { add, stop, dropped, log } = startLogging(context, "udp-log", { host, port });
    add({ logRecord: "x".repeat(65_508) });
    add({ logRecord: "next" });
    await stop();
    assert.deepEqual(await received(1), ["next"]);
    assert.equal(await dropped(), 1);
    assert.match(JSON.stringify(log), /EMSGSIZE/);
  });

  it("loses records without an error if no server listens", async (context) => {
    const { add, stop, log } = startLogging(context, "udp-log", { host, port: await refusingPort() });
    for (let count = 0; count < 3; count++) add({ logRecord: "{}" });
    await stop();
    assert.deepEqual(log, []);
  });

  it("refuses a server on an address that no setting allows", async (context) => {
    const { add, stop, log } = startLogging(context, "udp-log", { host: "169.254.169.254", port: 80 });
    add({ logRecord: "{}" });
    await stop();
    assert.match(JSON.stringify(log), /169\.254\.169\.254:80 is a link-local address/);
  });

  it("refuses a config without a server", () => {
    const violations = ["host: required field missing", "port: required field missing"];
    assert.deepEqual(configViolations("udp-log", {}), violations);
  });
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { configViolations } from "../../../test/plugins/filled-configs.ts";
import { refusingPort, startLineServer, startLogging } from "../../../test/plugins/log-servers.ts";
import { makeAuthority } from "../../../tools/programs/certificates.ts";

const host = "127.0.0.1";

describe("tcp-log", () => {
  it("sends each record as a line over one connection", async (context) => {
    const { port, received, connections } = await startLineServer(context);
    const { add } = startLogging(context, "tcp-log", { host, port });
    add({ logRecord: '{"a":1}' });
    await received(1);
    add({ logRecord: '{"b":2}' });
    assert.deepEqual(await received(2), ['{"a":1}', '{"b":2}']);
    assert.equal(connections(), 1);
  });

  it("opens a new connection after the server has closed the idle one", async (context) => {
    const closed = Promise.withResolvers<void>();
    const { port, received, connections } = await startLineServer(context, {
      onConnection(socket, count) {
        if (count === 1) socket.once("data", () => socket.end().once("close", () => closed.resolve()));
      },
    });
    const { add } = startLogging(context, "tcp-log", { host, port });
    add({ logRecord: "one" });
    await closed.promise;
    add({ logRecord: "two" });
    assert.deepEqual(await received(2), ["one", "two"]);
    assert.equal(connections(), 2);
  });

  it("closes an idle connection after keepalive, and when the instance stops", async (context) => {
    const closed = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const { port, received } = await startLineServer(context, {
      onConnection: (socket, count) => void socket.once("close", () => closed[count - 1]?.resolve()),
    });
    for (const [at, keepalive] of [5, 60_000].entries()) {
      const { add, stop } = startLogging(context, "tcp-log", { host, port, keepalive });
      add({ logRecord: "{}" });
      await received(at + 1);
      if (keepalive > 5) await stop();
      await closed[at]?.promise;
    }
  });

  it("verifies that the certificate of a TLS server has the name in tls_sni", async (context) => {
    const authority = await makeAuthority();
    const pair = await authority.issue({ name: "logs", sans: ["logs.example"], usage: "server" });
    const tls = { cert: pair.certificate, key: pair.key };
    const { port, received } = await startLineServer(context, { tls });
    const config = { host, port, tls: true, tls_sni: "logs.example" };
    const { add } = startLogging(context, "tcp-log", { ...config, authorities: [authority.certificate] });
    add({ logRecord: "secure" });
    assert.deepEqual(await received(1), ["secure"]);
    for (const other of [config, { ...config, tls_sni: "other.example", authorities: [authority.certificate] }]) {
      const { add, stop, dropped } = startLogging(context, "tcp-log", other);
      add({ logRecord: "{}" });
      await stop();
      assert.equal(await dropped(), 1);
    }
  });

  it("drops records for a server that refuses connections", async (context) => {
    const { add, stop, log, dropped } = startLogging(context, "tcp-log", { host, port: await refusingPort() });
    add({ logRecord: "{}" });
    await stop();
    assert.equal(await dropped(), 1);
    assert.match(JSON.stringify(log), /ECONNREFUSED/);
  });

  it("drops records for a server that reads nothing", async (context) => {
    const { port } = await startLineServer(context, { onConnection: (socket) => void socket.pause() });
    const { add, log, dropped } = startLogging(context, "tcp-log", { host, port, timeout: 50 });
    add({ logRecord: "x".repeat(30_000_000) });
    while (log.length < 2) await new Promise(setImmediate);
    assert.equal(await dropped(), 1);
    assert.match(JSON.stringify(log), /no progress within 50 ms/);
  });

  it("drops records for a server that does not complete the TLS handshake", async (context) => {
    const { port } = await startLineServer(context);
    const { add, log, dropped } = startLogging(context, "tcp-log", { host, port, tls: true, timeout: 50 });
    add({ logRecord: "{}" });
    while (log.length < 2) await new Promise(setImmediate);
    assert.equal(await dropped(), 1);
    assert.match(JSON.stringify(log), /no progress within 50 ms/);
  });

  const refused: readonly (readonly [object, readonly string[]])[] = [
    [{}, ["host: required field missing", "port: required field missing"]],
    [{ host: "a b", port: 1 }, ["host: invalid value: a b"]],
    [{ host, port: 65_536 }, ["port: value should be between 0 and 65535"]],
  ];
  for (const [config, violations] of refused) {
    it(`refuses the config ${JSON.stringify(config)}`, () => {
      assert.deepEqual(configViolations("tcp-log", config), violations);
    });
  }
});

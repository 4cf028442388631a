/** Limits of the node's own listeners for connections that are not HTTP. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import { describe, it } from "node:test";
import { serviceNamed } from "../../../gateway/src/compile/testing-entities.ts";
import { freePort } from "../../../tools/process/index.ts";
import { dial } from "./client.ts";
import { type Engine, listen, portOf } from "./proxy-rig.ts";
import { streamTools, textFromStream, untilTrue } from "./stream-rig.ts";

export function streamLimitSuite(engine: Engine): void {
  describe(`limits of stream listeners: the ${engine.name} engine`, { timeout: 20_000 }, () => {
    const { backend, routeTo, startStreams, answer, membersFor } = streamTools(engine);

    for (const limit of ["maxConnections", "maxConnectionsPerAddress"] as const)
      it(`resets connections above the limit ${limit}, and serves again when others end`, async (test) => {
        const service = await backend(test, "one");
        const { plain, rig } = await startStreams(test, {
          services: [service],
          routes: { r: routeTo(service, ["tcp"], membersFor("tcp")) },
          settings: { [limit]: 3 },
        });
        const open = await Promise.all([0, 1, 2].map(() => dial(test, plain)));
        await untilTrue(() => rig.proxy.connections().active === 3);
        const flood = await Promise.all(Array.from({ length: 20 }, () => dial(test, plain)));
        await Promise.all(flood.map((socket) => textFromStream(socket)));
        for (const socket of open) socket.destroy();
        await untilTrue(() => rig.proxy.connections().active === 0);
        assert.equal(await answer(test, plain, null), "one:hi");
      });

    it("closes a TLS listener's connections whose ClientHello is late, too large or no TLS", async (test) => {
      const service = await backend(test, "one");
      const { tls, rig, records } = await startStreams(test, {
        services: [service],
        routes: { r: routeTo(service, ["tls_passthrough"], { snis: ["a.example"] }) },
        settings: { handshakeTimeout: 150 },
      });
      const pieces: readonly Buffer[] = [
        Buffer.from([22, 3, 1, 2, 0, 1]),
        Buffer.concat([Buffer.from([22, 3, 1, 255, 255, 1, 0, 255, 250]), Buffer.alloc(33_000)]),
        Buffer.from("GET / HTTP/1.1\r\n\r\n"),
      ];
      for (const bytes of pieces) {
        const socket = await dial(test, tls);
        socket.write(bytes);
        await textFromStream(socket);
      }
      assert.equal(rig.proxy.connections().active, 0);
      assert.deepEqual(
        records.map(({ serverName, fault }) => [serverName, fault]),
        [[null, "noRoute"]],
      );
    });

    it("reads a ClientHello that arrives byte by byte, and forwards it unchanged", async (test) => {
      const service = await backend(test, "one", { isSecure: true });
      const { tls } = await startStreams(test, {
        services: [service],
        routes: { r: routeTo(service, ["tls_passthrough"], { snis: ["a.example"] }) },
      });
      // A relay that sends the first bytes of the client one at a time.
      const relay = createServer({ allowHalfOpen: true }, async (socket) => {
        const raw = await dial(test, tls);
        raw.setNoDelay(true);
        const [hello] = (await once(socket, "data")) as [Buffer];
        for (const byte of hello) raw.write(Buffer.from([byte]));
        socket.pipe(raw);
        raw.pipe(socket);
      });
      assert.equal(await answer(test, portOf(await listen(test, relay)), "a.example"), "one:hi");
    });

    it("refuses targets on addresses that are not allowed, and on its own listeners", async (test) => {
      const own = serviceNamed("own", { host: "127.0.0.1", port: await freePort(), protocol: "tcp", retries: 0 });
      const { rig, plain, records } = await startStreams(test, {});
      const loop = { ...own, port: plain };
      await rig.swap({ services: [loop], routes: { r: routeTo(loop, ["tcp"], membersFor("tcp")) } });
      assert.equal(await answer(test, plain, null), "");
      await untilTrue(() => records.length === 1);
      assert.match(JSON.stringify(rig.log), /is a listener of the gateway itself/);
    });

    it("ends silent connections after the service's read_timeout", async (test) => {
      const service = await backend(test, "one", { read_timeout: 100 });
      const { plain, rig } = await startStreams(test, {
        services: [service],
        routes: { r: routeTo(service, ["tcp"], membersFor("tcp")) },
      });
      assert.equal(await textFromStream(await dial(test, plain)), "");
      await untilTrue(() => rig.proxy.connections().active === 0);
    });

    it("serves open connections while it drains, cuts them at the deadline, and records all of them", async (test) => {
      const service = await backend(test, "one");
      const { plain, rig, records } = await startStreams(test, {
        services: [service],
        routes: { r: routeTo(service, ["tcp"], membersFor("tcp")) },
      });
      const [first, second] = [await dial(test, plain), await dial(test, plain)];
      await untilTrue(() => rig.proxy.connections().active === 2);
      const closed = rig.proxy.close({ deadline: 500 });
      first.end("late");
      assert.equal(await textFromStream(first), "one:late");
      assert.equal(await textFromStream(second), "");
      await closed;
      assert.equal(records.length, 2);
      assert.equal((await dial(test, plain)).closed, true);
    });
  });
}

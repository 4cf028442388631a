/** Connections that are not HTTP, on the node's own listeners for them (`SLUICE_STREAM_LISTEN`). */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { connect as connectTls } from "node:tls";
import { type EndedConnection, latenciesOf, type PluginPhases, type RawConnection } from "@sluice/plugin-sdk";
import { serviceNamed } from "../../../gateway/src/compile/testing-entities.ts";
import { headerV1, headerV2 } from "../../../gateway/src/proxy/listener/testing-proxy-headers.ts";
import { dial } from "./client.ts";
import type { Engine } from "./proxy-rig.ts";
import { streamRigProtocols, streamTools, textFromStream, untilTrue } from "./stream-rig.ts";

export function nodeStreamSuite(engine: Engine): void {
  describe(`stream listeners of the node: the ${engine.name} engine`, { timeout: 20_000 }, () => {
    const { backend, routeTo, startStreams, answer, endFor, membersFor, pair, authority } = streamTools(engine);

    for (const protocol of streamRigProtocols) {
      it(`forwards ${protocol} both ways, half-closed too, and records the connection`, async (test) => {
        const service = await backend(test, "one", { isSecure: protocol === "tls_passthrough" });
        const routes = { r: routeTo(service, [protocol], membersFor(protocol)) };
        const { records, rig, ...ports } = await startStreams(test, { services: [service], routes });
        const [port, name] = endFor(protocol, ports);
        assert.equal(await answer(test, port, name, "question"), "one:question");
        await untilTrue(() => records.length === 1);
        const [record] = records;
        assert.ok(record);
        assert.deepEqual(
          [record.protocol, record.port, record.serverName, record.route?.name, record.service?.name, record.status],
          [protocol, port, name, "r", "one", 200],
        );
        assert.equal(record.tls?.version ?? null, protocol === "tls" ? "TLSv1.3" : null);
        assert.ok(record.bytesIn >= 8 && record.bytesOut >= 12, `${record.bytesIn} ${record.bytesOut}`);
        if (protocol !== "tls_passthrough")
          assert.deepEqual(record.upstreamBytes, { received: "one:question".length, sent: "question".length });
        assert.equal(rig.proxy.connections().active, 0);
      });

      it(`closes ${protocol} connections without a route, and logs it`, async (test) => {
        const { records, rig, ...ports } = await startStreams(test, {});
        const [port, name] = endFor(protocol, ports);
        assert.equal(await answer(test, port, name), name === null ? "" : "closed");
        await untilTrue(() => records.length === 1);
        assert.deepEqual([records[0]?.fault, records[0]?.status, records[0]?.route], ["noRoute", 404, null]);
        assert.deepEqual(
          rig.log.map(({ message, details }) => [message, (details as { listener: string }).listener]),
          [["a connection was closed", `port ${port}`]],
        );
      });

      it(`keeps an open ${protocol} connection when its route is removed, and closes new ones`, async (test) => {
        const service = await backend(test, "one", { isSecure: protocol === "tls_passthrough" });
        const routes = { r: routeTo(service, [protocol], membersFor(protocol)) };
        const { rig, ...ports } = await startStreams(test, { services: [service], routes });
        const [port, name] = endFor(protocol, ports);
        const open =
          name === null ? await dial(test, port) : connectTls({ port, servername: name, ca: authority().certificate });
        test.after(() => open.destroy());
        await untilTrue(() => rig.proxy.connections().active === 1);
        await rig.swap({ services: [service], certificates: { "a.example": pair() } });
        assert.equal(await answer(test, port, name), name === null ? "" : "closed");
        open.end("late");
        assert.equal(await textFromStream(open), "one:late");
      });

      for (const [does, refusal, expected] of [
        ["serves", undefined, "one:hi"],
        ["closes", { status: 403, reason: "not you" }, "closed"],
      ] as const)
        it(`${does} ${protocol} connections as plugins decide, and gives the record to log plugins`, async (test) => {
          const service = await backend(test, "one", { isSecure: protocol === "tls_passthrough" });
          const seen: RawConnection[] = [];
          const logged: EndedConnection[] = [];
          const phases: PluginPhases = {
            connection(stream) {
              seen.push(stream);
              return refusal;
            },
            connectionLog: (stream) => void logged.push(stream),
          };
          const { records, ...ports } = await startStreams(test, {
            services: [service],
            routes: { r: routeTo(service, [protocol], membersFor(protocol)) },
            plugins: { "ip-restriction": phases },
          });
          const [port, name] = endFor(protocol, ports);
          const got = await answer(test, port, name);
          // With TLS that ends at the gateway, the plugin runs after the handshake.
          assert.equal(got === "" ? "closed" : got, expected);
          await untilTrue(() => logged.length === 1);
          const [first] = seen;
          assert.equal(first, logged[0]);
          assert.deepEqual(
            [first?.clientAddress, first?.protocol, first?.serverName, first?.route.name, first?.service.name],
            ["127.0.0.1", protocol, name, "r", "one"],
          );
          const record = JSON.parse(logged[0]?.logRecord() ?? "");
          assert.deepEqual(
            [
              record.session.status,
              record.session.server_port,
              record.client_ip,
              record.route.name,
              record.service.name,
            ],
            [refusal?.status ?? 200, port, "127.0.0.1", "r", "one"],
          );
          assert.equal(
            record.session.tls?.version,
            protocol === "tls" && refusal === undefined ? "TLSv1.3" : undefined,
          );
          const { host, port: target } = service;
          assert.deepEqual(
            record.tries.map((one: { ip: string; port: number }) => [one.ip, one.port]),
            refusal === undefined ? [[host, target]] : [],
          );
          assert.equal(records[0]?.fault, refusal === undefined ? null : "refused");
          const { bytesIn, bytesOut, timings, attempts, status } = logged[0] ?? assert.fail("not logged");
          const { request: session, kong } = latenciesOf(timings);
          assert.deepEqual(
            [bytesIn, bytesOut, status, session, kong, attempts.length],
            [
              ...[record.session.received, record.session.sent, record.session.status],
              ...[record.latencies.session, record.latencies.kong, record.tries.length],
            ],
          );
        });

      it(`closes ${protocol} connections if a plugin of the route protects but acts on HTTP only`, async (test) => {
        const service = await backend(test, "one", { isSecure: protocol === "tls_passthrough" });
        const { rig, ...ports } = await startStreams(test, {
          services: [service],
          routes: { r: routeTo(service, [protocol], membersFor(protocol)) },
          plugins: { "key-auth": {} },
          pluginMembers: { service: { id: service.id } },
        });
        const [port, name] = endFor(protocol, ports);
        assert.equal(await answer(test, port, name), name === null ? "" : "closed");
        assert.match(JSON.stringify(rig.log), /the plugin key-auth protects the route, but acts on HTTP only/);
      });
    }

    for (const [says, protocols, acts] of [
      ["names no protocol of connections", ["http", "https"], false],
      ["names a protocol of connections", ["http", "tls"], true],
    ] as const)
      it(`runs a log plugin for connections only if its protocols name one: it ${says}`, async (test) => {
        const service = await backend(test, "one");
        const logged: EndedConnection[] = [];
        const { records, plain } = await startStreams(test, {
          services: [service],
          routes: { r: routeTo(service, ["tcp"], membersFor("tcp")) },
          plugins: { "file-log": { connectionLog: (stream) => void logged.push(stream) } },
          pluginMembers: { service: { id: service.id }, protocols: [...protocols] },
        });
        await answer(test, plain, null);
        await untilTrue(() => records.length === 1);
        assert.equal(logged.length, acts ? 1 : 0);
      });

    it("closes a connection if a plugin throws, and still runs the phase at its end", async (test) => {
      const service = await backend(test, "one");
      const ended: string[] = [];
      const failing = (name: string): PluginPhases => ({
        connection() {
          throw new Error(`${name} is broken`);
        },
        connectionLog() {
          ended.push(name);
          throw new Error(`${name} is broken at the end`);
        },
      });
      const { rig, plain } = await startStreams(test, {
        services: [service],
        routes: { r: routeTo(service, ["tcp"], membersFor("tcp")) },
        plugins: { "ip-restriction": failing("one"), "concurrency-limiting": failing("two") },
        pluginMembers: { service: { id: service.id } },
      });
      assert.equal(await answer(test, plain, null), "");
      assert.deepEqual(ended, ["one", "two"]);
      assert.equal(rig.log.filter(({ message }) => message === "a plugin failed for a connection").length, 3);
    });

    it("does not serve requests and connections with each other's routes", async (test) => {
      const service = await backend(test, "one");
      const { rig, plain } = await startStreams(test, {
        upstream: (_request, response) => void response.end("http"),
        services: [service],
        routes: { r: routeTo(service, ["tcp"], membersFor("tcp")) },
      });
      const response = await fetch(`http://127.0.0.1:${rig.port}/`);
      assert.equal(await response.text(), "http");
      assert.match(await answer(test, plain, null, "GET / HTTP/1.1\r\n\r\n"), /^one:GET/);
      await rig.swap({ services: [service], route: { hosts: ["x"] }, routes: { r: routeTo(service, ["tcp"], {}) } });
      assert.equal((await fetch(`http://127.0.0.1:${rig.port}/`)).status, 404);
    });

    it("secures the connection to the target of a service with the protocol tls, and verifies its certificate", async (test) => {
      const trusting = await backend(test, "trusting", { isSecure: true, protocol: "tls", tls_verify: false });
      const strict = {
        ...trusting,
        ...serviceNamed("strict", trusting),
        id: serviceNamed("strict").id,
        tls_verify: true,
      };
      const members = (port: number) => ({ destinations: [{ ip: null, port }] });
      const { rig, plain, records } = await startStreams(test, {
        services: [trusting, strict],
        routes: {},
      });
      await rig.swap({ services: [trusting, strict], routes: { r: routeTo(trusting, ["tcp"], members(plain)) } });
      assert.equal(await answer(test, plain, null), "trusting:hi");
      await rig.swap({ services: [trusting, strict], routes: { r: routeTo(strict, ["tcp"], members(plain)) } });
      assert.equal(await answer(test, plain, null), "");
      await untilTrue(() => records.length === 2);
      assert.equal(records[1]?.fault, "badUpstream");
    });

    it("selects the route by server name, and one without server names by its port", async (test) => {
      const [one, two] = [await backend(test, "one"), await backend(test, "two")];
      const { rig, tls } = await startStreams(test, { services: [one, two] });
      await rig.swap({
        services: [one, two],
        certificates: { "a.example": pair(), "b.example": pair() },
        routes: {
          a: routeTo(one, ["tls"], { snis: ["a.example"] }),
          any: routeTo(two, ["tls"], { destinations: [{ ip: null, port: tls }] }),
        },
      });
      assert.equal(await answer(test, tls, "A.example"), "one:hi");
      assert.equal(await answer(test, tls, "b.example"), "two:hi");
    });

    for (const [version, header] of [
      ["1", headerV1],
      ["2", headerV2],
    ] as const)
      it(`matches sources by the PROXY header, version ${version}`, async (test) => {
        const service = await backend(test, "one");
        const sources = [{ ip: "192.0.2.0/24", port: 700 }];
        const { plain, records } = await startStreams(test, {
          services: [service],
          routes: { r: routeTo(service, ["tcp"], { sources }) },
          settings: { proxyProtocol: ["127.0.0.1"] },
        });
        const ask = async (clientPort: number) => {
          const socket = await dial(test, plain);
          socket.write(header({ client: "192.0.2.7", clientPort, server: "198.51.100.1", serverPort: 1 }));
          socket.end("hi");
          return textFromStream(socket);
        };
        assert.equal(await ask(700), "one:hi");
        assert.equal(await ask(701), "");
        await untilTrue(() => records.length === 2);
        assert.deepEqual(
          records.map(({ peerAddress, port }) => [peerAddress, port]),
          [
            ["192.0.2.7", plain],
            ["192.0.2.7", plain],
          ],
        );
      });
  });
}

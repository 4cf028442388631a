/** Plugins and runtime swaps, as clients observe them. */
import assert from "node:assert/strict";
import type { Server, ServerResponse } from "node:http";
import { describe, it } from "node:test";
import type { Exchange } from "@sluice/plugin-sdk";
import { waitFor } from "../../../tools/process/index.ts";
import { dial, receiveUntil, sendRequest, signal } from "./client.ts";
import { type Engine, portOf, type RigOptions, startRig, startUpstream } from "./proxy-rig.ts";

export function lifecycleSuite(engine: Engine): void {
  describe(`plugins (${engine.name})`, () => {
    it("run by priority until one answers; the phases responseHeaders and log run for all", async (test) => {
      const calls: string[] = [];
      const logged = signal<Exchange>();
      const plugin = (name: string, answers = false) => ({
        access: async () => {
          calls.push(`${name} access`);
          return answers ? { status: 429, message: "enough", headers: { "Retry-After": "1" } } : undefined;
        },
        responseHeaders: () => void calls.push(`${name} respond`),
      });
      const { port } = await startRig(test, engine, {
        plugins: {
          prometheus: { ...plugin("prometheus"), log: logged.fire },
          "rate-limiting": plugin("rate-limiting", true),
          cors: plugin("cors"),
        },
      });
      const answer = await sendRequest(port);
      assert.equal(answer.status, 429);
      assert.equal(answer.headers["retry-after"], "1");
      const exchange = await logged.seen;
      assert.deepEqual(calls, [
        ...["cors access", "rate-limiting access"],
        ...["cors respond", "rate-limiting respond", "prometheus respond"],
      ]);
      assert.deepEqual([exchange.status, exchange.source], [429, "gateway"]);
    });

    it("see the same connection object for all requests of a connection, with the listener's address", async (test) => {
      const seen: object[] = [];
      const { port } = await startRig(test, engine, {
        plugins: {
          cors: {
            access({ request: { connection } }) {
              seen.push(connection);
              return { status: 200, body: "answered" };
            },
          },
        },
      });
      for (const requests of [2, 1]) {
        const socket = await dial(test, port);
        for (let sent = 0; sent < requests; sent++) {
          socket.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
          await receiveUntil(socket, "answered");
        }
      }
      assert.equal(seen.length, 3);
      assert.equal(seen[0], seen[1]);
      assert.notEqual(seen[0], seen[2]);
      assert.partialDeepStrictEqual(seen[0], { localAddress: "127.0.0.1", port });
    });

    it("receive the times, the source and the byte counts of each completed exchange on a connection", async (test) => {
      const seen: { in: number; out: number; source: string; ordered: boolean }[] = [];
      const both = signal();
      const { port } = await startRig(test, engine, {
        upstream: (request, response) => request.pipe(response),
        plugins: {
          prometheus: {
            log({ bytesIn, bytesOut, source, timings: { started, forwarded = 0, answered = 0, ended = 0 } }) {
              const ordered = started <= forwarded && forwarded <= answered && answered <= ended;
              seen.push({ in: bytesIn, out: bytesOut, source, ordered });
              if (seen.length === 2) both.fire();
            },
          },
        },
      });
      const socket = await dial(test, port);
      const request = (body: string) => `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
      const [small, large] = [request("x"), request("y".repeat(5000))];
      socket.write(small);
      await receiveUntil(socket, "x\r\n0\r\n\r\n");
      socket.write(large);
      await receiveUntil(socket, "y\r\n0\r\n\r\n");
      await both.seen;
      assert.deepEqual(
        seen.map((each) => each.in),
        [small.length, large.length],
      );
      assert.ok(seen.every((each) => each.ordered && each.source === "service" && each.out > 100));
    });

    it("answer 500 without detail when they fail, and the log contains the cause", async (test) => {
      for (const access of [() => assert.fail("secret"), async () => assert.fail("secret")]) {
        const { port, log } = await startRig(test, engine, { plugins: { cors: { access } } });
        const answer = await sendRequest(port);
        assert.equal(answer.status, 500);
        assert.match(answer.body, /An unexpected error occurred/);
        assert.ok(!answer.body.includes("secret"));
        const { err } = { err: undefined, ...log[0]?.details } as { readonly err: unknown };
        assert.match(String(err), /secret/);
      }
    });

    it("do not affect a response when their phase responseHeaders or log fails", async (test) => {
      const fail = () => assert.fail("late");
      const { port, log } = await startRig(test, engine, {
        upstream: (_request, response) => response.end("ok"),
        plugins: { prometheus: { responseHeaders: fail, log: fail } },
      });
      assert.equal((await sendRequest(port)).body, "ok");
      assert.ok(log.length > 0);
    });

    it("are notified of a client that disconnected before the response", async (test) => {
      const asked = signal();
      const logged = signal<Exchange>();
      const { port } = await startRig(test, engine, {
        upstream: () => asked.fire(),
        plugins: { prometheus: { log: logged.fire } },
      });
      const socket = await dial(test, port);
      socket.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
      await asked.seen;
      socket.destroy();
      assert.equal((await logged.seen).status, 499);
    });
  });

  describe(`swaps (${engine.name})`, () => {
    it("let requests in flight complete on the old runtime, and serve new requests with the new runtime", async (test) => {
      const held = signal<ServerResponse>();
      const { port, swap } = await startRig(test, engine, { upstream: (_request, response) => held.fire(response) });
      const old = sendRequest(port);
      const response = await held.seen;
      await swap({ upstream: (_request, next) => next.end("new") });
      assert.equal((await sendRequest(port)).body, "new");
      response.end("old");
      assert.equal((await old).body, "old");
    });

    it("close the idle connections to upstreams that are no longer used", async (test) => {
      const closed = signal();
      const { port, swap } = await startRig(test, engine, {
        upstream: (request, response) => {
          request.socket.once("close", () => closed.fire());
          response.end("ok");
        },
      });
      await sendRequest(port);
      await swap({ upstream: (_request, response) => response.end("new") });
      await sendRequest(port);
      await closed.seen;
    });

    it("keep the connections to upstreams that did not change", async (test) => {
      const sockets = new Set<unknown>();
      const upstream: RigOptions["upstream"] = (request, response) => {
        sockets.add(request.socket);
        response.end("ok");
      };
      const { port, swap } = await startRig(test, engine, { upstream });
      await sendRequest(port);
      await swap({ route: { paths: ["/", "/new"] } });
      await sendRequest(port);
      assert.equal(sockets.size, 1);
    });

    it("let a terminating endpoint complete its requests, send no new requests to this endpoint, and do not affect other endpoints", async (test) => {
      const [held, closed] = [signal<ServerResponse>(), signal()];
      const going = await startUpstream(test, (request, response) => {
        if (request.url === "/hold") {
          request.socket.once("close", () => closed.fire());
          held.fire(response);
        } else response.end("going");
      });
      const sockets = new Set<unknown>();
      const staying = await startUpstream(test, (request, response) => {
        sockets.add(request.socket);
        response.end("staying");
      });
      const at = (server: Server, terminating = false) => ({ address: "127.0.0.1", port: portOf(server), terminating });
      const { port, swap } = await startRig(test, engine, { endpoints: [at(going), at(staying)] });
      const old = sendRequest(port, { path: "/hold" });
      const response = await held.seen;
      assert.equal((await sendRequest(port)).body, "staying");
      assert.equal((await sendRequest(port)).body, "going");
      for (const endpoints of [[at(going, true), at(staying)], [at(staying)]]) {
        await swap({ endpoints });
        for (let turn = 0; turn < 3; turn++) assert.equal((await sendRequest(port)).body, "staying");
      }
      response.end("held");
      assert.equal((await old).body, "held");
      await closed.seen;
      assert.equal(sockets.size, 1);
    });

    it("let a removed target complete its requests, and close its connections once they are idle", async (test) => {
      const held = signal<ServerResponse>();
      let open = 0;
      const going = await startUpstream(test, (request, response) => {
        if (request.url === "/hold") held.fire(response);
        else response.end("going");
      });
      going.on("connection", (socket) => {
        open++;
        socket.once("close", () => open--);
      });
      const staying = await startUpstream(test, (_request, response) => response.end("staying"));
      const at = (server: Server) => ({ targets: { [`127.0.0.1:${portOf(server)}`]: 1 } });
      const { port, swap } = await startRig(test, engine, { pool: at(going) });
      const old = sendRequest(port, { path: "/hold" });
      const response = await held.seen;
      assert.equal((await sendRequest(port)).body, "going");
      assert.equal(open, 2);
      await swap({ pool: at(staying) });
      assert.equal((await sendRequest(port)).body, "staying");
      await waitFor(() => open === 1, { what: "the end of the idle connection" });
      response.end("held");
      assert.equal((await old).body, "held");
      await waitFor(() => open === 0, { what: "the end of the connection that was in use" });
    });

    it("lose no request even if one swap follows another continuously", async (test) => {
      const { port, swap } = await startRig(test, engine, { upstream: (_request, response) => response.end("ok") });
      let over = false;
      const swapping = (async () => {
        for (let turn = 0; !over; turn++) {
          await swap({ route: { paths: ["/", `/${turn}`] } });
          await new Promise((resolve) => setImmediate(resolve));
        }
      })();
      const bodies = await Promise.all(Array.from({ length: 300 }, () => sendRequest(port).then(({ body }) => body)));
      over = true;
      await swapping;
      assert.deepEqual([...new Set(bodies)], ["ok"]);
    });
  });
}

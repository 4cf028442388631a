/** Connections of responses that a plugin holds: back-pressure, time limits, and aborted requests and responses. */
import assert from "node:assert/strict";
import { once } from "node:events";
import type { RequestListener } from "node:http";
import { describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import type { PluginPhases } from "@sluice/plugin-sdk";
import { dial, receiveUntil, sendRequest, signal, writingUntilBlocked } from "./client.ts";
import { sized } from "./filtered-bodies.ts";
import { afterTurn, editsResponse, keepsResponse, quotesBody } from "./held-responses.ts";
import { type Engine, startRig } from "./proxy-rig.ts";

const request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

/**
 * A plugin whose phase `response` never settles or, with `reads`, waits for a body that does not end. The signals fire
 * when the phase begins, when its read fails, and when the exchange is logged.
 */
function stuck(reads: boolean) {
  const entered = signal();
  const failed = signal<Error>();
  const ended = signal<number>();
  const plugin: PluginPhases = {
    async response(_exchange, response) {
      entered.fire();
      if (!reads) return new Promise(() => {});
      try {
        await response.body(99);
      } catch (error) {
        failed.fire(error as Error);
        throw error;
      }
    },
    log: ({ status }) => ended.fire(status),
  };
  return { plugin, entered, failed, ended };
}

export function heldConnectionSuite(engine: Engine): void {
  describe(`responses that a plugin holds, and their connections (${engine.name})`, () => {
    it("are not read completely from the upstream while they are held", async (test) => {
      const total = 32 * 1024 * 1024;
      const goOn = signal();
      const blocked = signal<number>();
      const { port } = await startRig(test, engine, {
        upstream: writingUntilBlocked(total, blocked),
        plugins: { "key-auth": afterTurn(() => goOn.seen.then(() => undefined)) },
      });
      const response = sendRequest(port);
      assert.ok((await blocked.seen) < total / 2);
      goOn.fire();
      assert.equal((await response).body.length, total);
    });

    it("keep their trailers while the upstream's connection carries other responses", async (test) => {
      const read = signal();
      const goOn = signal();
      const sockets = new Set<unknown>();
      const { port } = await startRig(test, engine, {
        upstream({ url, socket }, response) {
          sockets.add(socket);
          response.writeHead(200, { Trailer: "X-Path" }).write("hello");
          response.addTrailers({ "X-Path": url ?? "" });
          response.end();
        },
        plugins: {
          "key-auth": {
            async response({ request: { path } }, { body }) {
              await body(9);
              if (path !== "/held") return undefined;
              read.fire();
              await goOn.seen;
              return undefined;
            },
          },
        },
      });
      const headers = { TE: "trailers", Connection: "TE" };
      const held = sendRequest(port, { path: "/held", headers });
      await read.seen;
      const other = await sendRequest(port, { path: "/other", headers });
      goOn.fire();
      const trailers = [(await held).trailers, other.trailers].map((each) => each["x-path"]);
      assert.deepEqual([trailers, sockets.size], [["/held", "/other"], 1]);
    });

    it("keep the connections of client and upstream usable", async (test) => {
      const sockets = new Set<unknown>();
      const plugins = [keepsResponse, quotesBody(9), editsResponse, afterTurn(async () => ({ status: 201, body: "" }))];
      const { port } = await startRig(test, engine, {
        upstream(incoming, response) {
          sockets.add(incoming.socket);
          sized(incoming, response);
        },
        plugins: { "key-auth": { response: (exchange, held) => plugins.shift()?.response?.(exchange, held) } },
      });
      const socket = await dial(test, port);
      for (const expected of ["\r\n\r\nhello", "\r\n\r\n<hello>", "\r\n\r\nhello", "201 Created"]) {
        socket.write(request);
        await receiveUntil(socket, expected);
      }
      assert.equal(sockets.size, 1);
    });

    for (const reads of [false, true])
      it(`cancel the upstream's request if the client disconnects while a plugin ${reads ? "reads" : "holds"} them`, async (test) => {
        const gone = signal();
        const { plugin, entered, failed, ended } = stuck(reads);
        let outerCalls = 0;
        const rig = await startRig(test, engine, {
          upstream(_request, response) {
            response.once("close", gone.fire).write("hello");
          },
          plugins: { "key-auth": plugin, cors: { response: () => void outerCalls++ } },
        });
        const socket = await dial(test, rig.port);
        socket.write(request);
        await entered.seen;
        socket.destroy();
        assert.equal(await ended.seen, 499);
        await gone.seen;
        if (reads) assert.match(String(await failed.seen), /can no longer be read/);
        await turn();
        assert.deepEqual([outerCalls, rig.log], [0, []]);
      });

    it("are replaced by 500 if the plugin holds them for longer than read_timeout", async (test) => {
      const gone = signal();
      const rig = await startRig(test, engine, {
        upstream(_request, response) {
          response.once("close", gone.fire).write("hello");
        },
        service: { read_timeout: 100 },
        plugins: { "key-auth": stuck(false).plugin },
      });
      const { status, body } = await sendRequest(rig.port);
      assert.equal(status, 500);
      assert.match(body, /An unexpected error occurred/);
      await gone.seen;
      const [line] = rig.log;
      assert.deepEqual([rig.log.length, line?.message], [1, "a plugin failed"]);
      assert.match(String((line?.details as { err?: unknown } | undefined)?.err), /longer than 100 ms/);
    });

    it("may be read for longer than read_timeout, as long as the upstream sends", async (test) => {
      const upstream: RequestListener = (_request, response) => {
        let left = 5;
        const timer = setInterval(() => {
          if (left-- > 0) response.write("a");
          else {
            clearInterval(timer);
            response.end();
          }
        }, 100);
        response.write("a");
      };
      const { port } = await startRig(test, engine, {
        upstream,
        service: { read_timeout: 400 },
        plugins: { "key-auth": quotesBody(99) },
      });
      assert.equal((await sendRequest(port)).body, "<aaaaaa>");
    });

    for (const [what, status, plugin] of [
      ["reads them", 502, quotesBody(99)],
      [
        "reads them, and catches the error",
        502,
        afterTurn((_exchange, { body }) => body(99).then(undefined, () => undefined)),
      ],
      [
        "reads them, and answers by itself",
        203,
        afterTurn((_exchange, { body }) => body(99).then(undefined, () => ({ status: 203 }))),
      ],
    ] as const)
      it(`are replaced by ${status} if the upstream aborts them while a plugin ${what}`, async (test) => {
        const upstream: RequestListener = (_request, response) => {
          response.writeHead(200, { "Content-Length": 9 }).write("hello", () => response.destroy());
        };
        const rig = await startRig(test, engine, { upstream, plugins: { "key-auth": plugin } });
        assert.equal((await sendRequest(rig.port)).status, status);
        assert.ok(!rig.log.some(({ message: text }) => text === "a plugin failed"));
      });

    it("are replaced by 400 if a malformed chunk of the request arrives while they are held", async (test) => {
      const { plugin, entered } = stuck(false);
      const { port } = await startRig(test, engine, {
        upstream: (_request, response) => void response.write("early"),
        plugins: { "key-auth": plugin },
      });
      const socket = await dial(test, port);
      socket.write("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n");
      await entered.seen;
      const end = once(socket, "close");
      const received = receiveUntil(socket, "HTTP/1.1 400");
      socket.write("malformed\r\n");
      await Promise.all([received, end]);
    });
  });
}

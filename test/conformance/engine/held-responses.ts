/**
 * Responses that a plugin holds in its phase `response`: what the client receives, and how the upstream is affected.
 */
import assert from "node:assert/strict";
import type { RequestListener } from "node:http";
import { createServer } from "node:net";
import { describe, it, type TestContext } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import type { DirectResponse, Exchange, HeldResponse, PluginPhases } from "@sluice/plugin-sdk";
import { freePort } from "../../../tools/process/index.ts";
import { dial, receiveUntil, type Signal, sendRaw, sendRequest, signal } from "./client.ts";
import { appending, failing, filtering, respondChunked, respondEmpty, sized, waysToAsk } from "./filtered-bodies.ts";
import { startHttp2 } from "./http2.ts";
import { grpcHeaders, message, responseOfStream, startHttp2Upstream } from "./http2-client.ts";
import { type Engine, listen, portOf, startRig } from "./proxy-rig.ts";

type ResponsePhase = (exchange: Exchange, response: HeldResponse) => Promise<DirectResponse | undefined>;

/** A plugin that acts after a turn of the event loop, when a small body has already arrived. */
export const afterTurn = (run: ResponsePhase): PluginPhases => ({
  async response(exchange, response) {
    await turn();
    return run(exchange, response);
  },
});

export const keepsResponse = afterTurn(async () => undefined);

export const editsResponse = afterTurn(async ({ responseHeaders }) => {
  responseHeaders.set("X-A", "1");
  return undefined;
});

/** Puts the body into angle brackets: `<null>` if it exceeds the limit. */
export const quotesBody = (limit: number): PluginPhases =>
  afterTurn(async (_exchange, response) => ({
    status: response.status,
    keptHeaders: response.headers,
    body: `<${await response.body(limit)}>`,
  }));

const withStatus =
  (status: number): RequestListener =>
  (_request, response) => {
    response.writeHead(status, status === 200 ? { "Content-Length": 5 } : {}).end();
  };

/** A plugin that would replace the response, and does not hold it. */
const holdsNothing: PluginPhases = {
  holds: () => false,
  response: () => ({ status: 404, body: "held" }),
};

interface Expected {
  readonly status?: number;
  readonly body?: string;
  readonly length?: string | undefined;
  readonly edits?: string;
}

type Row = readonly [
  what: string,
  upstream: RequestListener,
  plugin: PluginPhases,
  expected: Expected,
  method?: "HEAD" | "GET",
];

const rows: readonly Row[] = [
  ["sent unchanged", sized, keepsResponse, { body: "hello", length: "5" }],
  ["sent unchanged in chunks", respondChunked, keepsResponse, { body: "hello" }],
  ["sent unchanged although they are empty", respondEmpty, keepsResponse, { body: "", length: "0" }],
  ["sent with edited headers", sized, editsResponse, { body: "hello", length: "5", edits: "1" }],
  [
    "replaced by another status and body",
    sized,
    afterTurn(async () => ({ status: 201, body: "new" })),
    { status: 201, body: "new", length: "3" },
  ],
  [
    "replaced before the body has arrived",
    respondChunked,
    { response: () => ({ status: 404, body: "" }) },
    { status: 404, body: "", length: "0" },
  ],
  ["replaced by the body that the plugin read", sized, quotesBody(5), { body: "<hello>", length: "7" }],
  [
    "replaced by the chunked body that the plugin read",
    respondChunked,
    quotesBody(5),
    { body: "<hello>", length: "7" },
  ],
  ["replaced after the plugin has read an empty body", respondEmpty, quotesBody(0), { body: "<>", length: "2" }],
  ["read as null if Content-Length exceeds the limit", sized, quotesBody(4), { body: "<null>", length: "6" }],
  ["read as null if chunks exceed the limit", respondChunked, quotesBody(4), { body: "<null>", length: "6" }],
  [
    "sent unchanged after the plugin has read them twice",
    respondChunked,
    afterTurn(async (_exchange, response) => {
      assert.deepEqual([String(await response.body(5)), String(await response.body(9))], ["hello", "hello"]);
      return undefined;
    }),
    { body: "hello" },
  ],
  [
    "sent unchanged after the plugin has read them with too low a limit",
    respondChunked,
    afterTurn(async (_exchange, response) => {
      assert.equal(await response.body(4), null);
      return undefined;
    }),
    { body: "hello" },
  ],
  ["sent unchanged if the plugin does not hold them", sized, holdsNothing, { body: "hello", length: "5" }],
  ["sent unchanged in chunks if the plugin does not hold them", respondChunked, holdsNothing, { body: "hello" }],
  [
    "replaced by a plugin that decides to hold them",
    sized,
    { ...holdsNothing, holds: ({ request: { method } }) => method === "GET" },
    { status: 404, body: "held", length: "4" },
  ],
  [
    "replaced by status 500 if the phase throws, after the plugin has failed to say whether it holds them",
    sized,
    {
      holds() {
        throw new Error("broken predicate");
      },
      response() {
        throw new Error("broken phase");
      },
    },
    { status: 500 },
  ],
  ["sent for HEAD, without a body", withStatus(200), quotesBody(9), { body: "", length: "5" }, "HEAD"],
  ["sent with status 204", withStatus(204), editsResponse, { status: 204, body: "", edits: "1" }],
  ["sent with status 304", withStatus(304), editsResponse, { status: 304, body: "", edits: "1" }],
  ["replaced by status 204", sized, afterTurn(async () => ({ status: 204 })), { status: 204, body: "" }],
  [
    "replaced by status 500, without the edits of a plugin that rejects",
    sized,
    afterTurn(async ({ responseHeaders }) => {
      responseHeaders.set("X-A", "1");
      throw new Error("broken phase");
    }),
    { status: 500 },
  ],
  [
    "replaced by status 500 if the phase throws",
    respondChunked,
    {
      response() {
        throw new Error("broken phase");
      },
    },
    { status: 500 },
  ],
];

/** Names of plugins by descending priority. */
const [outer, middle, inner] = ["cors", "key-auth", "rate-limiting"];

/** An upstream that sends a head and `hello`, and ends its response when `rest` fires. */
function startOpenEnded(): { readonly upstream: RequestListener; readonly rest: Signal<void> } {
  const rest = signal();
  const upstream: RequestListener = (_request, response) => {
    response.write("hello");
    rest.seen.then(() => response.end("!"));
  };
  return { upstream, rest };
}

const request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

export function heldResponseSuite(engine: Engine): void {
  describe(`responses that a plugin holds (${engine.name})`, () => {
    for (const [version, sendOver] of waysToAsk(engine))
      for (const [what, upstream, plugin, expected, method] of rows)
        it(`are ${what}, over ${version}`, async (test) => {
          const seen = await sendOver(test, { upstream, plugins: { [middle]: plugin } }, method);
          const { status = 200, body, length, edits } = expected;
          assert.deepEqual([seen.status, seen.complete, seen.edits], [status, true, edits]);
          if (body === undefined) assert.match(seen.body, /An unexpected error occurred/);
          else assert.deepEqual([seen.body, seen.length], [body, length]);
        });

    it("are shown first to the plugin with the lowest priority, and to each later plugin as the previous one left them", async (test) => {
      const seen: unknown[] = [];
      const noting = (name: string, replace?: DirectResponse): PluginPhases =>
        afterTurn(async ({ responseHeaders }, response) => {
          const values = response.headers.filter((_text, at) => response.headers[at - 1]?.toLowerCase() === "x-a");
          seen.push([name, response.status, values, String(await response.body(99))]);
          responseHeaders.append("X-A", name);
          return replace;
        });
      const { port } = await startRig(test, engine, {
        upstream: sized,
        plugins: {
          [outer]: noting("outer"),
          [middle]: noting("middle", { status: 202, keptHeaders: ["X-A", "kept"], body: "new" }),
          [inner]: noting("inner"),
        },
      });
      const { status, headers, body } = await sendRequest(port);
      assert.deepEqual(seen, [
        ["inner", 200, [], "hello"],
        ["middle", 200, ["inner"], "hello"],
        ["outer", 202, ["kept"], "new"],
      ]);
      assert.deepEqual([status, body, headers["x-a"], headers["x-up"]], [202, "new", "kept, outer", undefined]);
    });

    it("reach the phases responseHeaders and responseBody once, as the phase response left them; header edits of other phases take precedence", async (test) => {
      const ran: string[] = [];
      const other: PluginPhases = {
        access({ responseHeaders }) {
          responseHeaders.set("X-A", "access");
          responseHeaders.append("X-B", "access");
          return undefined;
        },
        responseHeaders: ({ status, responseHeaders }) => {
          ran.push(`${status}`);
          responseHeaders.append("X-B", "headers");
        },
        responseBody: () => appending,
      };
      for (const replaced of [false, true]) {
        const plugin = afterTurn(async ({ responseHeaders }, { headers }) => {
          assert.ok(!headers.includes("access"), "edits of other phases are not shown");
          for (const name of ["X-A", "X-B", "X-C"]) responseHeaders.set(name, "phase");
          return replaced ? { status: 201, body: "new" } : undefined;
        });
        const { port } = await startRig(test, engine, {
          upstream: sized,
          plugins: { [middle]: plugin, [inner]: other },
        });
        const { headers, body } = await sendRequest(port);
        const edits = ["x-a", "x-b", "x-c"].map((name) => headers[name]);
        const expected = replaced
          ? ["access", "access, headers", undefined]
          : ["access", "phase, access, headers", "phase"];
        assert.deepEqual([edits, body], [expected, replaced ? "new!" : "hello!"]);
      }
      assert.deepEqual(ran, ["200", "201"]);
    });

    it("lose the edits of the phase response if a body filter fails", async (test) => {
      const { port } = await startRig(test, engine, {
        upstream: sized,
        plugins: { [outer]: editsResponse, [inner]: filtering({ limit: 9, longer: "refused", whole: failing.piece }) },
      });
      const { status, headers } = await sendRequest(port);
      assert.deepEqual([status, headers["x-a"]], [500, undefined]);
    });

    it("may be the gateway's own, even if the upstream cannot be reached", async (test) => {
      const refusing: PluginPhases = { access: () => ({ status: 401, body: "no" }) };
      for (const [plugins, upstream, status, body] of [
        [{ [middle]: quotesBody(99), [inner]: refusing }, sized, 401, "<no>"],
        [{ [middle]: keepsResponse, [outer]: refusing }, sized, 401, "no"],
        [{ [middle]: editsResponse }, await freePort(), 502, /invalid response/],
      ] as const) {
        const { port } = await startRig(test, engine, { upstream, plugins });
        const seen = await sendRequest(port);
        assert.equal(seen.status, status);
        if (typeof body === "string")
          assert.deepEqual([seen.body, seen.headers["content-length"]], [body, `${body.length}`]);
        else assert.match(seen.body, body);
      }
    });

    it("reach the client before the upstream has ended them if the plugin does not read the body", async (test) => {
      const { upstream, rest } = startOpenEnded();
      const { port } = await startRig(test, engine, { upstream, plugins: { [middle]: editsResponse } });
      const socket = await dial(test, port);
      socket.write(request);
      assert.match(await receiveUntil(socket, "hello"), /x-a: 1/i);
      const end = receiveUntil(socket, "!");
      rest.fire();
      await end;
    });

    it("keep their trailers, and follow their interim responses", async (test) => {
      const upstream: RequestListener = (_request, response) => {
        response.writeEarlyHints({ link: "</a>" });
        response.writeHead(200, { Trailer: "X-Sum" }).write("hello");
        response.addTrailers({ "X-Sum": "1" });
        response.end();
      };
      const { port } = await startRig(test, engine, { upstream, plugins: { [middle]: keepsResponse } });
      const { body, trailers } = await sendRequest(port, { headers: { TE: "trailers", Connection: "TE" } });
      assert.deepEqual([body, trailers["x-sum"]], ["hello", "1"]);
      if (engine.name !== "http1") return;
      const text = await sendRaw(test, port, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
      assert.match(text, /^HTTP\/1\.1 103 [\s\S]*HTTP\/1\.1 200 /);
    });

    it("do not include responses to upgrades", async (test) => {
      let calls = 0;
      const upstream = createServer((socket) => {
        socket
          .on("error", () => {})
          .once("data", () => {
            socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nhello");
          });
      });
      const plugin = afterTurn(async () => {
        calls++;
        return undefined;
      });
      const { port } = await startRig(test, engine, {
        upstream: portOf(await listen(test, upstream)),
        plugins: { [middle]: plugin },
      });
      const socket = await dial(test, port);
      socket.write("GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
      assert.match(await receiveUntil(socket, "hello"), /^HTTP\/1.1 101 /);
      assert.equal(calls, 0);
    });

    if (engine.name === "http1") gRpcTest(engine);
  });
}

function gRpcTest(engine: Engine): void {
  it("may be responses to gRPC calls, whose bodies cannot be read", async (test: TestContext) => {
    const upstream = await startHttp2Upstream(test, (stream) => {
      stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
      stream.once("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
      stream.end(message("hello"));
    });
    const shown: boolean[] = [];
    const { session } = await startHttp2(test, engine, {
      upstream,
      route: { protocols: ["grpc", "grpcs"], strip_path: false },
      service: { protocol: "grpc" },
      plugins: {
        [middle]: afterTurn(async ({ responseHeaders }, { hasBody }) => {
          shown.push(hasBody);
          responseHeaders.set("X-A", "1");
          return undefined;
        }),
      },
    });
    const { body, headers, trailers } = await responseOfStream(
      session.request({ ...grpcHeaders, ":path": "/a.B/C" }).end(message("x")),
    );
    assert.deepEqual([body, headers["x-a"], trailers?.["grpc-status"], shown], [message("hello"), "1", "0", [false]]);
  });
}

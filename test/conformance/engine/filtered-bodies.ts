/** Bodies of responses that plugins filter: the same table over each version of HTTP. */
import assert from "node:assert/strict";
import type { RequestListener } from "node:http";
import { Transform } from "node:stream";
import { describe, it, type TestContext } from "node:test";
import type { BodyFilter, PluginPhases, StreamingBodyFilter, TransformingBodyFilter } from "@sluice/plugin-sdk";
import { type Received, sendRequest } from "./client.ts";
import { startHttp2 } from "./http2.ts";
import { requestHttp2 } from "./http2-client.ts";
import { type Engine, type RigOptions, startRig } from "./proxy-rig.ts";

export const upperCase: StreamingBodyFilter = {
  piece(bytes) {
    const upper = Buffer.from(bytes);
    // A loop without a call for each byte, because one test sends 64 MiB.
    for (let at = 0; at < upper.length; at++) {
      const byte = upper[at] ?? 0;
      if (byte >= 0x61 && byte <= 0x7a) upper[at] = byte - 0x20;
    }
    return upper;
  },
};
export const dropping: StreamingBodyFilter = { piece: () => Buffer.alloc(0) };
export const appending: StreamingBodyFilter = { piece: (bytes) => bytes, end: () => Buffer.from("!") };
export const failing: StreamingBodyFilter = {
  piece() {
    throw new Error("broken filter");
  },
};
const failingAtEnd: StreamingBodyFilter = {
  piece: (bytes) => bytes,
  end() {
    throw new Error("broken end");
  },
};

export const buffering = (limit: number, longer: "unchanged" | "refused" = "unchanged"): BodyFilter => ({
  limit,
  longer,
  whole: (body) => Buffer.from(`<${body}>`),
});

/** Passes each piece on in a later turn, between these two texts. */
export const enclosing = (before: string, after: string): TransformingBodyFilter => ({
  transform: () =>
    new Transform({
      transform: (piece, _encoding, done) => void setImmediate(() => done(null, `${before}${piece}`)),
      flush: (done) => done(null, after),
    }),
});

/** Passes on the first half of each piece. */
export const halving: TransformingBodyFilter = {
  transform: () =>
    new Transform({
      writableHighWaterMark: 1,
      transform: (piece, _encoding, done) =>
        void setImmediate(() => done(null, piece.subarray(0, Math.ceil(piece.length / 2)))),
    }),
};

/** A plugin that filters the body of every response; null: it sets no filter. */
export const filtering = (filter: BodyFilter | null): PluginPhases => ({ responseBody: () => filter });

export const sized: RequestListener = (_request, response) => {
  response.writeHead(200, { "Content-Length": 5, "X-Up": "1" }).end("hello");
};
export const respondChunked: RequestListener = (_request, response) => {
  response.write("hel");
  setImmediate(() => response.end("lo"));
};
export const respondEmpty: RequestListener = (_request, response) => {
  response.writeHead(200, { "Content-Length": 0 }).end();
};

interface Seen {
  readonly status: number;
  readonly body: string;
  readonly length: string | undefined;
  /** The header that a plugin of the test appends. */
  readonly edits: string | string[] | undefined;
  readonly complete: boolean;
}

/** What a client has received if its connection is closed before the head of the response. */
const aborted: Received = { status: 0, headers: {}, rawHeaders: [], trailers: {}, body: "", complete: false };

type Ask = (test: TestContext, options: RigOptions, method?: string) => Promise<Seen>;

const overHttp1 =
  (engine: Engine): Ask =>
  async (test, options, method = "GET") => {
    const { port } = await startRig(test, engine, options);
    const { status, body, headers, complete } = await sendRequest(port, { method }).catch(() => aborted);
    return { status, body, length: headers["content-length"], edits: headers["x-a"], complete };
  };

const overHttp2 =
  (engine: Engine): Ask =>
  async (test, options, method = "GET") => {
    const { session } = await startHttp2(test, engine, options);
    const { status, body, headers, rstCode } = await requestHttp2(session, { headers: { ":method": method } });
    const [length, edits] = [headers["content-length"], headers["x-a"]];
    return { status, body: body.toString(), length, edits, complete: rstCode === 0 };
  };

type Row = readonly [
  what: string,
  upstream: RequestListener,
  filters: readonly BodyFilter[],
  body: string,
  length: string | undefined,
];

const rows: readonly Row[] = [
  ["replaced piece by piece", sized, [upperCase], "HELLO", undefined],
  ["replaced piece by piece in chunks", respondChunked, [upperCase], "HELLO", undefined],
  ["dropped", sized, [dropping], "", undefined],
  ["dropped except for what the next filter adds", respondChunked, [dropping, appending], "!", undefined],
  ["extended at the end", respondChunked, [appending], "hello!", undefined],
  ["extended although they are empty", respondEmpty, [appending], "!", undefined],
  ["replaced as a whole", sized, [buffering(5)], "<hello>", "7"],
  ["replaced as a whole after chunks", respondChunked, [buffering(5)], "<hello>", "7"],
  ["replaced as a whole although they are empty", respondEmpty, [buffering(5)], "<>", "2"],
  [
    "filtered by several plugins in order of priority",
    respondChunked,
    [appending, buffering(6), upperCase],
    "<HELLO!>",
    "8",
  ],
  ["filtered twice as a whole", sized, [buffering(5), buffering(7)], "<<hello>>", "9"],
  ["unchanged, with their Content-Length, if they exceed the limit", sized, [buffering(4)], "hello", "5"],
  ["unchanged, in chunks, if they exceed the limit", respondChunked, [buffering(4)], "hello", undefined],
  [
    "passed to the next filter if chunks exceed the limit",
    respondChunked,
    [buffering(4), upperCase],
    "HELLO",
    undefined,
  ],
  [
    "passed to the next filter if Content-Length exceeds the limit",
    sized,
    [buffering(4), buffering(5)],
    "<hello>",
    "7",
  ],
];

/** Names of plugins by descending priority. */
const names = ["cors", "key-auth", "rate-limiting"];

const stacked = (filters: readonly BodyFilter[]): Readonly<Record<string, PluginPhases>> =>
  Object.fromEntries(filters.map((filter, at) => [names[at] ?? "", filtering(filter)]));

/** Returns what TypeScript does not let a filter return, but what a package in JavaScript can return. */
const invalid = (value: unknown) => () => value as never;

/**
 * `status`: status of the response that replaces the filtered one; null: the filtered one is aborted after its head.
 */
const failures: readonly (readonly [
  what: string,
  upstream: RequestListener,
  filter: BodyFilter,
  status: number | null,
])[] = [
  ["their Content-Length exceeds the limit of a plugin that refuses them", sized, buffering(4, "refused"), 502],
  ["their chunks exceed the limit of a plugin that refuses them", respondChunked, buffering(4, "refused"), 502],
  ["a filter throws before the head is sent", sized, { ...buffering(9), whole: failing.piece }, 500],
  ["a plugin returns no filter", sized, {} as BodyFilter, 500],
  ["a filter returns a promise", sized, { ...buffering(9), whole: invalid(Promise.resolve(Buffer.from("a"))) }, 500],
  ["a filter returns nothing", respondChunked, { ...buffering(9), whole: invalid(undefined) }, 500],
  ["a filter returns a text piece by piece", sized, { piece: invalid("HELLO") }, null],
  ["a filter returns no stream", sized, { transform: invalid(null) }, 500],
  ["a filter throws after the head is sent", sized, failing, null],
  ["a filter throws at the end of the body", respondChunked, failingAtEnd, null],
];

const ownRows: readonly (readonly [filter: BodyFilter, status: number, body: string])[] = [
  [upperCase, 404, "GONE \u20ac"],
  [appending, 404, "gone \u20ac!"],
  [buffering(8), 404, "<gone \u20ac>"],
  [buffering(7), 404, "gone \u20ac"],
  [buffering(7, "refused"), 502, "An invalid response was received from the upstream server"],
  [failing, 500, "An unexpected error occurred"],
];

/** How a client sends its request, for each version of HTTP that the engine supports. */
export const waysToAsk = (engine: Engine): readonly (readonly [version: string, Ask])[] => [
  ["HTTP/1.1", overHttp1(engine)],
  ...(engine.name === "http1" ? [["HTTP/2", overHttp2(engine)] as const] : []),
];

export function filteredBodySuite(engine: Engine): void {
  describe(`bodies of responses that plugins filter (${engine.name})`, () => {
    for (const [version, sendOver] of waysToAsk(engine)) {
      for (const [what, upstream, filters, body, length] of rows) {
        it(`are ${what}, over ${version}`, async (test) => {
          const seen = await sendOver(test, { upstream, plugins: stacked(filters) });
          assert.deepEqual(seen, { status: 200, body, length, edits: undefined, complete: true });
        });
      }

      for (const [what, upstream, filter, status] of failures) {
        it(`are ${status === null ? "aborted" : `replaced by ${status}`} if ${what}, over ${version}`, async (test) => {
          const edits: PluginPhases = { responseHeaders: ({ responseHeaders }) => responseHeaders.append("X-A", "1") };
          const seen = await sendOver(test, { upstream, plugins: { cors: filtering(filter), prometheus: edits } });
          assert.equal(seen.complete, status !== null);
          assert.doesNotMatch(seen.body, /broken/);
          if (status !== null) assert.deepEqual([seen.status, seen.edits], [status, "1"]);
        });
      }

      for (const [filter, status, body] of ownRows) {
        it(`may be the gateway's own (${status} ${body}), over ${version}`, async (test) => {
          const access = () => ({ status: 404, body: "gone \u20ac" });
          const seen = await sendOver(test, { plugins: { cors: filtering(filter), "key-auth": { access } } });
          assert.deepEqual(
            [seen.status, seen.complete, seen.length],
            [status, true, `${Buffer.byteLength(seen.body)}`],
          );
          assert.ok(seen.body.includes(body), seen.body);
        });
      }

      it(`are not added to responses that must not have one, over ${version}`, async (test) => {
        let calls = 0;
        const counting: PluginPhases = {
          responseBody: () => {
            calls++;
            return appending;
          },
        };
        for (const [method, status, length] of [
          ["GET", 204, undefined],
          ["GET", 304, undefined],
          ["HEAD", 200, undefined],
        ] as const) {
          const upstream: RequestListener = (_request, response) => {
            response.writeHead(status, status === 200 ? { "Content-Length": 5 } : {}).end();
          };
          const seen = await sendOver(test, { upstream, plugins: { cors: counting } }, method);
          assert.deepEqual(seen, { status, body: "", length, edits: undefined, complete: true });
        }
        assert.equal(calls, 1, "the phase runs only for HEAD, to determine Content-Length");
      });

      it(`are replaced by 500 if the phase responseBody of a plugin throws, over ${version}`, async (test) => {
        const throwing: PluginPhases = {
          responseBody() {
            throw new Error("broken phase");
          },
        };
        const seen = await sendOver(test, { upstream: sized, plugins: { cors: throwing } });
        assert.deepEqual([seen.status, seen.complete], [500, true]);
        assert.match(seen.body, /An unexpected error occurred/);
      });

      it(`are unchanged if the plugin sets no filter, over ${version}`, async (test) => {
        const seen = await sendOver(test, { upstream: sized, plugins: { cors: filtering(null) } });
        assert.deepEqual(seen, { status: 200, body: "hello", length: "5", edits: undefined, complete: true });
      });

      it(`are replaced by 502 if the upstream aborts a body that is buffered, over ${version}`, async (test) => {
        const upstream: RequestListener = (_request, response) => {
          response.writeHead(200, { "Content-Length": 9 }).write("hello", () => response.destroy());
        };
        const seen = await sendOver(test, { upstream, plugins: { cors: filtering(buffering(9)) } });
        assert.deepEqual([seen.status, seen.complete], [502, true]);
      });
    }
  });
}

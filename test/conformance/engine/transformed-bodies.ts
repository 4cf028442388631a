/** Bodies of responses that pass through streams of plugins, and the plugin compression, over each version of HTTP. */
import assert from "node:assert/strict";
import { type RequestListener, request as sendHttp } from "node:http";
import { Transform } from "node:stream";
import { describe, it, type TestContext } from "node:test";
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from "node:zlib";
import type { PluginPhases } from "@sluice/plugin-sdk";
import { pluginInstance } from "../../plugins/fake-exchange.ts";
import { withConfigDefaults } from "../../plugins/filled-configs.ts";
import { dial, receiveUntil, sendRequest, signal } from "./client.ts";
import {
  appending,
  buffering,
  enclosing,
  filtering,
  respondChunked,
  respondEmpty,
  sized,
  upperCase,
} from "./filtered-bodies.ts";
import { startHttp2 } from "./http2.ts";
import { requestHttp2 } from "./http2-client.ts";
import { type Engine, type RigOptions, startRig } from "./proxy-rig.ts";

/** Names of plugins by descending priority. */
const names = ["cors", "key-auth", "rate-limiting"];
const stacked = (filters: readonly Parameters<typeof filtering>[0][]): Readonly<Record<string, PluginPhases>> =>
  Object.fromEntries(filters.map((filter, at) => [names[at] ?? "", filtering(filter)]));

/** A stream of a package with its own classes of streams, such as readable-stream. */
const foreign = ({ transform }: ReturnType<typeof enclosing>): ReturnType<typeof enclosing> => ({
  transform: () => new Proxy(transform(), { getPrototypeOf: () => null }),
});

type Row = readonly [
  what: string,
  upstream: RequestListener,
  filters: readonly Parameters<typeof filtering>[0][],
  body: string,
];

const rows: readonly Row[] = [
  ["with a length", sized, [enclosing("<", ">")], "<hello>"],
  ["with a stream that is no instance of Node's classes", sized, [foreign(enclosing("<", ">"))], "<hello>"],
  ["without a length", respondChunked, [enclosing("<", ">")], "<hel<lo>"],
  ["that are empty", respondEmpty, [enclosing("<", ">")], ">"],
  ["after filters of a lower priority", sized, [enclosing("<", ">"), appending, upperCase], "<HELLO<!>"],
  ["after the whole body was buffered", sized, [enclosing("(", ")"), buffering(5)], "(<hello>)"],
  ["several times, in order of priority", sized, [enclosing("<", ">"), enclosing("[", "]")], "[<hello[>]"],
];

const coded: RequestListener = (_request, response) =>
  void response
    .writeHead(200, { "Content-Type": "text/plain; charset=utf-8", "Content-Length": 4000, ETag: '"1"' })
    .end("ab".repeat(2000));

const decoders = { gzip: gunzipSync, br: brotliDecompressSync, zstd: zstdDecompressSync } as const;

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: Buffer;
  readonly complete: boolean;
}
type Ask = (test: TestContext, options: RigOptions, headers?: Readonly<Record<string, string>>) => Promise<Answer>;

const overHttp1 =
  (engine: Engine): Ask =>
  async (test, options, headers = {}) => {
    const { port } = await startRig(test, engine, options);
    return receiveRaw(port, headers);
  };

/** The bytes of the body, without decoding. */
function receiveRaw(port: number, headers: Readonly<Record<string, string>>): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    sendHttp({ host: "127.0.0.1", port, headers, agent: false }, (response) => {
      response.on("data", (piece: Buffer) => pieces.push(piece)).on("error", () => {});
      response.once("close", () => {
        const { statusCode = 0, complete } = response;
        resolve({ status: statusCode, headers: response.headers, body: Buffer.concat(pieces), complete });
      });
    })
      .on("error", reject)
      .end();
  });
}

const overHttp2 =
  (engine: Engine): Ask =>
  async (test, options, headers = {}) => {
    const { session } = await startHttp2(test, engine, options);
    const { status, headers: answered, body, rstCode } = await requestHttp2(session, { headers });
    return { status, headers: answered, body, complete: rstCode === 0 };
  };

export function transformedBodySuite(engine: Engine): void {
  const versions: readonly (readonly [string, Ask])[] = [
    ["HTTP/1.1", overHttp1(engine)],
    ...(engine.name === "http1" ? ([["HTTP/2", overHttp2(engine)]] as const) : []),
  ];
  describe(`bodies that pass through streams of plugins (${engine.name})`, () => {
    for (const [version, ask] of versions) {
      for (const [what, upstream, filters, body] of rows) {
        it(`are changed over ${version}: bodies ${what}`, async (test) => {
          const answer = await ask(test, { upstream, plugins: stacked(filters) });
          assert.deepEqual([answer.status, answer.body.toString(), answer.complete], [200, body, true]);
          assert.equal(answer.headers["content-length"], undefined);
        });
      }

      for (const [coding, decode] of Object.entries(decoders)) {
        it(`are compressed by the plugin compression with ${coding} over ${version}`, async (test) => {
          const compression = pluginInstance("compression", withConfigDefaults("compression", {}));
          const options = { upstream: coded, plugins: { cors: compression } };
          const { headers, body } = await ask(test, options, { "accept-encoding": `${coding}, identity;q=0.5` });
          assert.deepEqual(
            [headers["content-encoding"], headers.vary, headers.etag, headers["content-length"]],
            [coding, "Accept-Encoding", 'W/"1"', undefined],
          );
          assert.ok(body.length < 200);
          assert.equal(decode(body).toString(), "ab".repeat(2000));
        });
      }

      it(`are replaced by 500 if the stream cannot be opened, over ${version}`, async (test) => {
        const transform = () => {
          throw new Error("broken stream");
        };
        assert.equal((await ask(test, { upstream: sized, plugins: { cors: filtering({ transform }) } })).status, 500);
      });

      it(`are sent in UTF-8 if the stream gives texts, over ${version}`, async (test) => {
        const transform = () =>
          new Transform({ transform: (_piece, _encoding, done) => done(null, "\u00e9\u20ac") }).setEncoding("utf8");
        const { body } = await ask(test, { upstream: sized, plugins: { cors: filtering({ transform }) } });
        assert.equal(body.toString(), "\u00e9\u20ac");
      });

      it(`are broken off if the stream gives values that are no bytes, over ${version}`, async (test) => {
        const transform = () =>
          new Transform({ objectMode: true, transform: (_piece, _encoding, done) => done(null, 5) });
        const asked = ask(test, { upstream: sized, plugins: { cors: filtering({ transform }) } });
        assert.equal(await asked.then(({ complete }) => complete).catch(() => false), false);
      });

      it(`are broken off if the stream fails, over ${version}`, async (test) => {
        const transform = () => new Transform({ transform: (_piece, _encoding, done) => done(new Error("broken")) });
        const asked = ask(test, { upstream: respondChunked, plugins: { cors: filtering({ transform }) } });
        assert.equal(await asked.then(({ complete }) => complete).catch(() => false), false);
      });
    }

    it("stay as they are if they are the gateway's own, and in responses to HEAD", async (test) => {
      const { port } = await startRig(test, engine, {
        upstream: sized,
        plugins: {
          cors: filtering(enclosing("<", ">")),
          "key-auth": {
            access: ({ request }) => (request.path === "/own" ? { status: 401, message: "No" } : undefined),
          },
        },
      });
      assert.match((await sendRequest(port, { path: "/own" })).body, /^\{"message":"No"/);
      assert.equal((await sendRequest(port, { method: "HEAD" })).headers["content-length"], "5");
    });

    it("destroy their stream when the client disconnects, and when the upstream aborts", async (test) => {
      for (const ends of ["client", "upstream"] as const) {
        const [opened, destroyed] = [signal(), signal()];
        const { port } = await startRig(test, engine, {
          upstream: (_request, response) => {
            response.write("hello");
            if (ends === "upstream") void opened.seen.then(() => response.destroy());
          },
          plugins: {
            cors: filtering({
              transform() {
                opened.fire();
                const stream = new Transform({ transform: (piece, _encoding, done) => done(null, piece) });
                return stream.once("close", () => destroyed.fire());
              },
            }),
          },
        });
        const socket = await dial(test, port);
        socket.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        await opened.seen;
        if (ends === "client") socket.destroy();
        await destroyed.seen;
      }
    });

    it("destroy their stream when that of another plugin cannot be opened", async (test) => {
      const destroyed = signal();
      const opening = { transform: () => new Transform().once("close", () => destroyed.fire()) };
      const failing = {
        transform() {
          throw new Error("broken stream");
        },
      };
      const options = { upstream: sized, plugins: stacked([opening, failing]) };
      assert.equal((await sendRequest((await startRig(test, engine, options)).port)).status, 500);
      await destroyed.seen;
    });

    it("reach the client while the upstream pauses, also compressed", async (test) => {
      const rest = signal();
      const compression = pluginInstance("compression", withConfigDefaults("compression", { encodings: ["gzip"] }));
      const { port } = await startRig(test, engine, {
        upstream: async (_request, response) => {
          response.setHeader("Content-Type", "text/plain").write("first");
          await rest.seen;
          response.end("second");
        },
        plugins: { cors: compression },
      });
      const socket = await dial(test, port);
      socket.write("GET / HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n");
      // The marker of a flush (RFC 1951 section 3.2.4: an empty stored block).
      await receiveUntil(socket, "\x00\x00\xff\xff");
      const end = receiveUntil(socket, "0\r\n\r\n");
      rest.fire();
      await end;
    });
  });
}

/**
 * Paths that an upstream may interpret differently than the router: rejected, or forwarded in a normalized form (RFC
 * 3986 section 6.2.2).
 */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { sendRaw } from "./client.ts";
import { startHttp2 } from "./http2.ts";
import { requestHttp2 } from "./http2-client.ts";
import { type Engine, type RigOptions, startRig } from "./proxy-rig.ts";

const BROKEN_ESCAPE = "Bad request: a % in the path must be followed by two hexadecimal digits";
const DOT_SEGMENT_PARAMETER = "Bad request: a dot segment of the path must not have parameters";

const refused: readonly (readonly [path: string, message: string])[] = [
  ["/open/%2%65%2%65/users/x", BROKEN_ESCAPE],
  ["/open/%%32e%%32e/users", BROKEN_ESCAPE],
  ["/open/%%32%65%%32%65/users", BROKEN_ESCAPE],
  ["/open%%32%66users", BROKEN_ESCAPE],
  ["/open/%", BROKEN_ESCAPE],
  ["/open/%2", BROKEN_ESCAPE],
  ["/open/%zz?a=1", BROKEN_ESCAPE],
  ["/open/..;/users", DOT_SEGMENT_PARAMETER],
  ["/open/%2e%2E;v=1/users", DOT_SEGMENT_PARAMETER],
];

const forwarded: readonly (readonly [path: string, wire: string])[] = [
  ["/open/a?x=%&y=%2%65", "/open/a?x=%&y=%2%65"],
  ["/open/%252e%252e/users", "/open/%252e%252e/users"],
  ["/open%2Fusers", "/open%2Fusers"],
  ["/open/%5c..%5Cusers", "/open/%5C..%5Cusers"],
  ["/open/\\..\\users", "/open/%5C..%5Cusers"],
  ["/open/%09../%0a..%00/users", "/open/%09../%0A..%00/users"],
  ["/open/%c0%ae%c0%ae/users", "/open/%C0%AE%C0%AE/users"],
  ["/users/.%2e/open/x", "/open/x"],
  ["/open/..%3B/users", "/open/..%3B/users"],
];

const elsewhere = [
  "/open/%2e%2e/users",
  "/open/.%2E/users",
  "/open/../users",
  "/open/a/..//../users",
  "//open/./../users",
];

const rig: RigOptions = {
  upstream: (request, response) => response.end(`<${request.url}>`),
  route: { paths: ["/open"], strip_path: false },
};

interface Reply {
  readonly status: number;
  readonly body: string;
}

type Send = (path: string) => Promise<Reply>;

const overHttp1 =
  (engine: Engine) =>
  async (test: TestContext, options: RigOptions): Promise<Send> => {
    const { port } = await startRig(test, engine, options);
    return async (path) => {
      const all = await sendRaw(test, port, `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
      return { status: Number(all.slice("HTTP/1.1 ".length, "HTTP/1.1 200".length)), body: all };
    };
  };

const overHttp2 =
  (engine: Engine) =>
  async (test: TestContext, options: RigOptions): Promise<Send> => {
    const { session } = await startHttp2(test, engine, options);
    return async (path) => {
      const { status, body } = await requestHttp2(session, { headers: { ":path": path } });
      return { status, body: body.toString() };
    };
  };

export function pathSuite(engine: Engine): void {
  const protocols = { "HTTP/1.1": overHttp1, ...(engine.name === "http1" && { "HTTP/2": overHttp2 }) };
  for (const [protocol, over] of Object.entries(protocols)) {
    describe(`paths of ${protocol}: the ${engine.name} engine`, () => {
      const start = over(engine);

      for (const [path, message] of refused) {
        it(`answers 400 for ${path} and forwards nothing`, async (test) => {
          let requests = 0;
          const send = await start(test, { ...rig, upstream: (_request, response) => response.end(`${++requests}`) });
          const { status, body } = await send(path);
          assert.deepEqual([status, requests], [400, 0]);
          assert.ok(body.includes(message), body);
        });
      }

      for (const [path, wire] of forwarded) {
        it(`forwards ${path} as ${wire}`, async (test) => {
          const { status, body } = await (await start(test, rig))(path);
          assert.equal(status, 200);
          assert.ok(body.includes(`<${wire}>`), body);
        });
      }

      for (const path of elsewhere) {
        it(`does not treat ${path} as a path below /open`, async (test) => {
          assert.equal((await (await start(test, rig))(path)).status, 404);
        });
      }
    });
  }
}

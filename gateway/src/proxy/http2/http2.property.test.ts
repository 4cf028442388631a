/**
 * Random requests of Node's HTTP/2 client through the proxy to Node's HTTP/1.1 server, and random responses back: each
 * side must receive what the other side sent. `npm run fuzz -- --only http2-clients` runs 100,000 requests.
 */
import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type ClientHttp2Session, connect, type Settings } from "node:http2";
import { test } from "node:test";
import fc from "fast-check";
import { responseOfStream } from "../../../../test/conformance/engine/http2-client.ts";
import { listen, portOf, startRig } from "../../../../test/conformance/engine/proxy-rig.ts";
import { randomCases } from "../../../../tools/stages/random-cases.ts";
import { createHttp1Proxy } from "../http1/listener.ts";
import {
  bodyDigest,
  bodyOfSize,
  type RandomFields,
  randomFields,
  randomLinesIn,
  randomLinesOf,
  randomPath,
  randomSize,
  randomString,
  randomTrailers,
} from "./testing-random-messages.ts";

/** Requests of one connection. */
const BATCH = 50;

interface RandomMessage {
  readonly headers: RandomFields;
  readonly size: number;
  /** Whether Content-Length is sent. */
  readonly isSized: boolean;
  readonly trailers: RandomFields;
}

interface RandomExchange {
  readonly method: string;
  readonly path: string;
  readonly cookies: readonly string[];
  readonly request: RandomMessage;
  readonly status: number;
  readonly response: RandomMessage;
  /** Whether the client resets its stream instead of waiting for the response. */
  readonly isReset: boolean;
}

const message: fc.Arbitrary<RandomMessage> = fc.record({
  headers: randomFields,
  size: randomSize,
  isSized: fc.boolean(),
  trailers: randomTrailers,
});
const exchanges: fc.Arbitrary<RandomExchange> = fc.record({
  method: fc.constantFrom("GET", "GET", "HEAD", "POST", "PUT", "DELETE", "QUERY"),
  path: randomPath,
  cookies: fc.array(randomString("abc=", 1, 20), { maxLength: 3 }),
  request: message,
  status: fc.constantFrom(200, 200, 201, 204, 304, 404, 500, 599),
  response: message,
  isReset: fc.integer({ min: 0, max: 30 }).map((number) => number === 0),
});
const settings: fc.Arbitrary<Settings> = fc.record({
  headerTableSize: fc.constantFrom(0, 100, 4096, 65_536),
  initialWindowSize: fc.constantFrom(10_000, 65_535, 1_000_000),
  enablePush: fc.constant(false),
});

const flatOf = (headers: object): readonly string[] =>
  Object.entries(headers).flatMap(([found, content]) => [found, String(content)]);
const mayHaveBody = ({ method, status }: RandomExchange): boolean =>
  method !== "HEAD" && status !== 204 && status !== 304;

/** What the upstream received, by the number of the exchange. */
interface Received {
  readonly message: IncomingMessage;
  readonly body: Buffer;
}

function answer(response: ServerResponse, random: RandomExchange): void {
  const { status } = random;
  const { headers, size: length, isSized, trailers } = random.response;
  const content = bodyOfSize(length);
  response.sendDate = false;
  response.statusCode = status;
  for (const [found, content] of headers) response.setHeader(found, content);
  if (isSized && status !== 204) response.setHeader("Content-Length", length);
  else if (trailers.length > 0 && mayHaveBody(random)) {
    response.setHeader("Trailer", "q-trailer");
    response.addTrailers(Object.fromEntries(trailers));
  }
  // Written in two pieces, so that the response has a chunked coding unless its length was set.
  response.write(content.subarray(0, length >> 1));
  response.end(content.subarray(length >> 1));
}

async function send(session: ClientHttp2Session, at: number, random: RandomExchange) {
  const { method, path, cookies, request } = random;
  const hasBody = method === "POST" || method === "PUT" || method === "QUERY";
  const hasTrailers = hasBody && request.trailers.length > 0;
  const stream = session.request(
    {
      ":method": method,
      ":path": path,
      "x-case": String(at),
      te: "trailers",
      cookie: [...cookies],
      ...Object.fromEntries(request.headers),
      ...(hasBody && request.isSized && { "content-length": String(request.size) }),
    },
    { endStream: !hasBody, waitForTrailers: hasTrailers },
  );
  stream.on("error", () => {});
  if (hasTrailers) stream.once("wantTrailers", () => stream.sendTrailers(Object.fromEntries(request.trailers)));
  if (hasBody) stream.end(bodyOfSize(request.size));
  if (random.isReset) setImmediate(() => stream.close(8));
  return responseOfStream(stream);
}

function check(random: RandomExchange, received: Received | undefined, result: Awaited<ReturnType<typeof send>>): void {
  if (random.isReset) return;
  assert.ok(received, `the request did not reach the upstream: ${result.status} ${result.body}`);
  const { method, path, cookies, request, status, response } = random;
  const hasBody = method === "POST" || method === "PUT" || method === "QUERY";
  const { message, body } = received;
  assert.deepEqual([message.method, message.url], [method, path]);
  assert.deepEqual(randomLinesIn(message.rawHeaders), randomLinesOf(request.headers));
  assert.equal(message.headers.cookie, cookies.length === 0 ? undefined : cookies.join("; "));
  assert.equal(bodyDigest(body), bodyDigest(hasBody ? bodyOfSize(request.size) : Buffer.alloc(0)));
  if (hasBody && !request.isSized)
    assert.deepEqual(randomLinesIn(message.rawTrailers), randomLinesOf(request.trailers));
  assert.deepEqual([result.status, result.rstCode], [status, 0]);
  assert.deepEqual(randomLinesIn(flatOf(result.headers)), randomLinesOf(response.headers));
  assert.equal(bodyDigest(result.body), bodyDigest(mayHaveBody(random) ? bodyOfSize(response.size) : Buffer.alloc(0)));
  const trailers = mayHaveBody(random) && !response.isSized ? response.trailers : [];
  assert.deepEqual(randomLinesIn(flatOf(result.trailers ?? {})), randomLinesOf(trailers));
}

test(`${BATCH * 60} random requests and responses pass unchanged between Node's HTTP/2 client and an HTTP/1.1 upstream`, async (context) => {
  let batch: readonly RandomExchange[] = [];
  const received = new Map<number, Received>();
  const upstream = createServer((message, response) => {
    const pieces: Buffer[] = [];
    message.on("data", (piece: Buffer) => pieces.push(piece)).on("error", () => {});
    message.on("end", () => {
      const at = Number(message.headers["x-case"]);
      const random = batch[at];
      if (random === undefined) return response.end();
      received.set(at, { message, body: Buffer.concat(pieces) });
      return answer(response, random);
    });
  });
  // A POST fails with 502 if the upstream closes its connection, which was idle, at the same time.
  upstream.keepAliveTimeout = 0;
  const { port } = await startRig(
    context,
    { name: "http1", createProxy: createHttp1Proxy },
    { upstream: portOf(await listen(context, upstream)), settings: { cleartextHttp2: true } },
  );
  const batches = fc.tuple(settings, fc.array(exchanges, { minLength: BATCH, maxLength: BATCH }));
  await fc.assert(
    fc.asyncProperty(batches, async ([own, random]) => {
      batch = random;
      received.clear();
      const session = connect(`http://127.0.0.1:${port}`, { settings: own });
      session.on("error", () => {});
      const results = await Promise.all(random.map((each, at) => send(session, at, each)));
      assert.equal(session.destroyed, false, "the connection is open");
      session.destroy();
      for (const [at, each] of random.entries()) check(each, received.get(at), results[at] ?? assert.fail());
    }),
    { numRuns: randomCases(60), endOnFailure: true },
  );
});

/**
 * Random requests of an HTTP/1.1 client through the proxy to Node's HTTP/2 server, and random responses back: each side
 * must receive what the other side sent. `npm run fuzz -- --only http2-upstreams` runs 100,000 requests.
 */
import assert from "node:assert/strict";
import { Agent, type IncomingMessage, request as send } from "node:http";
import {
  createServer,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
  type Settings,
} from "node:http2";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import fc from "fast-check";
import { received } from "../../../../../test/conformance/engine/client.ts";
import { receivedBody } from "../../../../../test/conformance/engine/http2-client.ts";
import { startRig } from "../../../../../test/conformance/engine/proxy-rig.ts";
import { randomCases } from "../../../../../tools/stages/random-cases.ts";
import { createHttp1Proxy } from "../../http1/listener.ts";
import {
  bodyDigest,
  bodyOfSize,
  type RandomFields,
  randomFields,
  randomLinesIn,
  randomLinesOf,
  randomPath,
  randomSize,
  randomTrailers,
} from "../testing-random-messages.ts";

/** Requests that are sent at the same time. */
const BATCH = 50;

interface RandomCase {
  readonly method: string;
  readonly path: string;
  readonly fields: RandomFields;
  readonly size: number;
  /** Whether the request has a Content-Length. */
  readonly isSized: boolean;
  readonly trailers: RandomFields;
  readonly status: number;
  readonly answered: RandomFields;
  readonly answeredSize: number;
  /** Whether the response has a Content-Length. */
  readonly isAnswerSized: boolean;
  readonly answeredTrailers: RandomFields;
  /** Whether the upstream resets its stream in the middle of its body. */
  readonly isReset: boolean;
}

const cases: fc.Arbitrary<RandomCase> = fc
  .record({
    method: fc.constantFrom("GET", "GET", "HEAD", "POST", "PUT", "DELETE", "PATCH"),
    path: randomPath,
    fields: randomFields,
    size: randomSize,
    isSized: fc.boolean(),
    trailers: randomTrailers,
    status: fc.constantFrom(200, 200, 201, 204, 304, 404, 500, 599),
    answered: randomFields,
    answeredSize: randomSize,
    isAnswerSized: fc.boolean(),
    answeredTrailers: randomTrailers,
    isReset: fc.integer({ min: 0, max: 30 }).map((number) => number === 0),
  })
  .map((random) => (random.answeredSize > 0 ? random : { ...random, isReset: false }));
const settings: fc.Arbitrary<Settings> = fc.record({
  headerTableSize: fc.constantFrom(0, 100, 4096, 65_536),
  initialWindowSize: fc.constantFrom(10_000, 65_535, 1_000_000),
  maxConcurrentStreams: fc.constantFrom(5, 100, 1000),
});

const mayHaveBody = ({ method, status }: RandomCase): boolean => method !== "HEAD" && status !== 204 && status !== 304;
const sendsBody = ({ method }: RandomCase): boolean => ["POST", "PUT", "PATCH"].includes(method);

/** What the upstream received. */
interface Arrived {
  readonly headers: IncomingHttpHeaders;
  readonly flat: readonly string[];
  readonly trailers: readonly string[];
  readonly body: Buffer;
}

function answer(stream: ServerHttp2Stream, random: RandomCase): void {
  const content = bodyOfSize(mayHaveBody(random) ? random.answeredSize : 0);
  const sendsTrailers = random.answeredTrailers.length > 0 && mayHaveBody(random);
  stream.respond(
    {
      ":status": random.status,
      ...Object.fromEntries(random.answered),
      ...(random.isAnswerSized && random.status !== 204 && { "content-length": String(random.answeredSize) }),
    },
    { waitForTrailers: sendsTrailers, endStream: !mayHaveBody(random) },
  );
  stream.once("wantTrailers", () => stream.sendTrailers(Object.fromEntries(random.answeredTrailers)));
  if (!mayHaveBody(random)) return;
  const middle = content.length >> 1;
  // An earlier reset would discard the head.
  stream.write(content.subarray(0, middle), () => random.isReset && stream.destroy(new Error("a random reset")));
  if (!random.isReset) stream.end(content.subarray(middle));
}

/** Starts the upstream of a batch with these settings. */
async function startServer(
  own: Settings,
  { batch, arrived }: { readonly batch: readonly RandomCase[]; readonly arrived: Map<number, Arrived> },
) {
  const server = createServer({ settings: own });
  const sessions = new Set<ServerHttp2Session>();
  server.on("session", (session) => {
    sessions.add(session);
    session.on("error", () => {}).on("close", () => sessions.delete(session));
  });
  server.on("stream", async (stream: ServerHttp2Stream, headers, _flags, flat) => {
    let trailers: readonly string[] = [];
    stream.on("error", () => {});
    stream.on("trailers", (_trailers, _flags, all: readonly string[]) => {
      trailers = all;
    });
    const body = await receivedBody(stream);
    const at = Number(headers["x-case"]);
    arrived.set(at, { headers, flat: flat as never, trailers, body });
    const random = batch[at];
    if (random !== undefined) answer(stream, random);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    /** Ends the connections with GOAWAY. Resolves when the proxy has closed them, too. */
    async stop(): Promise<void> {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const session of sessions) session.close();
      await closed;
    },
  };
}

async function ask(port: number, agent: Agent, at: number, random: RandomCase) {
  const { method, path, isSized, size: length, trailers: sentTrailers } = random;
  const hasBody = sendsBody(random);
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const message = send({
      host: "127.0.0.1",
      ...{ port, method, path, agent },
      headers: {
        ...Object.fromEntries(random.fields),
        "x-case": String(at),
        te: "trailers",
        ...(hasBody && isSized && { "content-length": String(length) }),
        ...(hasBody && !isSized && { trailer: "q-trailer" }),
      },
    });
    message.on("response", resolve).on("error", reject);
    if (hasBody) {
      if (!isSized) {
        message.flushHeaders();
        message.addTrailers(Object.fromEntries(sentTrailers));
      }
      message.write(bodyOfSize(length >> 1));
      message.end(bodyOfSize(length).subarray(length >> 1));
    } else message.end();
  });
  const pieces: Buffer[] = [];
  response.on("data", (piece: Buffer) => pieces.push(piece));
  const { status, rawHeaders, complete } = await received(response);
  return { status, rawHeaders, complete, body: Buffer.concat(pieces), rawTrailers: response.rawTrailers };
}

function check(random: RandomCase, came: Arrived | undefined, result: Awaited<ReturnType<typeof ask>>): void {
  assert.ok(came, "the request reached the upstream");
  assert.deepEqual([came.headers[":method"], came.headers[":path"]], [random.method, random.path]);
  assert.deepEqual(randomLinesIn(came.flat), randomLinesOf(random.fields));
  assert.equal(bodyDigest(came.body), bodyDigest(bodyOfSize(sendsBody(random) ? random.size : 0)));
  if (sendsBody(random) && !random.isSized)
    assert.deepEqual(randomLinesIn(came.trailers), randomLinesOf(random.trailers));
  assert.equal(result.status, random.status);
  assert.deepEqual(randomLinesIn(result.rawHeaders), randomLinesOf(random.answered));
  if (random.isReset && mayHaveBody(random)) {
    assert.equal(result.complete, false);
    return;
  }
  assert.equal(result.complete, true);
  assert.equal(bodyDigest(result.body), bodyDigest(bodyOfSize(mayHaveBody(random) ? random.answeredSize : 0)));
  const sent = mayHaveBody(random) && !random.isAnswerSized ? random.answeredTrailers : [];
  assert.deepEqual(randomLinesIn(result.rawTrailers), randomLinesOf(sent));
}

test(`${BATCH * 60} random requests and responses pass unchanged between an HTTP/1.1 client and Node's HTTP/2 server`, async (context) => {
  const options = { service: { _sluice: { http2: true } } };
  const rig = await startRig(context, { name: "http1", createProxy: createHttp1Proxy }, options);
  const agent = new Agent({ keepAlive: true });
  context.after(() => agent.destroy());
  const batches = fc.tuple(settings, fc.array(cases, { minLength: BATCH, maxLength: BATCH }));
  await fc.assert(
    fc.asyncProperty(batches, async ([chosen, random]) => {
      const arrived = new Map<number, Arrived>();
      const server = await startServer(chosen, { batch: random, arrived });
      await rig.swap({ ...options, upstream: server.port });
      const results = await Promise.all(random.map((each, at) => ask(rig.port, agent, at, each)));
      await server.stop();
      for (const [at, each] of random.entries()) check(each, arrived.get(at), results[at] ?? assert.fail());
    }),
    { numRuns: randomCases(60), endOnFailure: true },
  );
  assert.deepEqual(
    rig.log.filter(({ message }) => message === "the proxy failed"),
    [],
  );
});

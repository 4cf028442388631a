/** Bodies that need many reads: data in a reused read buffer must not be overwritten while it is forwarded. */
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { Agent, type IncomingMessage, type RequestListener, request } from "node:http";
import { createServer, Agent as TlsAgent, request as tlsRequest } from "node:https";
import { before, describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { type KeyPair, makeAuthority } from "../../../tools/programs/certificates.ts";
import { dial, receiveUntil } from "./client.ts";
import { type Engine, listen, portOf, startRig } from "./proxy-rig.ts";

const digest = (content: Buffer): string => createHash("sha256").update(content).digest("hex");

/** Echoes the body as it arrives. */
const mirror: RequestListener = (incoming, response) => {
  const { "content-length": length } = incoming.headers;
  if (length !== undefined) response.setHeader("Content-Length", length);
  incoming.pipe(response);
};

interface Way {
  readonly name: string;
  readonly size: number;
  readonly isChunked: boolean;
  /** Bytes per write of the client. */
  readonly step: number;
  /** Whether the client pauses reading repeatedly. */
  readonly isSlow: boolean;
}

const ways: readonly Way[] = [
  { name: "64 KiB of known length", size: 65_536, isChunked: false, step: 65_536, isSlow: false },
  { name: "3 MiB of known length", size: 3 << 20, isChunked: false, step: 1 << 20, isSlow: false },
  { name: "3 MiB of known length, read slowly", size: 3 << 20, isChunked: false, step: 1 << 20, isSlow: true },
  { name: "1 MiB in small chunks", size: 1 << 20, isChunked: true, step: 700, isSlow: false },
  { name: "3 MiB in large chunks, read slowly", size: 3 << 20, isChunked: true, step: 300_000, isSlow: true },
];

/** Sends a body and returns whether it came back unchanged. */
async function roundTrip(agent: Agent, port: number, { size, isChunked, step, isSlow }: Way): Promise<boolean> {
  const content = randomBytes(size);
  const headers = isChunked ? { "Transfer-Encoding": "chunked" } : { "Content-Length": String(size) };
  const open = agent instanceof TlsAgent ? tlsRequest : request;
  const upload = open({ host: "127.0.0.1", port, method: "POST", path: "/", agent, headers });
  const responded = once(upload, "response");
  for (let at = 0; at < size; at += step) upload.write(content.subarray(at, at + step));
  upload.end();
  const [response] = (await responded) as [IncomingMessage];
  const hash = createHash("sha256");
  for await (const piece of response) {
    hash.update(piece as Buffer);
    for (let turns = isSlow ? 20 : 0; turns > 0; turns--) await turn();
  }
  return hash.digest("hex") === digest(content);
}

export function largeBodySuite(engine: Engine): void {
  describe(`large bodies (${engine.name})`, () => {
    let pair: KeyPair;
    before(async () => {
      const authority = await makeAuthority();
      pair = await authority.issue({ name: "localhost", sans: ["localhost"], usage: "server" });
    });

    for (const way of ways) {
      it(`are forwarded unchanged in six requests on three keep-alive connections: ${way.name}`, async (test) => {
        const { port } = await startRig(test, engine, { upstream: mirror });
        const agent = new Agent({ keepAlive: true, maxSockets: 3 });
        test.after(() => agent.destroy());
        const trips = await Promise.all(Array.from({ length: 6 }, () => roundTrip(agent, port, way)));
        assert.deepEqual(trips, Array(6).fill(true));
      });
    }

    for (const way of ways.filter(({ isSlow }) => isSlow)) {
      it(`are forwarded unchanged over TLS on both sides: ${way.name}`, async (test) => {
        const server = createServer({ cert: pair.certificate, key: pair.key }, mirror);
        const { tlsPort } = await startRig(test, engine, {
          upstream: portOf(await listen(test, server)),
          service: { protocol: "https", tls_verify: false },
          certificates: { "*": pair },
        });
        const agent = new TlsAgent({ keepAlive: true, maxSockets: 2, rejectUnauthorized: false });
        test.after(() => agent.destroy());
        const trips = await Promise.all(Array.from({ length: 4 }, () => roundTrip(agent, tlsPort, way)));
        assert.deepEqual(trips, Array(4).fill(true));
      });
    }

    const batches: readonly (readonly [name: string, sizes: readonly number[]])[] = [
      ["in the same read", [30_000, 30_000]],
      ["in many reads", [40_000, 100_000, 65_000, 200_000, 17]],
    ];
    for (const [name, sizes] of batches) {
      it(`end correctly when other requests follow immediately, ${name}`, async (test) => {
        const { port } = await startRig(test, engine, {
          upstream: async (incoming, response) => {
            const pieces: Buffer[] = [];
            for await (const piece of incoming) pieces.push(piece as Buffer);
            response.end(`${incoming.url} ${digest(Buffer.concat(pieces))} ${incoming.url}\n`);
          },
        });
        const bodies = sizes.map((size) => randomBytes(size));
        const socket = await dial(test, port);
        const answers = receiveUntil(socket, ` /${sizes.length - 1}\n`);
        const requests = bodies.flatMap((body, index) => [
          Buffer.from(`POST /${index} HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n`),
          body,
        ]);
        socket.write(Buffer.concat(requests));
        const got = [...(await answers).matchAll(/\/\d ([0-9a-f]{64}) /g)].map(([, hash]) => hash);
        assert.deepEqual(got, bodies.map(digest));
      });
    }

    const kinds: readonly (readonly [name: string, steps: readonly number[]])[] = [
      ["in large pieces", [300_000]],
      ["in small pieces among large ones", [50, 60_000]],
    ];
    for (const [name, steps] of kinds) {
      it(`stay unchanged while their clients read nothing and other clients are served, ${name}`, async (test) => {
        const content = randomBytes(12 << 20);
        const { port } = await startRig(test, engine, {
          upstream: async (_, response) => {
            response.setHeader("Content-Length", content.length);
            for (let at = 0, turns = 0; at < content.length; turns++) {
              const step = steps[turns % steps.length] ?? 0;
              if (!response.write(content.subarray(at, at + step))) await once(response, "drain");
              at += step;
              await turn();
            }
            response.end();
          },
        });
        const stalled = await Promise.all(
          Array.from({ length: 3 }, async () => {
            const call = request({ host: "127.0.0.1", port, agent: false }).end();
            const [response] = (await once(call, "response")) as [IncomingMessage];
            return response;
          }),
        );
        const all = async (response: IncomingMessage) => {
          const hash = createHash("sha256");
          for await (const piece of response) hash.update(piece as Buffer);
          return hash.digest("hex");
        };
        const call = request({ host: "127.0.0.1", port, agent: false }).end();
        const [other] = (await once(call, "response")) as [IncomingMessage];
        assert.equal(await all(other), digest(content));
        assert.deepEqual(await Promise.all(stalled.map(all)), Array(3).fill(digest(content)));
      });
    }

    it("do not overwrite the request head, which is needed for the response", async (test) => {
      const { port } = await startRig(test, engine, {
        upstream: (incoming, response) => {
          incoming.resume().on("end", () => {
            response.writeHead(200, { Trailer: "X-Sum" }).write("read");
            response.addTrailers({ "X-Sum": "7" });
            response.end();
          });
        },
      });
      const socket = await dial(test, port);
      const answer = receiveUntil(socket, "X-Sum: 7");
      socket.write(
        Buffer.concat([
          Buffer.from("POST / HTTP/1.1\r\nHost: a\r\nTE: trailers\r\nConnection: TE\r\nContent-Length: 300000\r\n\r\n"),
          randomBytes(300_000),
        ]),
      );
      assert.match(await answer, /\r\nread\r\n/);
    });
  });
}

/** Clients that pipeline: they send further requests before reading the first responses. */
import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { describe, it } from "node:test";
import { dial, receiveUntil, sendRaw } from "./client.ts";
import { type Engine, startRig } from "./proxy-rig.ts";

const GET = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const LAST = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";

/** Counts responses until the connection closes; pauses reading for `pause` milliseconds after each chunk. */
async function countAnswers(client: Socket, pause: number): Promise<number> {
  let count = 0;
  let rest = "";
  client.on("data", (chunk: Buffer) => {
    const text = rest + chunk.toString("latin1");
    count += text.split("HTTP/1.1 ").length - 1;
    rest = text.slice(-8);
    if (pause === 0) return;
    client.pause();
    setTimeout(() => client.resume(), pause);
  });
  await new Promise((resolve) => client.resume().once("close", resolve));
  return count;
}

/** Waits until this engine has timed out another client's incomplete head, after `milliseconds`. */
const later = async (test: Parameters<typeof startRig>[0], engine: Engine, milliseconds: number): Promise<void> => {
  const { port } = await startRig(test, engine, { settings: { headersTimeout: milliseconds } });
  await sendRaw(test, port, "GET");
};

export function pipelineSuite(engine: Engine): void {
  describe(`pipelines (${engine.name})`, () => {
    it("are answered completely for a slow client above the minimum rate", async (test) => {
      const body = Buffer.alloc(60_000);
      const { port } = await startRig(test, engine, { upstream: (_incoming, response) => response.end(body) });
      const client = await dial(test, port);
      client.write(GET.repeat(299) + LAST);
      assert.equal(await countAnswers(client, 2), 300);
    });

    it("continue when a client resumes reading the gateway's own responses", async (test) => {
      const { port } = await startRig(test, engine, {
        route: { paths: ["/other"] },
        settings: { maxRequests: 100_000, sendMinRate: 0 },
      });
      const client = await dial(test, port);
      client.pause().write(GET.repeat(19_999) + LAST);
      await later(test, engine, 500);
      assert.equal(await countAnswers(client, 0), 20_000);
    });

    it("may contain many small bodies that no upstream reads", async (test) => {
      for (const rig of [
        { route: { paths: ["/other"] } },
        { plugins: { cors: { access: () => ({ status: 429, message: "enough" }) } } },
      ]) {
        const { port } = await startRig(test, engine, { ...rig, settings: { maxRequests: 100_000 } });
        const client = await dial(test, port);
        client.write("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx".repeat(4999) + LAST);
        assert.equal(await countAnswers(client, 0), 5000);
      }
    });

    it("may contain empty lines between requests, which start no request", async (test) => {
      const { port } = await startRig(test, engine, {
        upstream: (_incoming, response) => response.end("ok"),
        settings: { headersTimeout: 200 },
      });
      const client = await dial(test, port);
      const first = receiveUntil(client, "ok");
      client.write(`${GET}\r\n`);
      await first;
      const second = receiveUntil(client, "ok");
      client.write(`\r\n\r\n${GET}`);
      await second;
      for (const byte of "\r\n\r\n") client.write(byte);
      client.write("\r\n");
      await later(test, engine, 700);
      const third = receiveUntil(client, "ok");
      client.write(`\r\n${GET}`);
      assert.match(await third, /^HTTP\/1\.1 200 /);
    });
  });

  if (engine.name !== "http1") return;
  describe(`pipelines of clients that read nothing (${engine.name})`, () => {
    it("get no further responses, even with bodies that no upstream reads", async (test) => {
      for (const request of [GET, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx"]) {
        const { port, proxy } = await startRig(test, engine, {
          route: { paths: ["/other"] },
          settings: { maxRequests: 100_000 },
        });
        const client = await dial(test, port);
        client.pause().write(request.repeat(40_000));
        await later(test, engine, 1000);
        const { requests } = proxy.connections();
        assert.ok(requests > 100 && requests < 40_000, `${requests}`);
      }
    });
  });
}

/** Scripted HTTP/2 upstreams: limits, windows, and the ends of streams and connections. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { dial, sendRequest, signal } from "./client.ts";
import { block, type Frame, type FrameClient, frame, frameBytes, frameFlags } from "./http2-frames.ts";
import { scripted } from "./http2-scripts.ts";
import type { Engine } from "./proxy-rig.ts";

const { endStream, endHeaders } = frameFlags;
const { settings, head, data, reset, goAway, word, ok, answer, isHead, replying, startScripted } = scripted;
const { MOST_STREAMS, INITIAL_WINDOW, REFUSED_STREAM, CANCEL } = scripted;
/** The window of a response that the proxy announces. */
const STREAM_WINDOW = 262_144;
/** More than the buffers of the sockets between an upstream and a client hold. */
const MOST_IN_BUFFERS = 20_000_000;
const LAST_CHUNK = "\r\n0\r\n\r\n";

/**
 * Sends data on stream 1 until the proxy permits no more, because the client does not read. Returns the number of bytes.
 */
async function fillWindow(client: FrameClient): Promise<number> {
  const piece = Buffer.alloc(16_384);
  const count = (fits: (found: Frame) => boolean) => client.frames.filter(fits).length;
  let total = 0;
  // The proxy answers each PING, so it has read what was sent before.
  for (let pings = 1, unchanged = 0; unchanged < 50; pings++, unchanged++) {
    const widened = client.frames.filter(({ type, stream }) => type === frame.windowUpdate && stream === 1);
    const window = widened.reduce((sum, { payload }) => sum + payload.readUInt32BE(), STREAM_WINDOW);
    for (; total + piece.length <= window; total += piece.length, unchanged = 0) {
      client.send(frameBytes(frame.data, 0, 1, piece));
    }
    client.send(frameBytes(frame.ping, 0, 0, Buffer.alloc(8)));
    await client.until(() => count(({ type, flags }) => type === frame.ping && flags === 1) === pings);
  }
  return total;
}

export function http2UpstreamSuite(engine: Engine): void {
  if (engine.name !== "http1") return;
  describe(`HTTP/2 upstreams: the ${engine.name} engine`, { concurrency: true }, () => {
    it("serves other requests of a connection on which one response was malformed", async (test) => {
      const seen = signal<FrameClient>();
      const rig = await startScripted(test, engine, async (client) => {
        seen.fire(client);
        client.send(settings());
        await client.until(isHead(3));
        client.send(head(1, [["a", "b"]]), answer(3));
      });
      const both = await Promise.all([sendRequest(rig.port), sendRequest(rig.port)]);
      assert.deepEqual(both.map(({ status }) => status).toSorted(), [200, 502]);
      assert.equal((await (await seen.seen).until(({ type }) => type === frame.reset)).stream, 1);
    });

    it("accepts padding, priorities, continuations, unknown frames, and a reset after the end", async (test) => {
      const padded = frameBytes(
        frame.data,
        8,
        1,
        Buffer.concat([Buffer.from([3]), Buffer.from("ab"), Buffer.alloc(3)]),
      );
      const fields = block([...ok, ["x-a", "b"]]);
      const first = Buffer.concat([
        Buffer.from([2]),
        word(0),
        Buffer.from([9]),
        fields.subarray(0, 5),
        Buffer.alloc(2),
      ]);
      const rig = await startScripted(
        test,
        engine,
        replying(
          frameBytes(frame.headers, 0x28, 1, first),
          frameBytes(frame.continuation, endHeaders, 1, fields.subarray(5)),
          frameBytes(99, 0xff, 7, Buffer.from("x")),
          padded,
          frameBytes(99, 0, 1),
          data(1, "c"),
          reset(1, 0),
        ),
      );
      const { status, headers, body, complete } = await sendRequest(rig.port);
      assert.deepEqual([status, headers["x-a"], body, complete], [200, "b", "abc", true]);
      assert.deepEqual(rig.log, []);
    });

    const unprocessed: readonly (readonly [says: string, sent: Buffer])[] = [
      ["GOAWAY without the request's stream", goAway(0)],
      ["REFUSED_STREAM", reset(1, REFUSED_STREAM)],
    ];
    for (const [says, sent] of unprocessed) {
      it(`sends a POST without a body again after ${says}, whatever the retry budget is`, async (test) => {
        const rig = await startScripted(
          test,
          engine,
          async (client, connection) => {
            client.send(settings());
            const { stream } = await client.until(isHead());
            if (connection > 1) client.send(answer(stream));
            else {
              client.send(sent);
              await client.until(isHead(3));
              client.send(answer(3));
            }
          },
          { service: { retries: 1, retry_budget: { percent: 0, min_concurrency: 0 } } },
        );
        const { status, body } = await sendRequest(rig.port, { method: "POST" });
        assert.deepEqual([status, body], [200, "ok"]);
      });
    }

    it("completes the requests that GOAWAY includes, and opens another connection for new ones", async (test) => {
      const [left, goOn] = [signal<FrameClient>(), signal()];
      let connections = 0;
      const rig = await startScripted(test, engine, async (client, connection) => {
        connections = connection;
        client.send(settings());
        for (let stream = 1; ; stream += 2) {
          await client.until(isHead(stream));
          if (connection === 1) {
            client.send(goAway(stream), frameBytes(frame.ping, 0, 0, Buffer.alloc(8)));
            await client.until(({ type, flags }) => type === frame.ping && flags === 1);
            left.fire(client);
            await goOn.seen;
          }
          client.send(answer(stream));
        }
      });
      const first = sendRequest(rig.port);
      const { closed, frames } = await left.seen;
      assert.equal((await sendRequest(rig.port)).body, "ok");
      goOn.fire();
      assert.equal((await first).body, "ok");
      await closed;
      assert.ok(frames.some(({ type }) => type === frame.goAway));
      for (let again = 0; again < 2; again++) assert.equal((await sendRequest(rig.port)).body, "ok");
      assert.equal(connections, 2);
    });

    it("opens no more streams than the upstream permits, and uses a stream again when it has ended", async (test) => {
      const rig = await startScripted(test, engine, async (client) => {
        client.send(settings([MOST_STREAMS, 1]));
        for (let stream = 1; ; stream += 2) {
          await client.until(isHead(stream));
          const open = client.frames.filter(({ type, stream: id }) => type === frame.headers && id > stream);
          client.send(open.length > 0 ? reset(stream, 1) : answer(stream));
        }
      });
      const all = await Promise.all(Array.from({ length: 10 }, () => sendRequest(rig.port)));
      assert.deepEqual([...new Set(all.map(({ status }) => status))], [200]);
    });

    it("refuses an upstream that permits no streams", async (test) => {
      const rig = await startScripted(test, engine, async (client) => client.send(settings([MOST_STREAMS, 0])));
      assert.equal((await sendRequest(rig.port)).status, 502);
      assert.match(JSON.stringify(rig.log), /it permits no requests/);
    });

    it("sends a body within the windows of the upstream, and follows their changes", async (test) => {
      const lengths: number[] = [];
      const rig = await startScripted(test, engine, async (client) => {
        client.send(settings([INITIAL_WINDOW, 10]));
        const sent = () => client.frames.filter(({ type }) => type === frame.data);
        const total = () => sent().reduce((sum, { payload }) => sum + payload.length, 0);
        for (const [next, grown] of [
          [settings([INITIAL_WINDOW, 15]), 10],
          [frameBytes(frame.windowUpdate, 0, 1, word(20)), 15],
          [frameBytes(frame.windowUpdate, 0, 1, word(65)), 35],
        ] as const) {
          await client.until(() => total() === grown);
          lengths.push(total());
          client.send(next);
        }
        await client.until(({ type, flags }) => type === frame.data && (flags & endStream) !== 0);
        lengths.push(total());
        client.send(answer(1));
      });
      assert.equal((await sendRequest(rig.port, { method: "POST", body: "x".repeat(100) })).body, "ok");
      assert.deepEqual(lengths, [10, 15, 35, 100]);
    });

    it("ends a request whose body the upstream does not accept within write_timeout", async (test) => {
      const ended = signal<number>();
      const rig = await startScripted(
        test,
        engine,
        async (client) => {
          client.send(settings([INITIAL_WINDOW, 0]));
          ended.fire((await client.until(({ type }) => type === frame.reset)).payload.readUInt32BE());
        },
        { service: { write_timeout: 100 } },
      );
      const { status } = await sendRequest(rig.port, { method: "POST", body: Buffer.alloc(1_000_000) });
      assert.deepEqual([status, await ended.seen], [504, CANCEL]);
      assert.match(JSON.stringify(rig.log), /accepted no data for 100 ms \(write_timeout/);
    });

    it("answers PING, and asks for an answer itself when a request was not answered within read_timeout", async (test) => {
      const [pinged, client] = [signal(), signal<FrameClient>()];
      const rig = await startScripted(
        test,
        engine,
        async (own) => {
          client.fire(own);
          own.send(settings(), frameBytes(frame.ping, 0, 0, Buffer.from("12345678")));
          const { payload } = await own.until(({ type, flags }) => type === frame.ping && flags === 1);
          assert.equal(payload.toString(), "12345678");
          const asked = await own.until(({ type, flags }) => type === frame.ping && flags === 0);
          own.send(frameBytes(frame.ping, 1, 0, asked.payload));
          pinged.fire();
          own.send(answer((await own.until(isHead(3))).stream));
        },
        { service: { read_timeout: 100 } },
      );
      assert.equal((await sendRequest(rig.port)).status, 504);
      await pinged.seen;
      await (await client.seen).until(({ type }) => type === frame.reset);
    });

    it("resets the stream when the client disconnects, and ignores what the upstream still sends", async (test) => {
      const rig = await startScripted(test, engine, async (client) => {
        client.send(settings());
        await client.until(isHead(1));
        client.send(head(1, ok), data(1, "x".repeat(10), 0));
        await client.until(({ type, stream }) => type === frame.reset && stream === 1);
        client.send(data(1, "late", 0), head(1, [["a", "b"]], 5), frameBytes(frame.windowUpdate, 0, 1, word(1)));
        client.send(answer((await client.until(isHead(3))).stream));
      });
      const socket = await dial(test, rig.port);
      socket.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
      await new Promise((resolve) => socket.once("data", resolve));
      socket.destroy();
      assert.equal((await sendRequest(rig.port)).body, "ok");
    });

    it("reads a response no faster than its client, and other responses of the connection meanwhile", async (test) => {
      const stalled = signal<number>();
      const rig = await startScripted(test, engine, async (client) => {
        client.send(settings());
        await client.until(isHead(1));
        client.send(head(1, ok));
        stalled.fire(await fillWindow(client));
        await client.until(isHead(3));
        client.send(answer(3));
      });
      const socket = (await dial(test, rig.port)).pause();
      socket.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
      assert.ok((await stalled.seen) < MOST_IN_BUFFERS);
      assert.equal((await sendRequest(rig.port)).body, "ok");
    });

    it("passes on a complete response that its client reads after the upstream has closed the connection", async (test) => {
      const closed = signal<number>();
      const rig = await startScripted(test, engine, async (client) => {
        client.send(settings());
        await client.until(isHead(1));
        client.send(head(1, ok));
        const total = await fillWindow(client);
        client.send(data(1, ""));
        client.socket.end();
        await client.closed;
        closed.fire(total);
      });
      const socket = (await dial(test, rig.port)).pause();
      // The request stays incomplete, so its stream is still open when the upstream closes the connection.
      socket.write("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nx");
      const total = await closed.seen;
      let [received, end] = [0, ""];
      const isComplete = await new Promise((resolve) => {
        socket
          .once("close", () => resolve(false))
          .on("data", (piece: Buffer) => {
            received += piece.length;
            end = (end + piece.toString("latin1")).slice(-LAST_CHUNK.length);
            if (end === LAST_CHUNK) resolve(true);
          });
        socket.resume();
      });
      assert.ok(isComplete && received > total);
    });
  });
}

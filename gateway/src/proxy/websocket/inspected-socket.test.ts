/** WebSockets whose messages a plugin inspects, with a real connection to the upstream. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { describe, it, type TestContext } from "node:test";
import type { MessageObserver, MessageVerdict } from "@sluice/plugin-sdk";
import fc from "fast-check";
import { closePayload, FrameBoundaries, opcode, webSocketFrame } from "./frames.ts";
import { InspectedSocket } from "./inspected-socket.ts";

const MASK = Buffer.from([1, 2, 3, 4]);
const text = (message: string | Buffer): Buffer => webSocketFrame(opcode.text, Buffer.from(message), MASK);
const fromServer = (message: string): Buffer => webSocketFrame(opcode.text, Buffer.from(message), null);
const PING = 9;

/** A frame with other bits in its first byte. */
function withFirst(frame: Buffer, first: number): Buffer {
  const changed = Buffer.from(frame);
  changed[0] = first;
  return changed;
}

const verdictOn = (message: string): MessageVerdict => {
  if (message === "fail") throw new Error("the plugin failed");
  if (message === "refuse") return { reply: "refused" };
  if (message === "change") return { forward: "changed" };
  if (message === "end") return { close: 4400, reason: "ended" };
  return null;
};

/** An observer of messages with at most 1000 bytes, which fails on the message `fail`. */
function observing() {
  const observed: string[] = [];
  const observe = (message: Buffer) => {
    if (message.toString() === "fail") throw new Error("the plugin failed");
    observed.push(message.toString());
  };
  return { observed, observer: { limit: 1000, observe } };
}

async function start(test: TestContext, first: Buffer = Buffer.alloc(0), upstream: MessageObserver | null = null) {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const accepted = once(server, "connection");
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  const [far] = (await accepted) as [Socket];
  const errors: unknown[] = [];
  const side = new InspectedSocket({
    socket,
    inspector: { limit: 1000, inspect: verdictOn, upstream },
    first,
    onError: (error) => void errors.push(error),
  });
  test.after(() => {
    side.destroy();
    far.destroy();
    server.close();
  });
  const collect = (from: Socket | InspectedSocket) => {
    const pieces: Buffer[] = [];
    from.on("data", (piece: Buffer) => void pieces.push(piece)).on("error", () => {});
    return {
      bytes: () => Buffer.concat(pieces),
      async until(expected: Buffer) {
        while (!Buffer.concat(pieces).equals(expected)) {
          assert.ok(Buffer.concat(pieces).length <= expected.length, Buffer.concat(pieces).toString("latin1"));
          await once(from, "data");
        }
      },
    };
  };
  return { side, far, errors, toUpstream: collect(far), toClient: collect(side) };
}

/** What the client sends, and what the upstream gets of it. */
const forwarded: readonly (readonly [what: string, sent: readonly Buffer[], got: readonly Buffer[]])[] = [
  ["a message", [text("hello")], [text("hello")]],
  ["a message of several frames", [frames("hel", "lo")], [frames("hel", "lo")]],
  ["a ping within a message", [pinged()], [webSocketFrame(PING, Buffer.from("p"), MASK), frames("hel", "lo")]],
  ["no refused message", [text("refuse"), text("hello")], [text("hello")]],
  ["no refused message of several frames", [frames("ref", "use"), text("hello")], [text("hello")]],
  [
    "a Close frame",
    [webSocketFrame(opcode.close, closePayload(1000, ""), MASK)],
    [webSocketFrame(opcode.close, closePayload(1000, ""), MASK)],
  ],
  ["a message of 126 bytes", [text("x".repeat(126))], [text("x".repeat(126))]],
];

function frames(...parts: readonly string[]): Buffer {
  return Buffer.concat(
    parts.map((part, at) => {
      const frame = webSocketFrame(at === 0 ? opcode.text : opcode.continuation, Buffer.from(part), MASK);
      return at + 1 < parts.length ? withFirst(frame, (frame[0] ?? 0) & 0x7f) : frame;
    }),
  );
}

function pinged(): Buffer {
  const whole = frames("hel", "lo");
  const firstFrame = 2 + 4 + 3;
  const ping = webSocketFrame(PING, Buffer.from("p"), MASK);
  return Buffer.concat([whole.subarray(0, firstFrame), ping, whole.subarray(firstFrame)]);
}

/** What the client sends, and the code with which the WebSocket is closed. */
const closed: readonly (readonly [what: string, sent: Buffer, code: number, reason: string])[] = [
  ["a message that the plugin does not accept", text("end"), 4400, "ended"],
  ["a message on which the plugin fails", text("fail"), 1011, "An unexpected error occurred"],
  ["a binary message", webSocketFrame(opcode.binary, Buffer.from("x"), MASK), 1003, "Messages must be text"],
  ["a frame without a mask", fromServer("x"), 1002, "A frame has no mask"],
  ["a compressed message", withFirst(text("x"), 0xc1), 1002, "A frame uses an extension that was not agreed"],
  ["an unknown opcode", webSocketFrame(3, Buffer.from("x"), MASK), 1002, "A frame has an unknown opcode"],
  [
    "a continuation of nothing",
    webSocketFrame(opcode.continuation, Buffer.from("x"), MASK),
    1002,
    "The frames of messages are mixed",
  ],
  [
    "a message within another",
    Buffer.concat([withFirst(text("a"), 1), text("b")]),
    1002,
    "The frames of messages are mixed",
  ],
  [
    "a control frame in parts",
    withFirst(webSocketFrame(PING, Buffer.from("x"), MASK), PING),
    1002,
    "A control frame is too long",
  ],
  ["text that is not UTF-8", text(Buffer.from([0xff])), 1007, "A message is not UTF-8"],
  ["a message that is too long", text("x".repeat(1001)), 1009, "A message has more than 1000 bytes"],
  [
    "only the head of a message that is too long",
    text("x".repeat(70_000)).subarray(0, 20),
    1009,
    "A message has more than 1000 bytes",
  ],
  [
    "parts that are too long together",
    frames("x".repeat(600), "x".repeat(401)),
    1009,
    "A message has more than 1000 bytes",
  ],
  ["a message of too many frames", frames(...Array(1002).fill("")), 1009, "A message has more than 1000 frames"],
];

/** Frames of the upstream without masks. */
const parts = (...payloads: readonly string[]): Buffer =>
  Buffer.concat(
    payloads.map((payload, at) => {
      const frame = webSocketFrame(at === 0 ? opcode.text : opcode.continuation, Buffer.from(payload), null);
      return at + 1 < payloads.length ? withFirst(frame, (frame[0] ?? 0) & 0x7f) : frame;
    }),
  );

const ping = webSocketFrame(PING, Buffer.from("p"), null);
const pingedParts = (): Buffer => {
  const whole = parts("hel", "lo");
  const firstFrame = 2 + 3;
  return Buffer.concat([whole.subarray(0, firstFrame), ping, whole.subarray(firstFrame)]);
};

/** What the upstream sends, and the messages of it that the plugin observes. */
const observedMessages: readonly (readonly [what: string, sent: Buffer, observed: readonly string[]])[] = [
  ["a message", fromServer("hello"), ["hello"]],
  ["an empty message", fromServer(""), [""]],
  ["a message of several frames", parts("hel", "", "lo"), ["hello"]],
  ["a message with a ping within it", pingedParts(), ["hello"]],
  ["a message of 1000 bytes", fromServer("x".repeat(1000)), ["x".repeat(1000)]],
  ["no message that is too long", Buffer.concat([fromServer("x".repeat(1001)), fromServer("next")]), ["next"]],
  ["no message whose parts are too long", Buffer.concat([parts("x".repeat(999), "xx"), fromServer("next")]), ["next"]],
  ["no message in thousands of parts", Buffer.concat([parts(...Array(5002).fill("")), fromServer("next")]), ["next"]],
  ["no binary message", webSocketFrame(opcode.binary, Buffer.from("x"), null), []],
  ["no compressed message", withFirst(fromServer("x"), 0xc1), []],
  ["no frame with a mask", text("x"), []],
  ["no ping and no Close frame", Buffer.concat([ping, webSocketFrame(opcode.close, closePayload(1000, ""), null)]), []],
  ["no message that has not ended", fromServer("hello").subarray(0, 5), []],
];

describe("an inspected WebSocket", () => {
  for (const [what, sent, expected] of observedMessages)
    it(`shows the plugin ${what} of the upstream, and passes all bytes, however they are split`, async (test) => {
      for (const size of [1, 3, 7, sent.length]) {
        if (sent.length / size > 3000) continue;
        const { observed, observer } = observing();
        const { far, toClient } = await start(test, Buffer.alloc(0), observer);
        far.setNoDelay(true);
        for (let at = 0; at < sent.length; at += size) {
          far.write(sent.subarray(at, at + size));
          await toClient.until(sent.subarray(0, at + size));
        }
        assert.deepEqual(observed, expected);
      }
    });

  it("shows the plugin a message of the upstream before the client gets its end", async (test) => {
    const { observed, observer } = observing();
    const { side, far } = await start(test, fromServer("first"), observer);
    assert.deepEqual(observed, ["first"]);
    const seen = new Promise((resolve) => {
      side.on("data", (piece: Buffer) => {
        if (piece.includes("second")) resolve([...observed]);
      });
    });
    far.write(fromServer("second"));
    assert.deepEqual(await seen, ["first", "second"]);
  });

  it("goes on after the plugin has failed to observe a message", async (test) => {
    const { observed, observer } = observing();
    const { far, errors, toClient } = await start(test, Buffer.alloc(0), observer);
    const sent = Buffer.concat([fromServer("fail"), fromServer("next")]);
    far.write(sent);
    await toClient.until(sent);
    assert.deepEqual([observed, errors.length], [["next"], 1]);
  });

  for (const [what, sent, got] of forwarded)
    it(`forwards ${what}`, async (test) => {
      const { side, toUpstream } = await start(test);
      for (const frame of sent) side.write(frame);
      await toUpstream.until(Buffer.concat(got));
    });

  it("forwards another text if the plugin changes the message", async (test) => {
    const { side, far, toUpstream } = await start(test);
    side.write(text("change"));
    const expected = text("changed");
    while (toUpstream.bytes().length < expected.length) await once(far, "data");
    const frame = toUpstream.bytes();
    const mask = frame.subarray(2, 6);
    assert.deepEqual(frame, webSocketFrame(opcode.text, Buffer.from("changed"), mask));
  });

  it("forwards the same bytes however the client's frames are split", async (test) => {
    const messages = Buffer.concat([text("hello"), pinged(), text("refuse"), frames("a", "b", "c")]);
    const expected = Buffer.concat([
      text("hello"),
      webSocketFrame(PING, Buffer.from("p"), MASK),
      frames("hel", "lo"),
      frames("a", "b", "c"),
    ]);
    for (const size of [1, 2, 3, 7, 20]) {
      const { side, toUpstream } = await start(test);
      for (let at = 0; at < messages.length; at += size) side.write(messages.subarray(at, at + size));
      await toUpstream.until(expected);
    }
  });

  it("does not read memory again that the client's bytes were in, which other connections may use by then", async (test) => {
    for (const sent of [text("hello"), frames("hel", "lo")])
      for (let at = 1; at < sent.length; at++) {
        const { side, toUpstream } = await start(test);
        const begun = Buffer.from(sent.subarray(0, at));
        await new Promise((resolve) => side.write(begun, resolve));
        begun.fill(0);
        side.write(sent.subarray(at));
        await toUpstream.until(sent);
      }
  });

  it("sends a reply of the plugin to the client", async (test) => {
    const { side, toClient } = await start(test, fromServer("first"));
    side.write(text("refuse"));
    await toClient.until(Buffer.concat([fromServer("first"), fromServer("refused")]));
  });

  it("sends a reply only after the frame of the upstream that has begun", async (test) => {
    const { side, far, toClient } = await start(test);
    const frame = fromServer("a long message");
    far.write(frame.subarray(0, 5));
    await toClient.until(frame.subarray(0, 5));
    side.write(text("refuse"));
    far.write(Buffer.concat([frame.subarray(5), fromServer("next")]));
    await toClient.until(Buffer.concat([frame, fromServer("refused"), fromServer("next")]));
  });

  for (const [what, sent, code, reason] of closed)
    it(`is closed after ${what}`, async (test) => {
      const { side, far, errors, toUpstream, toClient } = await start(test);
      const ended = once(side, "end");
      const farEnded = once(far, "end");
      side.write(sent);
      side.write(text("later"));
      await ended;
      assert.deepEqual(toClient.bytes(), webSocketFrame(opcode.close, closePayload(code, reason), null));
      await farEnded;
      const mask = toUpstream.bytes().subarray(2, 6);
      assert.deepEqual(toUpstream.bytes(), webSocketFrame(opcode.close, closePayload(1001, ""), mask));
      assert.equal(errors.length, code === 1011 ? 1 : 0);
    });

  it("forwards what came before the message that closes it, and nothing that came after", async (test) => {
    const { side, far, toUpstream, toClient } = await start(test);
    const [ended, farEnded] = [once(side, "end"), once(far, "end")];
    const ping = webSocketFrame(PING, Buffer.from("p"), MASK);
    side.write(Buffer.concat([text("hello"), text("end"), ping, text("later")]));
    await Promise.all([ended, farEnded]);
    assert.deepEqual(toClient.bytes(), webSocketFrame(opcode.close, closePayload(4400, "ended"), null));
    const got = toUpstream.bytes();
    const hello = text("hello");
    const close = webSocketFrame(
      opcode.close,
      closePayload(1001, ""),
      got.subarray(hello.length + 2, hello.length + 6),
    );
    assert.deepEqual(got, Buffer.concat([hello, close]));
  });

  it("is closed when too many replies wait for the end of a frame of the upstream", async (test) => {
    const { side, far, toClient } = await start(test);
    const begun = fromServer("a long message").subarray(0, 5);
    far.write(begun);
    await toClient.until(begun);
    const closed = once(side, "close");
    const many = Buffer.concat(Array(10_000).fill(text("refuse")));
    for (let sent = 0; sent < 20 && !side.destroyed; sent++) side.write(many);
    assert.equal(side.destroyed, true);
    await closed;
  });

  it("ends when the upstream ends, and closes when the upstream is gone", async (test) => {
    const { side, far, toClient } = await start(test);
    far.end(fromServer("bye"));
    await once(side, "end");
    assert.deepEqual(toClient.bytes(), fromServer("bye"));
    side.end();
    await once(side, "close");
    const other = await start(test);
    const gone = once(other.side, "close");
    other.side.write(text("hello"));
    await other.toUpstream.until(text("hello"));
    other.far.destroy();
    await gone;
  });
});

describe("the boundaries of frames", () => {
  it("are found however the bytes are split", () => {
    const lengths = fc.array(fc.integer({ min: 0, max: 300 }), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(lengths, fc.integer({ min: 1, max: 40 }), (sizes, split) => {
        const all = sizes.map((size) => fromServer("x".repeat(size)));
        const bytes = Buffer.concat(all);
        const found: number[] = [];
        const boundaries = new FrameBoundaries();
        for (let at = 0; at < bytes.length; at += split) {
          let piece = bytes.subarray(at, at + split);
          while (piece.length > 0) {
            const end = boundaries.pass(piece);
            piece = piece.subarray(end);
            if (boundaries.isBetweenFrames) found.push(Math.min(at + split, bytes.length) - piece.length);
          }
        }
        let end = 0;
        assert.deepEqual(
          found,
          all.map((frame) => (end += frame.length)),
        );
      }),
    );
  });
});

/**
 * Tests of Node internals. With an incompatible Node version these tests fail first; the gateway itself still works.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { attachReadBuffer } from "./accepted-socket.ts";
import { MIN_SLAB_BYTES, sharedSlab } from "./slab.ts";

/** Returns both ends of a connection. */
async function connected(context: TestContext): Promise<{ readonly far: Socket; readonly near: Socket }> {
  const server = createServer({ allowHalfOpen: true });
  context.after(() => server.close());
  await once(server.listen(0, "127.0.0.1"), "listening");
  const far = connect((server.address() as AddressInfo).port, "127.0.0.1");
  const [near] = (await once(server, "connection")) as [Socket];
  context.after(() => {
    far.destroy();
    near.destroy();
  });
  return { far, near };
}

test("an accepted socket with a read buffer reads into the shared slab, and emits no data event", async (context) => {
  const { far, near } = await connected(context);
  const inlet = attachReadBuffer(near, { isTls: false });
  assert.ok(inlet);
  const emitted: string[] = [];
  near.on("data", () => emitted.push("data"));
  const read = new Promise<string>((resolve) => {
    inlet.read = (view) => {
      assert.equal(view.bytes, sharedSlab.bytes);
      resolve(view.latin1());
    };
  });
  far.write("hello");
  assert.equal(await read, "hello");
  const ended = once(near, "end");
  far.end();
  await ended;
  assert.deepEqual(emitted, []);
});

test("a paused accepted socket reads nothing", async (context) => {
  const { far, near } = await connected(context);
  const inlet = attachReadBuffer(near, { isTls: false });
  assert.ok(inlet);
  let size = 0;
  const first = Promise.withResolvers<void>();
  const whole = Promise.withResolvers<void>();
  const content = Buffer.alloc(8 * 1024 * 1024, "x");
  inlet.read = ({ length }) => {
    if (size === 0) near.pause();
    size += length;
    first.resolve();
    if (size === content.length) whole.resolve();
  };
  near.resume();
  far.write(content);
  await first.promise;
  const before = size;
  for (let turn = 0; turn < 100; turn++) await new Promise(setImmediate);
  assert.equal(size, before);
  near.resume();
  await whole.promise;
});

test("data put back into a socket is emitted before its read buffer receives later data", async (context) => {
  const { far, near } = await connected(context);
  near.pause().unshift(Buffer.from("one "));
  const inlet = attachReadBuffer(near, { isTls: false });
  assert.ok(inlet);
  let text = "";
  const whole = Promise.withResolvers<void>();
  const take = (more: string) => {
    text += more;
    if (text === "one two") whole.resolve();
  };
  near.on("data", (chunk: Buffer) => take(chunk.toString()));
  inlet.read = (view) => take(view.latin1());
  far.write("two");
  near.resume();
  await whole.promise;
});

test("a socket in the middle of a long body reads into its own slab", async (context) => {
  const { far, near } = await connected(context);
  const inlet = attachReadBuffer(near, { isTls: false });
  assert.ok(inlet);
  const buffers = new Set<Buffer>();
  const long = Promise.withResolvers<void>();
  inlet.read = ({ bytes, length }) => {
    inlet.isLong = true;
    buffers.add(bytes);
    if (bytes !== sharedSlab.bytes && length >= MIN_SLAB_BYTES) long.resolve();
  };
  far.write(Buffer.alloc(8 * 1024 * 1024));
  await long.promise;
  assert.ok(buffers.size > 1);
});

test("no read buffer is attached to a socket without a handle", () => {
  assert.equal(attachReadBuffer(new Socket(), { isTls: false }), null);
});

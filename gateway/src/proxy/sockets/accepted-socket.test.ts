/**
 * Tests of Node internals. With an incompatible Node version these tests fail first; the gateway itself still works.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { attachReadBuffer } from "./accepted-socket.ts";
import { sharedSlab, WORTHWHILE } from "./slab.ts";

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

test("an accepted socket reads into the slab that all share, and tells nothing by data", async (context) => {
  const { far, near } = await connected(context);
  const inlet = attachReadBuffer(near);
  assert.ok(inlet);
  const told: string[] = [];
  near.on("data", () => told.push("data"));
  const read = new Promise<string>((resolve) => {
    inlet.read = (slab, size) => {
      assert.equal(slab, sharedSlab);
      resolve(slab.bytes.toString("latin1", 0, size));
    };
  });
  far.write("hello");
  assert.equal(await read, "hello");
  const ended = once(near, "end");
  far.end();
  await ended;
  assert.deepEqual(told, []);
});

test("it can be paused, and then reads nothing", async (context) => {
  const { far, near } = await connected(context);
  const inlet = attachReadBuffer(near);
  assert.ok(inlet);
  let size = 0;
  const first = Promise.withResolvers<void>();
  const whole = Promise.withResolvers<void>();
  const content = Buffer.alloc(8 * 1024 * 1024, "x");
  inlet.read = (_, more) => {
    if (size === 0) near.pause();
    size += more;
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

test("what is put back comes by data, and what is read then behind it", async (context) => {
  const { far, near } = await connected(context);
  near.pause().unshift(Buffer.from("one "));
  const inlet = attachReadBuffer(near);
  assert.ok(inlet);
  let text = "";
  const whole = Promise.withResolvers<void>();
  const take = (more: string) => {
    text += more;
    if (text === "one two") whole.resolve();
  };
  near.on("data", (chunk: Buffer) => take(chunk.toString()));
  inlet.read = (slab, size) => take(slab.bytes.toString("latin1", 0, size));
  far.write("two");
  near.resume();
  await whole.promise;
});

test("in the middle of a long body it reads into a slab of its own", async (context) => {
  const { far, near } = await connected(context);
  const inlet = attachReadBuffer(near);
  assert.ok(inlet);
  const slabs = new Set<unknown>();
  const long = Promise.withResolvers<void>();
  inlet.read = (slab, size) => {
    inlet.isLong = true;
    slabs.add(slab);
    if (slab !== sharedSlab && size >= WORTHWHILE) long.resolve();
  };
  far.write(Buffer.alloc(8 * 1024 * 1024));
  await long.promise;
  assert.ok(slabs.size > 1);
});

test("a socket that Node holds otherwise goes on as it is", () => {
  assert.equal(attachReadBuffer(new Socket()), null);
});

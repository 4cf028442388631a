import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { listen, portOf } from "../../../../test/conformance/engine/proxy-rig.ts";
import { ClientMemory } from "../listener/client-memory.ts";
import { joinSockets } from "./tunnel.ts";

/** Both ends of a connection: the peer's, and that of the tunnel. */
async function connection(context: TestContext): Promise<readonly [peer: Socket, own: Socket]> {
  const server = await listen(context, createServer({ allowHalfOpen: true }));
  const accepted = once(server, "connection") as Promise<[Socket]>;
  const peer = connect({ port: portOf(server), host: "127.0.0.1", allowHalfOpen: true });
  context.after(() => peer.destroy());
  const [own] = await accepted;
  return [peer.on("error", () => {}), own];
}

async function sizeOf(socket: Socket): Promise<number> {
  let size = 0;
  for await (const piece of socket) size += piece.length;
  return size;
}

for (const slow of ["client", "upstream"] as const)
  test(`a slow ${slow} gets the last bytes although the other side has closed its connection`, async (context) => {
    const [[clientPeer, client], [upstreamPeer, upstream]] = [await connection(context), await connection(context)];
    const closed = Promise.withResolvers<void>();
    const account = new ClientMemory(1_000_000, { warn() {} }).account(() => {});
    joinSockets({ client, upstream, silence: 60_000, account: () => account, onClose: closed.resolve });
    const [reader, own, sender] =
      slow === "client" ? [clientPeer, client, upstreamPeer] : [upstreamPeer, upstream, clientPeer];
    const other = slow === "client" ? upstream : client;
    reader.pause().end();
    sender.resume();
    await once(sender, "end");
    let sent = 0;
    // Until the kernel takes no more bytes for the reader.
    while (own.writableLength === 0) {
      sender.write(Buffer.alloc(1000));
      sent += 1000;
      while (other.bytesRead < sent) await nextTurn();
    }
    sender.end();
    await once(other, "close");
    assert.ok(own.writableLength > 0);
    assert.equal(await sizeOf(reader), sent);
    await closed.promise;
  });

test("a recipient that reads nothing more is disconnected after the silence", { timeout: 10_000 }, async (context) => {
  const [[clientPeer, client], [upstreamPeer, upstream]] = [await connection(context), await connection(context)];
  const closed = Promise.withResolvers<void>();
  const account = new ClientMemory(1_000_000, { warn() {} }).account(() => {});
  joinSockets({ client, upstream, silence: 300, account: () => account, onClose: closed.resolve });
  upstreamPeer.pause().end();
  clientPeer.resume();
  let sent = 0;
  while (upstream.writableLength === 0) {
    clientPeer.write(Buffer.alloc(10_000));
    sent += 10_000;
    while (client.bytesRead < sent) await nextTurn();
  }
  clientPeer.end();
  await closed.promise;
});

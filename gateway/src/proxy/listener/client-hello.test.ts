import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { type TestContext, test } from "node:test";
import { connect } from "node:tls";
import { ClientHelloReader } from "./client-hello.ts";

const readHello = (bytes: Buffer) => new ClientHelloReader().read(bytes);

/** The first bytes that Node's own TLS client sends. */
async function greeting(
  context: TestContext,
  servername: string,
  ALPNProtocols: readonly string[] = [],
): Promise<Buffer> {
  const server = createServer().listen(0, "127.0.0.1");
  context.after(() => server.close());
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const alpn = ALPNProtocols.length > 0 && { ALPNProtocols: [...ALPNProtocols] };
  const client = connect({ port, host: "127.0.0.1", servername, ...alpn });
  client.on("error", () => {});
  const [near] = await once(server, "connection");
  const [bytes] = await once(near, "data");
  client.destroy();
  near.destroy();
  return bytes;
}

/** The handshake message in `bytes`, split into records of `size` bytes. */
function inRecords(bytes: Buffer, size: number): Buffer {
  const message = bytes.subarray(5);
  const pieces: Buffer[] = [];
  for (let at = 0; at < message.length; at += size) {
    const piece = message.subarray(at, at + size);
    pieces.push(Buffer.from([22, 3, 1, piece.length >> 8, piece.length & 255]), piece);
  }
  return Buffer.concat(pieces);
}

for (const [servername, serverName, protocols] of [
  ["a.example", "a.example", []],
  ["A.Example", "A.Example", ["acme-tls/1"]],
  ["", null, ["h2", "http/1.1"]],
] as const) {
  test(`the requested server name and the protocols are read once the ClientHello is complete: '${servername}', ${protocols}`, async (context) => {
    const whole = await greeting(context, servername, protocols);
    for (const bytes of [whole, inRecords(whole, 100), inRecords(whole, 1)]) {
      assert.deepEqual(readHello(bytes), { serverName, protocols });
      assert.deepEqual(readHello(Buffer.concat([bytes, Buffer.from("more")])), { serverName, protocols });
      for (let size = 0; size < bytes.length; size += 37) assert.equal(readHello(bytes.subarray(0, size)), null);
    }
  });
}

test("of many protocols, only the first 16 are read", async (context) => {
  const protocols = Array.from({ length: 100 }, (_, index) => `p${index}`);
  assert.deepEqual(readHello(await greeting(context, "a.example", protocols))?.protocols, protocols.slice(0, 16));
});

const record = (...message: readonly number[]) => Buffer.from([22, 3, 1, 0, message.length, ...message]);
for (const [says, bytes] of [
  ["an HTTP request", Buffer.from("GET / HTTP/1.1\r\n\r\n")],
  ["another handshake message", record(2, 0, 0, 1, 0)],
  ["an empty record", Buffer.from([22, 3, 1, 0, 0])],
  ["a truncated ClientHello", record(1, 0, 0, 2, 3, 3)],
  ["an alert", Buffer.from([21, 3, 1, 0, 2, 2, 40])],
] as const) {
  test(`${says} has no server name`, () => assert.deepEqual(readHello(bytes), { serverName: null, protocols: [] }));
}

test("a ClientHello can arrive byte by byte", async (context) => {
  const whole = inRecords(await greeting(context, "a.example"), 3);
  const reader = new ClientHelloReader();
  for (let size = 1; size < whole.length; size++) assert.equal(reader.read(whole.subarray(0, size)), null);
  assert.deepEqual(reader.read(whole), { serverName: "a.example", protocols: [] });
});

test("reading a ClientHello with a changed byte never throws", async (context) => {
  const whole = await greeting(context, "a.example");
  for (let at = 5; at < whole.length; at++) {
    for (const value of [0, 1, 255]) {
      const changed = Buffer.from(whole);
      changed[at] = value;
      readHello(changed);
    }
  }
});

import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { test } from "node:test";
import { connect, createSecureContext } from "node:tls";
import { makeAuthority } from "../../../../tools/programs/certificates.ts";
import { ClientTlsSocket } from "./client-tls-socket.ts";

/** More than the kernel takes for a client that does not read. */
const LARGE = 64 * 1024 * 1024;

test("the listeners of both sockets are called if the TCP connection is destroyed while data waits for the client", async (context) => {
  const authority = await makeAuthority();
  const { certificate: cert, key } = await authority.issue({ name: "a", sans: ["a.example"], usage: "server" });
  const secureContext = createSecureContext({ cert, key });
  const server = createServer().listen(0, "127.0.0.1");
  context.after(() => server.close());
  await once(server, "listening");
  const client = connect({ port: (server.address() as AddressInfo).port, rejectUnauthorized: false });
  client.on("error", () => undefined).pause();
  context.after(() => client.destroy());
  const [carrier] = (await once(server, "connection")) as [Socket];
  const closed = { carrier: Promise.withResolvers<void>(), socket: Promise.withResolvers<void>() };
  carrier.on("close", () => closed.carrier.resolve());
  const socket = new ClientTlsSocket(carrier, null, { isServer: true, secureContext });
  socket.on("error", () => undefined).on("close", () => closed.socket.resolve());
  await once(socket, "secure");
  assert.equal(socket.write(Buffer.alloc(LARGE)), false);
  carrier.destroy();
  await Promise.all([closed.carrier.promise, closed.socket.promise]);
});

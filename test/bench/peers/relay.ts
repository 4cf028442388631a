/**
 * The lower bound: the cost of Node's sockets in a proxy that does nothing else. It forwards bytes unparsed on
 * keep-alive connections, and assumes that each request and each response arrives in one chunk. It reads and writes
 * like Sluice, but with public APIs only. Therefore only its upstream connections share a read buffer; in Sluice,
 * client connections share the buffer too. Prints its port.
 */
import { connect, createServer, type Socket } from "node:net";

const [upstream = ""] = process.argv.slice(2);
const port = Number(new URL(upstream).port);

interface Kept {
  readonly socket: Socket;
  client: Socket | null;
}

const idle: Kept[] = [];
const bytes = Buffer.alloc(65_536);

function open(): Kept {
  const callback = (size: number) => {
    kept.client?.write(bytes.toString("latin1", 0, size), "latin1");
    kept.client = null;
    idle.push(kept);
    return true;
  };
  const socket = connect({ host: "127.0.0.1", port, noDelay: true, onread: { buffer: bytes, callback } });
  const kept: Kept = { socket, client: null };
  return kept;
}

const server = createServer({ noDelay: true }, (client) => {
  client.on("data", (chunk: Buffer) => {
    const kept = idle.pop() ?? open();
    kept.client = client;
    kept.socket.write(chunk.toString("latin1"), "latin1");
  });
  // The load generator closes its connections abruptly.
  client.on("error", () => client.destroy());
});
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  if (address !== null && typeof address === "object") console.log(`listening on ${address.port}`);
});
process.once("SIGTERM", () => process.exit(0));

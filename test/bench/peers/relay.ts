/**
 * The floor: what Node's sockets cost a proxy that does nothing. Bytes pass unread, a request in one piece and its answer
 * in one, on kept connections; read and written as Sluice does it, but for its one buffer of the upstream's side, by
 * public means alone. Prints its port.
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
  // Who measures breaks off.
  client.on("error", () => client.destroy());
});
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  if (address !== null && typeof address === "object") console.log(`listening on ${address.port}`);
});
process.once("SIGTERM", () => process.exit(0));

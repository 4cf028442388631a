import { once } from "node:events";
import { connect } from "node:tls";

/** Asks a server for a second handshake on a connection of TLS 1.2; resolves to why there is none, null when there was one. */
export async function renegotiationError(address: {
  readonly host: string;
  readonly port: number;
}): Promise<Error | null> {
  const options = { ...address, maxVersion: "TLSv1.2", servername: "a.example", rejectUnauthorized: false } as const;
  const socket = connect(options);
  await once(socket, "secureConnect");
  const error = await new Promise<Error | null>((resolve) => {
    socket.once("error", resolve);
    socket.renegotiate({ rejectUnauthorized: false }, resolve);
  });
  socket.destroy();
  return error;
}

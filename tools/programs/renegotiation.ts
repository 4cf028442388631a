import { once } from "node:events";
import { connect } from "node:tls";

/** Requests a renegotiation on a TLS 1.2 connection; resolves to the error, or to null when it succeeded. */
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

/** Checks whether an address is free, because several sockets with `reusePort` may listen on one address. */
import { createServer, type Server } from "node:net";
import type { PortFailure } from "../../proxy/listener/document-ports.ts";
import type { ListenAddress } from "../../proxy/settings.ts";

/** Null: the port is free. */
export const portFailureOf = (address: ListenAddress): Promise<PortFailure | null> =>
  requireFreePorts([address]).then(
    () => null,
    ({ code }: NodeJS.ErrnoException) => ({ port: address.port, code }),
  );

/**
 * Rejects as a listener would (EADDRINUSE, EACCES, ...) when an address cannot be used, or two of them exclude each
 * other. Port 0 is always free.
 */
export async function requireFreePorts(addresses: readonly ListenAddress[]): Promise<void> {
  const open: Server[] = [];
  try {
    for (const { host, port } of addresses)
      if (port !== 0) {
        const server = createServer();
        await new Promise<void>((resolve, reject) => {
          server.once("error", reject);
          server.listen({ host, port }, resolve);
        });
        open.push(server);
      }
  } finally {
    await Promise.all(open.map((server) => new Promise((resolve) => server.close(resolve))));
  }
}

/** Checks whether an address is free, because several sockets with `reusePort` may listen on one address. */
import { createServer } from "node:net";
import type { PortFailure } from "../../proxy/listener/document-ports.ts";
import type { ListenAddress } from "../../proxy/settings.ts";

/** Null: the port is free. */
export const portFailureOf = (address: ListenAddress): Promise<PortFailure | null> =>
  requireFreePort(address).then(
    () => null,
    ({ code }: NodeJS.ErrnoException) => ({ port: address.port, code }),
  );

/** Rejects as a listener would (EADDRINUSE, EACCES, ...) when the address cannot be used. Port 0 is always free. */
export async function requireFreePort({ host, port }: ListenAddress): Promise<void> {
  if (port === 0) return;
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port }, resolve);
  });
  await new Promise((resolve) => server.close(resolve));
}

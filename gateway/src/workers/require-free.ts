/** Whether an address can be listened on by this process alone. */
import { createServer } from "node:net";
import type { ListenAddress } from "../proxy/settings.ts";

/** Rejects as a listener would (EADDRINUSE, EACCES, ...). A free port is always free. */
export async function requireFree({ host, port }: ListenAddress): Promise<void> {
  if (port === 0) return;
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port }, resolve);
  });
  await new Promise((resolve) => server.close(resolve));
}

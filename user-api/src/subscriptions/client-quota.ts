/** Limits the connections and memory that each client holds, so that one client cannot exhaust them for all. */
import type { SubscriptionLimits } from "../limits/limits.ts";

export interface ClientQuota {
  /**
   * Reserves memory for an operation. Returns a function that releases it; null: the client's limit is exceeded.
   *
   * @param key Operations of the client with the same key share memory, which is counted once.
   */
  reserve(bytes: number, key?: string): (() => void) | null;
  /** Call this when the connection has ended. Its operations release their memory themselves. */
  leave(): void;
}

/** Counts a new connection of the client, and returns the quota for this connection. Null: the limit is reached. */
export type EnterClient = (client: string) => ClientQuota | null;

interface Client {
  connections: number;
  bytes: number;
  /** The number of operations that share a key; a symbol is the key of a single operation. */
  readonly shared: Map<string | symbol, number>;
}

const once = (end: () => void): (() => void) => {
  let ended = false;
  return () => {
    if (!ended) end();
    ended = true;
  };
};

type QuotaLimits = Pick<SubscriptionLimits, "clientConnections" | "clientBytes">;

export function makeClientQuotas({ clientConnections, clientBytes }: QuotaLimits): EnterClient {
  const clients = new Map<string, Client>();

  return (name) => {
    const client = clients.getOrInsertComputed(name, () => ({ connections: 0, bytes: 0, shared: new Map() }));
    if (clientConnections > 0 && client.connections >= clientConnections) return null;
    client.connections += 1;
    const { shared } = client;
    function forget(): void {
      if (client.connections === 0 && shared.size === 0) clients.delete(name);
    }
    return {
      reserve(bytes, key: string | symbol = Symbol()) {
        const sharers = shared.get(key) ?? 0;
        if (sharers === 0 && client.bytes + bytes > clientBytes) return null;
        if (sharers === 0) client.bytes += bytes;
        shared.set(key, sharers + 1);
        return once(() => {
          const left = (shared.get(key) ?? 1) - 1;
          if (left > 0) {
            shared.set(key, left);
            return;
          }
          shared.delete(key);
          client.bytes -= bytes;
          forget();
        });
      },
      leave: once(() => {
        client.connections -= 1;
        forget();
      }),
    };
  };
}

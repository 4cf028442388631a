/** Limits the connections and memory that each client holds, so that one client cannot exhaust them for all. */

/** One connection of a client. */
export interface ClientQuota {
  /** Reserves memory for an operation. Returns a function that releases it; null: the client's limit is exceeded. */
  reserve(bytes: number): (() => void) | null;
  /** Like `reserve`, for memory that all operations of the client with this key share: counted once. */
  reserveShared(key: string, bytes: number): (() => void) | null;
  /** The connection has ended. Its operations release their memory themselves. */
  leave(): void;
}

export interface ClientQuotas {
  /** Counts a new connection of the client; null: its limit is reached. */
  enter(client: string): ClientQuota | null;
}

export interface ClientQuotaOptions {
  /** Connections per client; 0: unlimited. */
  readonly clientConnections: number;
  /** Bytes of memory for the operations of one client. */
  readonly clientBytes: number;
}

interface Client {
  readonly name: string;
  connections: number;
  bytes: number;
  /** The number of operations that share a key; a symbol is the key of a single operation. */
  readonly shared: Map<string | symbol, number>;
}

const once = (end: () => void): (() => void) => {
  let ended = false;
  return () => {
    if (ended) return;
    ended = true;
    end();
  };
};

export function makeClientQuotas({ clientConnections, clientBytes }: ClientQuotaOptions): ClientQuotas {
  const clients = new Map<string, Client>();

  function forget(client: Client): void {
    if (client.connections === 0 && client.shared.size === 0 && clients.get(client.name) === client) {
      clients.delete(client.name);
    }
  }

  function reserve(client: Client, key: string | symbol, bytes: number): (() => void) | null {
    const { shared } = client;
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
      forget(client);
    });
  }

  return {
    enter(name) {
      const client = clients.get(name) ?? { name, connections: 0, bytes: 0, shared: new Map() };
      if (clientConnections > 0 && client.connections >= clientConnections) return null;
      clients.set(name, client);
      client.connections += 1;
      return {
        reserve: (bytes) => reserve(client, Symbol(), bytes),
        reserveShared: (key, bytes) => reserve(client, key, bytes),
        leave: once(() => {
          client.connections -= 1;
          forget(client);
        }),
      };
    },
  };
}

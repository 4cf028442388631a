/** What each client holds by its sockets and event streams, so that none takes what is there for all. */

/** One connection of a client. */
export interface Share {
  /** Counts what an operation keeps. Returns what gives it back; null: the client would hold too much. */
  keep(bytes: number): (() => void) | null;
  /** The same for what all operations of the client share that have the key: counted once. */
  keepShared(key: string, bytes: number): (() => void) | null;
  /** The connection has ended. What its operations keep, they give back themselves. */
  leave(): void;
}

export interface Shares {
  /** A connection more of the client; null: it has as many as it may have. */
  enter(client: string): Share | null;
}

export interface SharesOptions {
  /** Connections that one client may have; 0: any number. */
  readonly clientConnections: number;
  /** Bytes that the operations of one client may keep. */
  readonly clientBytes: number;
}

interface Client {
  readonly name: string;
  connections: number;
  bytes: number;
  /** How many operations share what has the key; a symbol is that of one operation alone. */
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

export function makeShares({ clientConnections, clientBytes }: SharesOptions): Shares {
  const clients = new Map<string, Client>();

  function forget(client: Client): void {
    if (client.connections === 0 && client.shared.size === 0 && clients.get(client.name) === client) {
      clients.delete(client.name);
    }
  }

  function keep(client: Client, key: string | symbol, bytes: number): (() => void) | null {
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
        keep: (bytes) => keep(client, Symbol(), bytes),
        keepShared: (key, bytes) => keep(client, key, bytes),
        leave: once(() => {
          client.connections -= 1;
          forget(client);
        }),
      };
    },
  };
}

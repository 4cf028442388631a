/** Sends datagrams to configured destinations whose addresses the guard allows. */
import { createSocket, type Socket, type SocketOptions } from "node:dgram";
import { isIP } from "node:net";
import type { Datagrams, Destination } from "@sluice/plugin-sdk";
import type { Guard } from "./guard.ts";

export type OpenDatagrams = (destination: Destination) => Datagrams;

/** Milliseconds after which a name is resolved again. */
const RESOLVED_FOR = 30_000;
/**
 * Maximum number of datagrams that are not sent yet (the name is being resolved, or the socket is busy); more are
 * refused.
 */
const MAX_PENDING = 1000;

interface Resolved {
  readonly address: string;
  readonly family: 4 | 6;
  /** The time of `performance.now()` at which the address expires. */
  readonly until: number;
}

export const datagramsBehind =
  (guard: Guard): OpenDatagrams =>
  (destination) =>
    new GuardedDatagrams(guard, destination);

/**
 * The lookup of a socket whose destinations are addresses already. Without it, Node would call `dns.lookup` for every
 * datagram.
 */
const unchanged: SocketOptions["lookup"] = (address, family, done) => done(null, address, Number(family));

class GuardedDatagrams implements Datagrams {
  readonly #guard: Guard;
  readonly #destination: Destination;
  #socket: { readonly socket: Socket; readonly family: 4 | 6 } | null = null;
  #resolved: Resolved | null = null;
  #resolving: Promise<Resolved> | null = null;
  #pending = 0;
  #isClosed = false;

  constructor(guard: Guard, destination: Destination) {
    this.#guard = guard;
    this.#destination = destination;
  }

  async send(data: Buffer): Promise<void> {
    if (this.#isClosed) throw new Error("the socket is closed");
    if (this.#pending >= MAX_PENDING) throw new Error("too many datagrams are waiting to be sent");
    this.#pending++;
    try {
      const { address, family } = await this.#address();
      if (this.#isClosed) throw new Error("the socket is closed");
      await new Promise<void>((resolve, reject) => {
        this.#open(family).send(data, this.#destination.port, address, (error) => {
          if (error) reject(error);
          else resolve();
        });
      });
    } finally {
      this.#pending--;
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#socket?.socket.close();
    this.#socket = null;
  }

  #address(): Resolved | Promise<Resolved> {
    const known = this.#resolved;
    // While an earlier datagram waits for the address, later ones wait too, so that they are sent in order.
    if (this.#resolving === null && known !== null && performance.now() < known.until) return known;
    this.#resolving ??= this.#resolve().finally(() => {
      this.#resolving = null;
    });
    return this.#resolving;
  }

  async #resolve(): Promise<Resolved> {
    const { host, port } = this.#destination;
    this.#guard.check(host, port);
    const until = performance.now() + RESOLVED_FOR;
    const version = isIP(host);
    const { address, family } = version === 0 ? await this.#lookup() : { address: host, family: version };
    this.#resolved = { address, family: family === 6 ? 6 : 4, until };
    return this.#resolved;
  }

  #lookup(): Promise<{ readonly address: string; readonly family: number }> {
    const { host, port } = this.#destination;
    return new Promise((resolve, reject) => {
      this.#guard.lookup(port)(host, {}, (error, address, family = 4) => {
        if (error) reject(error);
        else resolve({ address: String(address), family });
      });
    });
  }

  /**
   * The socket for addresses of this family. Its "error" events are ignored: `send` reports the errors of its own
   * datagram, and the socket stays usable.
   */
  #open(family: 4 | 6): Socket {
    if (this.#socket?.family === family) return this.#socket.socket;
    this.#socket?.socket.close();
    const socket = createSocket({ type: family === 6 ? "udp6" : "udp4", lookup: unchanged }).unref();
    socket.on("error", () => {});
    this.#socket = { socket, family };
    return socket;
  }
}

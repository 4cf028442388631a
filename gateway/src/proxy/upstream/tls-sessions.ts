/**
 * TLS sessions of https targets for resumption (RFC 8446 section 2.2), which saves certificates and signatures. A
 * resumed session verifies no server name again, so a session is used only for targets with the same key.
 */
import type { Socket } from "node:net";
import { LruCache } from "@sluice/model/serving";

/** Maximum number of targets with a session; the least recently used are evicted. */
const MAX_SESSIONS = 1024;

export class TlsSessionCache {
  /** Keyed by the target's key. */
  readonly #sessions = new LruCache<Buffer>(MAX_SESSIONS / 2);

  /** The session to resume; undefined: a full handshake is required. */
  get(key: string): Buffer | undefined {
    return this.#sessions.get(key);
  }

  /** Stores the sessions that the server issues on this connection. */
  saveFrom(key: string, socket: Socket): void {
    socket.on("session", (session: Buffer) => this.#sessions.set(key, session));
  }

  /** Removes a session, such as one that the target did not accept. */
  delete(key: string): void {
    this.#sessions.delete(key);
  }
}

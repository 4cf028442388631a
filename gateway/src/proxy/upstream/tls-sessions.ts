/**
 * What https targets gave to go on from at the next handshake (RFC 8446 section 2.2): that one needs no certificates and
 * no signatures. Who resumes verifies no name again: only what has the same target's key may be resumed.
 */
import type { Socket } from "node:net";

/** Targets of which one is kept, those of the last handshakes. */
const MAX_SESSIONS = 1024;

export class TlsSessionCache {
  /** By the target's key, the newest last. */
  readonly #sessions = new Map<string, Buffer>();

  /** To resume; undefined: a whole handshake is needed. */
  get(key: string): Buffer | undefined {
    return this.#sessions.get(key);
  }

  /** Keeps what the other side of the connection gives, as long as it is open. */
  saveFrom(key: string, socket: Socket): void {
    socket.on("session", (session: Buffer) => {
      this.#sessions.delete(key);
      this.#sessions.set(key, session);
      if (this.#sessions.size <= MAX_SESSIONS) return;
      for (const oldest of this.#sessions.keys()) {
        this.#sessions.delete(oldest);
        return;
      }
    });
  }

  /** It did not help. */
  delete(key: string): void {
    this.#sessions.delete(key);
  }
}

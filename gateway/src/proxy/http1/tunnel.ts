/**
 * After an upgrade, bytes flow in both directions, no faster than the recipient reads them. The tunnel ends when one of
 * the connections has closed and the other side has got what that one had sent, or, as in Kong, when both sides are
 * silent for `silence`. Without the limit on silence, a half-closed tunnel could count as a connection of its target
 * forever. Peers that can be silent for longer must send pings.
 */
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { MemoryAccount } from "../listener/client-memory.ts";

export interface Tunnel {
  destroy(): void;
}

/** The upstream's side: its socket, or one whose messages a plugin inspects. */
export interface TunnelUpstream extends Duplex {
  readonly bytesWritten: number;
  setKeepAlive(isEnabled: boolean, delay: number): unknown;
  setTimeout(milliseconds: number, onTimeout: () => void): unknown;
}

export interface TunnelOptions {
  readonly client: Socket;
  readonly upstream: TunnelUpstream;
  /** Returns the memory account for data that waits for one of the sides. */
  readonly account: () => MemoryAccount;
  /** Milliseconds without data in either direction after which the tunnel closes. */
  readonly silence: number;
  /** Called once, when both sides are closed. */
  readonly onClose: () => void;
}

/** Milliseconds of silence before TCP keep-alive probes the upstream. On client sockets it is already enabled. */
const PROBE = 20_000;

export function joinSockets({ client, upstream, silence, account, onClose }: TunnelOptions): Tunnel {
  let open = 2;
  const destroy = () => {
    client.destroy();
    upstream.destroy();
  };
  const closed = (gone: Duplex, left: Socket | TunnelUpstream) => {
    open--;
    if (open === 0) {
      onClose();
      return;
    }
    const hasSentAll = gone.readableEnded && (gone.writableFinished || gone.errored !== null);
    if (!hasSentAll || left.writableFinished || left.destroyed) {
      destroy();
      return;
    }
    // Destroyed now, a slow recipient would lose the last bytes.
    left.once("finish", destroy).setTimeout(silence, destroy);
  };
  // Data from the upstream is written to the client's socket, so the timeout of that socket covers both directions.
  client.setTimeout(silence, destroy);
  upstream.setKeepAlive(true, PROBE);
  for (const [from, to] of [
    [client, upstream],
    [upstream, client],
  ] as const) {
    let waiting = 0;
    from.on("data", (piece: Buffer) => {
      if (to.write(piece)) return;
      from.pause();
      account().wait(to.writableLength - waiting);
      waiting = to.writableLength;
    });
    to.on("drain", () => {
      if (waiting > 0) account().taken(waiting);
      waiting = 0;
      from.resume();
    });
    from.once("end", () => to.end());
    // "close" follows.
    from.on("error", () => {});
    from.once("close", () => closed(from, to));
    from.resume();
  }
  return { destroy };
}

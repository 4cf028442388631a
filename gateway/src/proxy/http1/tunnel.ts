/**
 * After an upgrade bytes go both ways as they come, each side no faster than the other takes them, until one side is gone
 * or both are silent for long, as in Kong: a side that was left half open would else count as one of the target's
 * connections for ever. What means to be silent for longer pings.
 */
import type { Socket } from "node:net";
import type { MemoryAccount } from "../listener/client-memory.ts";

export interface Tunnel {
  destroy(): void;
}

export interface TunnelOptions {
  readonly client: Socket;
  readonly upstream: Socket;
  /** Asked when something waits for one of the sides. */
  readonly account: () => MemoryAccount;
  /** Milliseconds after which a tunnel in which nobody says anything ends. */
  readonly silence: number;
  /** Told once, when both sides are closed. */
  readonly onClose: () => void;
}

/** Milliseconds until an upstream that says nothing is asked whether it is there (TCP). Clients are since they were accepted. */
const PROBE = 20_000;

export function joinSockets({ client, upstream, silence, account, onClose }: TunnelOptions): Tunnel {
  let open = 2;
  const destroy = () => {
    client.destroy();
    upstream.destroy();
  };
  const closed = () => {
    open--;
    if (open === 0) onClose();
    else destroy();
  };
  // What comes from the upstream is written here: the client's socket sees both ways.
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
    from.on("error", destroy);
    from.once("close", closed);
    from.resume();
  }
  return { destroy };
}

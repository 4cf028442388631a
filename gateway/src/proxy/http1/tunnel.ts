/**
 * After an upgrade bytes go both ways as they come, each side no faster than the other takes them, until one side is gone
 * or both are silent for long, as in Kong: a side that was left half open would else count as one of the target's
 * connections for ever. What means to be silent for longer pings.
 */
import type { Socket } from "node:net";

export interface Tunnel {
  destroy(): void;
}

export interface TunnelOptions {
  readonly client: Socket;
  readonly upstream: Socket;
  /** Milliseconds after which a tunnel in which nobody says anything ends. */
  readonly silence: number;
  /** Told once, when both sides are closed. */
  readonly onClose: () => void;
}

/** Milliseconds until a side that says nothing is asked whether it is there (TCP). */
const PROBE = 60_000;

export function joinSockets({ client, upstream, silence, onClose }: TunnelOptions): Tunnel {
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
  for (const [from, to] of [
    [client, upstream],
    [upstream, client],
  ] as const) {
    from.setKeepAlive(true, PROBE);
    from.on("data", (piece: Buffer) => {
      if (!to.write(piece)) from.pause();
    });
    to.on("drain", () => from.resume());
    from.once("end", () => to.end());
    from.on("error", destroy);
    from.once("close", closed);
    from.resume();
  }
  return { destroy };
}

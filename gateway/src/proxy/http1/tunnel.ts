/** After an upgrade bytes go both ways as they come, each side no faster than the other takes them. */
import type { Socket } from "node:net";

export interface Tunnel {
  /** Both sides end once what is under way has left. */
  end(): void;
  destroy(): void;
}

export interface TunnelOptions {
  readonly client: Socket;
  readonly upstream: Socket;
  /** Told once, when both sides are closed. */
  readonly onClose: () => void;
}

/** Silence is no reason to part, since subscriptions are silent for long; a side that dies without a word is found out. */
const PROBE = 60_000;

export function joinSockets({ client, upstream, onClose }: TunnelOptions): Tunnel {
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
  for (const [from, to] of [
    [client, upstream],
    [upstream, client],
  ] as const) {
    from.setTimeout(0);
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
  return {
    end() {
      client.end();
      upstream.end();
    },
    destroy,
  };
}

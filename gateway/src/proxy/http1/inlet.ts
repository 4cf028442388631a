/**
 * Where plain connections to upstreams read to. Node would make a buffer of 64 kB for every read, which costs more than
 * scanning a usual response does: so all connections of a thread read into one, and what is kept is copied.
 */
import type { OnReadOpts } from "node:net";

const shared = Buffer.allocUnsafeSlow(65_536);

export interface Inlet {
  /** For `net.connect`. */
  readonly onread: OnReadOpts;
  /** Told of what has come: `bytes` up to `end`, which hold only during the call. */
  read: (bytes: Buffer, end: number) => void;
}

export function createInlet(): Inlet {
  const inlet: Inlet = {
    onread: {
      buffer: shared,
      callback(size) {
        inlet.read(shared, size);
        return true;
      },
    },
    // Nobody has the connection yet, and it has been asked nothing.
    read: () => {},
  };
  return inlet;
}

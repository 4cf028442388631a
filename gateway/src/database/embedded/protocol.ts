/**
 * Messages between the thread that runs PGlite and the thread that uses it. They are sent as lists, because waking a
 * thread costs more than most statements.
 */
import type { DatabaseRow, SqlErrorDetails } from "../driver.ts";

export interface EmbeddedCall {
  readonly id: number;
  readonly method: "query" | "script" | "listen" | "close";
  /** One or more statements; for `listen`, the channel. */
  readonly text: string;
  readonly values: readonly unknown[];
}

/** The reply to the call `id`, where 0 is the start; or a notification on a channel. */
export type EmbeddedReply =
  | { readonly id: number; readonly rows: readonly DatabaseRow[] }
  | { readonly id: number; readonly failure: string; readonly facts?: SqlErrorDetails }
  | { readonly channel: string; readonly payload: string };

export interface EmbeddedStart {
  /** The folder of the files; undefined: in memory. */
  readonly files: string | undefined;
  readonly schema: string;
}

/** Returns a function that collects what it gets in one turn of the event loop, and passes it to `send` as one list. */
export function batchPerTurn<Thing>(send: (things: readonly Thing[]) => void): (thing: Thing) => void {
  let things: Thing[] = [];
  return (thing) => {
    things.push(thing);
    if (things.length > 1) return;
    setImmediate(() => {
      const batch = things;
      things = [];
      send(batch);
    });
  };
}

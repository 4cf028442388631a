/**
 * What the thread that runs PGlite and the thread that uses it say to each other: lists, because to wake a thread costs
 * more than most statements.
 */
import type { Row, SqlErrorDetails } from "../driver.ts";

export interface EmbeddedCall {
  readonly id: number;
  readonly method: "query" | "script" | "listen" | "close";
  /** A statement or several; the channel of `listen`. */
  readonly text: string;
  readonly values: readonly unknown[];
}

/** An answer to the call `id`, where 0 is the start; or what was said on a channel. */
export type EmbeddedReply =
  | { readonly id: number; readonly rows: readonly Row[] }
  | { readonly id: number; readonly failure: string; readonly facts?: SqlErrorDetails }
  | { readonly channel: string; readonly payload: string };

/** What the thread is started with. */
export interface EmbeddedStart {
  /** Where the files live; in memory when unset. */
  readonly files: string | undefined;
  readonly schema: string;
}

/** Says things together: all that are said in one turn of the event loop in one message. */
export function batchPerTurn<Thing>(send: (things: readonly Thing[]) => void): (thing: Thing) => void {
  let things: Thing[] = [];
  return (thing) => {
    things.push(thing);
    if (things.length > 1) return;
    setImmediate(() => {
      const said = things;
      things = [];
      send(said);
    });
  };
}

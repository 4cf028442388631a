/** Writes one request to a stream of an upstream. */

import { MessageWriter } from "../connection/message-writer.ts";
import type { SendScheduler } from "../connection/send-scheduler.ts";
import { connectionSpecific, type RequestParts } from "../fields.ts";
import { END_STREAM } from "../frames/frame-types.ts";

export interface RequestWriterListener {
  /** Called when the upstream accepts data again. */
  drained(): void;
  /** Called when the request has been written completely. */
  requestEnded(): void;
}

export class RequestWriter extends MessageWriter {
  protected override readonly mayTrail = true;
  readonly #listener: RequestWriterListener;

  constructor(id: number, scheduler: SendScheduler, listener: RequestWriterListener) {
    super(id, scheduler);
    this.#listener = listener;
  }

  /** Whether the request has been written completely. */
  get isWritten(): boolean {
    return this.isOver;
  }

  /** @param ended Whether the request has no body */
  head({ method, scheme, path, headers }: RequestParts, ended: boolean): void {
    const { encoder } = this.scheduler;
    encoder.begin();
    encoder.field(":method", method);
    encoder.field(":scheme", scheme);
    encoder.field(":authority", hostOf(headers));
    encoder.field(":path", path);
    for (let at = 0; at < headers.length; at += 2) {
      const lower = (headers[at] ?? "").toLowerCase();
      if (lower !== "host" && !connectionSpecific.has(lower)) encoder.field(lower, headers[at + 1] ?? "");
    }
    this.written += encoder.textSize;
    this.writeBlock(encoder, ended ? END_STREAM : 0);
    if (ended) this.finish();
  }

  protected override onDrained(): void {
    this.#listener.drained();
  }

  protected override onEnded(): void {
    this.#listener.requestEnded();
  }
}

/** The Host header usually comes first. */
function hostOf(headers: readonly string[]): string {
  let at = 0;
  while (at < headers.length && headers[at]?.toLowerCase() !== "host") at += 2;
  return headers[at + 1] ?? "";
}

/**
 * Decides which message of a connection is written next, within the peer's windows. The order is that of RFC 9218: more
 * urgent messages first; those of equal urgency one after the other, or alternately if they are incremental.
 */
import type { FrameOutput } from "../frames/frame-output.ts";
import { DEFAULT_WINDOW, MAX_WINDOW } from "../frames/frame-types.ts";
import type { HpackEncoder } from "../hpack/encoder.ts";

/** RFC 9218 section 4. */
export interface SendPriority {
  /** 0 to 7; 0 is the most urgent. */
  readonly urgency: number;
  /** Whether the message may alternate with others. */
  readonly incremental: boolean;
}

/**
 * For requests without a priority. They alternate, although RFC 9218 section 4.2 would serve them one after the other:
 * clients without priorities expect that a large response does not delay small ones.
 */
export const usualPriority: SendPriority = { urgency: 3, incremental: true };

const URGENCY = /(?:^|,)\s*u=([0-7])\s*(?:[,;]|$)/;
const INCREMENTAL = /(?:^|,)\s*i(?:=\?1)?\s*(?:[,;]|$)/;

/** The priority in a Priority field or in a PRIORITY_UPDATE frame; unknown parameters are ignored. */
export function priorityOf(text: string): SendPriority {
  const urgency = URGENCY.exec(text)?.[1];
  return {
    urgency: urgency === undefined ? usualPriority.urgency : Number(urgency),
    incremental: INCREMENTAL.test(text),
  };
}

/** A message with queued data. */
export interface QueuedMessage {
  readonly priority: SendPriority;
  /** Bytes of DATA that the peer accepts on the stream. */
  readonly window: number;
  /** Writes one frame within both windows. Returns whether queued data remains. */
  writeQueued(): boolean;
}

export class SendScheduler {
  readonly output: FrameOutput;
  readonly encoder: HpackEncoder;
  /** Bytes of DATA that the peer accepts on the connection. */
  window = DEFAULT_WINDOW;
  /** The window of new streams. */
  initialWindow = DEFAULT_WINDOW;
  /** In the order in which they will be written, within each urgency. */
  readonly #queued: QueuedMessage[] = [];
  /** True in `pump`: a source that is resumed there may provide more data. */
  #isPumping = false;

  constructor(output: FrameOutput, encoder: HpackEncoder) {
    this.output = output;
    this.encoder = encoder;
  }

  /** Bytes of a message without queued data that may be written now. */
  roomFor(window: number): number {
    return this.#queued.length > 0 || this.output.isFull ? 0 : Math.max(Math.min(window, this.window), 0);
  }

  add(response: QueuedMessage): void {
    this.#queued.push(response);
  }

  remove(response: QueuedMessage): void {
    const at = this.#queued.indexOf(response);
    if (at >= 0) this.#queued.splice(at, 1);
  }

  /** Adds to the window of the connection. Returns false when it exceeds the maximum. */
  widen(bytes: number): boolean {
    this.window += bytes;
    return this.window <= MAX_WINDOW;
  }

  /** Writes as much queued data as windows and socket allow. */
  pump(): void {
    if (this.#isPumping) return;
    this.#isPumping = true;
    this.#writeNext();
    this.#isPumping = false;
  }

  #writeNext(): void {
    while (this.#queued.length > 0 && this.window > 0 && !this.output.isFull) {
      const at = this.#next();
      const response = this.#queued[at];
      if (response === undefined) return;
      if (!response.writeQueued()) this.remove(response);
      else if (response.priority.incremental) {
        this.#queued.splice(at, 1);
        this.#queued.push(response);
      }
    }
  }

  /** Index of the message that is written next; -1: the peer accepts none. */
  #next(): number {
    let best = -1;
    let urgency = Number.POSITIVE_INFINITY;
    for (const [at, response] of this.#queued.entries()) {
      if (response.window <= 0 || response.priority.urgency >= urgency) continue;
      best = at;
      ({ urgency } = response.priority);
    }
    return best;
  }
}

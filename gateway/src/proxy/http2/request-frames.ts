/** The frames of a client, which opens streams with requests. */
import type { ClientStream } from "./client-stream.ts";
import { Budget } from "./connection/budget.ts";
import {
  type BlockFacts,
  ConnectionFrames,
  type ConnectionFramesOptions,
  type ConnectionFramesOwner,
} from "./connection/connection-frames.ts";
import { errorCode, MAX_WINDOW } from "./frames/frame-types.ts";
import { MAX_STREAMS, MOST_HELD, resetBudget } from "./limits.ts";
import type { FieldCollector } from "./requests/field-collector.ts";

/** The connection of the frames. */
export interface RequestFramesOwner extends ConnectionFramesOwner<ClientStream> {
  /** Opens a stream whose head is in the collector, or returns null if it must be refused. */
  open(id: number, ended: boolean): ClientStream | null;
  /** Called when a request is malformed; its stream is reset. */
  malformed(): void;
}

export interface RequestFramesOptions extends ConnectionFramesOptions<ClientStream, FieldCollector> {
  readonly owner: RequestFramesOwner;
}

export class RequestFrames extends ConnectionFrames<ClientStream, FieldCollector> {
  /** The highest stream that the client has opened. */
  lastStream = 0;
  /** Streams above this one are ignored: the client was told that they are not processed (section 6.8). */
  lastAccepted = MAX_WINDOW;
  /** Bytes of request bodies that the connection holds. */
  held = 0;
  readonly #owner: RequestFramesOwner;
  /** Null: nothing was reset yet. */
  #resets: Budget | null = null;

  constructor(options: RequestFramesOptions) {
    super(options, false);
    this.#owner = options.owner;
  }

  /** The highest stream that was or is processed. */
  get lastProcessed(): number {
    return Math.min(this.lastStream, this.lastAccepted);
  }

  isIdle(id: number): boolean {
    return id === 0 || id > this.lastStream || (id & 1) === 0;
  }

  protected override get mayWiden(): boolean {
    return this.held < MOST_HELD;
  }

  protected override mayIgnore(id: number): boolean {
    return id > this.lastAccepted;
  }

  protected override isTrailers(stream: ClientStream | undefined): boolean {
    return stream !== undefined;
  }

  protected override decoded(stream: ClientStream, { ended, dependsOnItself }: BlockFacts): void {
    const { isMalformed, isExcessive } = this.collector;
    const trailers = this.collector.trailers();
    if (!stream.isReceiving) this.streamError(stream.id, errorCode.streamClosed);
    else if (isExcessive) this.streamError(stream.id, errorCode.enhanceYourCalm);
    else if (!ended || isMalformed || dependsOnItself || stream.isConnect) {
      this.streamError(stream.id, errorCode.protocolError);
    } else {
      this.flushedByEnd(stream);
      stream.end(trailers);
    }
  }

  protected override decodedNew(block: BlockFacts): boolean {
    if (block.id <= this.lastStream) return false;
    this.#open(block);
    return true;
  }

  protected override countReset(): void {
    this.#resets ??= new Budget(resetBudget);
    if (!this.#resets.spend()) this.fail(errorCode.enhanceYourCalm);
  }

  protected override resetByPeer(): void {}

  #open({ id, ended, dependsOnItself }: BlockFacts): void {
    const { collector } = this;
    this.lastStream = id;
    if (id > this.lastAccepted) {
      this.control.mayContinue();
      return;
    }
    collector.checkRequest(ended);
    if (this.streams.size >= MAX_STREAMS) this.streamError(id, errorCode.refusedStream);
    else if (collector.isExcessive) this.streamError(id, errorCode.enhanceYourCalm);
    else if (collector.isMalformed || dependsOnItself) {
      this.#owner.malformed();
      this.streamError(id, errorCode.protocolError);
    } else {
      const stream = this.#owner.open(id, ended);
      if (stream === null) this.streamError(id, errorCode.refusedStream);
      else {
        this.streams.set(id, stream);
        stream.run();
      }
    }
  }
}

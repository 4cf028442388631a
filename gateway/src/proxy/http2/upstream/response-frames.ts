/** The frames of an upstream, which sends responses on the streams that the gateway has opened. */
import { unreadable } from "../../upstream/failure.ts";
import { type BlockFacts, ConnectionFrames, type ConnectionFramesOptions } from "../connection/connection-frames.ts";
import { errorCode, type FrameErrorCode } from "../frames/frame-types.ts";
import { violation } from "./http2-failure.ts";
import type { ResponseCollector } from "./response-collector.ts";
import type { UpstreamStream } from "./upstream-stream.ts";

export class ResponseFrames extends ConnectionFrames<UpstreamStream, ResponseCollector> {
  #nextStream = 1;

  constructor(options: ConnectionFramesOptions<UpstreamStream, ResponseCollector>) {
    super(options, true);
  }

  /** Concurrent streams that the upstream accepts. */
  get mostStreams(): number {
    return this.control.mostStreams;
  }

  /** @param create Creates the stream with this id */
  open(create: (id: number) => UpstreamStream): UpstreamStream {
    const stream = create(this.#nextStream);
    this.#nextStream += 2;
    this.streams.set(stream.id, stream);
    return stream;
  }

  isIdle(id: number): boolean {
    return id === 0 || id >= this.#nextStream || (id & 1) === 0;
  }

  override streamError(id: number, code: FrameErrorCode): void {
    this.streams.get(id)?.fail(violation(code));
    super.streamError(id, code);
  }

  protected override get mayWiden(): boolean {
    // The windows of the streams limit what slow clients leave unread; other streams must not wait for those clients.
    return true;
  }

  protected override mayIgnore(): boolean {
    return false;
  }

  protected override isTrailers(stream: UpstreamStream | undefined): boolean {
    return stream?.hasHead === true;
  }

  protected override decoded(stream: UpstreamStream, block: BlockFacts): void {
    if (!stream.isReceiving) {
      this.streamError(stream.id, errorCode.streamClosed);
      return;
    }
    // Data that precedes the block is flushed first, because the listener may pause the response.
    this.flushedByEnd(stream);
    const fault = block.dependsOnItself ? "its priority is malformed" : stream.block(this.collector, block);
    if (fault === null) return;
    stream.fail(unreadable(fault));
    super.streamError(stream.id, errorCode.protocolError);
  }

  protected override decodedNew(): boolean {
    return false;
  }

  /** Resets are counted as other frames without content: each request allows some. */
  protected override countReset(): void {
    this.control.mayContinue();
  }

  protected override resetByPeer(stream: UpstreamStream, code: number): void {
    stream.resetByPeer(code);
  }
}

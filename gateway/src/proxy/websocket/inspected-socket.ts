/**
 * The upstream's side of a WebSocket whose messages a plugin inspects: it looks like the upstream's socket, forwards the
 * client's messages as the plugin decides, and puts the plugin's replies between the frames of the upstream. The plugin
 * may also observe the upstream's messages, which pass unchanged.
 */
import { randomBytes } from "node:crypto";
import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import type { MessageInspector } from "@sluice/plugin-sdk";
import type { TunnelUpstream } from "../http1/tunnel.ts";
import { ClientMessages, type CloseReason, closeCode } from "./client-messages.ts";
import { closePayload, FrameBoundaries, opcode, webSocketFrame } from "./frames.ts";
import { UpstreamMessages } from "./upstream-messages.ts";

/** Bytes that may wait for the client: a client that reads no replies is disconnected. */
const MAX_WAITING = 1_048_576;
/** The code with which the upstream is told that the plugin has ended the WebSocket. */
const GOING_AWAY = 1001;

export interface InspectedSocketOptions {
  readonly socket: Socket;
  readonly inspector: MessageInspector;
  /** Bytes of the upstream that were read before. */
  readonly first: Buffer;
  /** Called if the plugin throws; then the WebSocket is closed, unless the plugin only observes the message. */
  readonly onError: (error: unknown) => void;
}

export class InspectedSocket extends Duplex implements TunnelUpstream {
  readonly #socket: Socket;
  readonly #inspector: MessageInspector;
  readonly #onError: (error: unknown) => void;
  readonly #messages: ClientMessages;
  readonly #boundaries = new FrameBoundaries();
  /** Null: the plugin does not observe the upstream's messages. */
  readonly #observed: UpstreamMessages | null;
  /** What the upstream gets for the bytes that are being read. */
  #forwarded: Buffer[] = [];
  /** Frames for the client that wait for the end of a frame of the upstream. */
  #replies: Buffer[] = [];
  #replyBytes = 0;
  /** Set when the plugin has ended the WebSocket. */
  #isClosing = false;
  #hasEnded = false;

  constructor({ socket, inspector, first, onError }: InspectedSocketOptions) {
    super({ allowHalfOpen: true });
    this.#socket = socket;
    this.#inspector = inspector;
    this.#onError = onError;
    const message = (text: string, raw: Buffer) => this.#inspect(text, raw);
    const control = (raw: Buffer) => {
      if (!this.#isClosing) this.#forwarded.push(raw);
    };
    this.#messages = new ClientMessages({ message, control }, inspector.limit);
    this.#observed = inspector.upstream ? new UpstreamMessages(inspector.upstream) : null;
    if (first.length > 0) this.#pass(first);
    socket.on("data", (bytes: Buffer) => {
      if (!this.#pass(bytes)) socket.pause();
    });
    socket.once("end", () => {
      this.#hasEnded = true;
      this.push(null);
    });
    socket.on("error", (error) => this.destroy(error));
    socket.once("close", () => {
      if (this.#hasEnded || this.#isClosing) this.end();
      else this.destroy();
    });
  }

  get bytesWritten(): number {
    return this.#socket.bytesWritten;
  }

  setKeepAlive(isEnabled: boolean, delay: number): void {
    this.#socket.setKeepAlive(isEnabled, delay);
  }

  setTimeout(milliseconds: number, onTimeout: () => void): void {
    this.#socket.setTimeout(milliseconds, onTimeout);
  }

  override _read(): void {
    this.#socket.resume();
  }

  override _write(bytes: Buffer, _encoding: BufferEncoding, done: () => void): void {
    if (this.#isClosing) {
      done();
      return;
    }
    const fault = this.#messages.read(bytes);
    if (fault !== null) this.#close(fault);
    this.#forward();
    // A socket that ends does not drain.
    if (this.#socket.writableNeedDrain && !this.#isClosing) this.#socket.once("drain", done);
    else done();
  }

  override _final(done: () => void): void {
    if (!this.#socket.writableEnded) this.#socket.end();
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#socket.destroy();
    done(error);
  }

  #forward(): void {
    if (this.#forwarded.length > 0) this.#socket.write(Buffer.concat(this.#forwarded));
    this.#forwarded = [];
  }

  #inspect(text: string, raw: Buffer): void {
    if (this.#isClosing) return;
    try {
      const verdict = this.#inspector.inspect(text);
      if (verdict === null) this.#forwarded.push(raw);
      else if ("forward" in verdict)
        this.#forwarded.push(webSocketFrame(opcode.text, Buffer.from(verdict.forward), randomBytes(4)));
      else if ("reply" in verdict) this.#reply(webSocketFrame(opcode.text, Buffer.from(verdict.reply), null));
      else this.#close(verdict);
    } catch (error) {
      this.#onError(error);
      this.#close({ close: closeCode.internal, reason: "An unexpected error occurred" });
    }
  }

  #reply(frame: Buffer): void {
    if (this.readableLength + this.#replyBytes > MAX_WAITING) this.destroy();
    else if (this.#boundaries.isBetweenFrames) this.push(frame);
    else {
      this.#replies.push(frame);
      this.#replyBytes += frame.length;
    }
  }

  /** Sends Close frames to both sides, and ends them. */
  #close({ close, reason }: CloseReason): void {
    if (this.#isClosing) return;
    this.#isClosing = true;
    this.#forward();
    this.#replies.push(webSocketFrame(opcode.close, closePayload(close, reason), null));
    this.#socket.end(webSocketFrame(opcode.close, closePayload(GOING_AWAY, ""), randomBytes(4)));
    if (this.#boundaries.isBetweenFrames) this.#sendReplies();
  }

  /** Passes bytes of the upstream on to the client. Returns false when the client does not accept more for now. */
  #pass(bytes: Buffer): boolean {
    let rest = bytes;
    while (rest.length > 0 && !this.#hasEnded) {
      const end = this.#boundaries.pass(rest);
      const isLast = this.#replies.length === 0;
      if (this.#observed !== null) this.#observe(this.#observed, rest, end);
      // Without replies to insert, the boundaries are only followed.
      this.push(rest.subarray(0, end));
      rest = rest.subarray(end);
      if (!isLast && this.#boundaries.isBetweenFrames) this.#sendReplies();
    }
    return this.readableLength < this.readableHighWaterMark;
  }

  /** @param end Where the frame, or a part of it, ends in the bytes */
  #observe(observed: UpstreamMessages, bytes: Buffer, end: number): void {
    const { frame, payloadStart, isBetweenFrames } = this.#boundaries;
    if (frame === null) return;
    try {
      observed.add(bytes.subarray(payloadStart, end), frame, isBetweenFrames);
    } catch (error) {
      this.#onError(error);
    }
  }

  #sendReplies(): void {
    for (const reply of this.#replies) this.push(reply);
    this.#replies = [];
    this.#replyBytes = 0;
    if (!this.#isClosing) return;
    this.#hasEnded = true;
    this.push(null);
  }
}

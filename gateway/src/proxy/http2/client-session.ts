/** One HTTP/2 client connection: concurrent requests, each on its own stream. */
import type { Socket } from "node:net";
import type { ClientConnectionLimits, ConnectionPeer, OpenConnection } from "../client/open-connection.ts";
import type { HeadLimits } from "../http1/parse/head-parser.ts";
import type { ClientMemory, MemoryAccount } from "../listener/client-memory.ts";
import { attachReadBuffer } from "../sockets/accepted-socket.ts";
import { ByteView } from "../sockets/byte-view.ts";
import type { ReadBuffer } from "../sockets/read-buffer.ts";
import { IdleTimer } from "../timers/idle-timer.ts";
import { ConnectionActivity } from "../timers/stream-min-rate-timer.ts";
import { ClientStream, type StreamCarrier, type StreamContext } from "./client-stream.ts";
import { SendScheduler } from "./connection/send-scheduler.ts";
import { FrameOutput, type FrameSetting } from "./frames/frame-output.ts";
import {
  DEFAULT_WINDOW,
  errorCode,
  type FrameErrorCode,
  frameType,
  MAX_WINDOW,
  setting,
} from "./frames/frame-types.ts";
import { HpackEncoder } from "./hpack/encoder.ts";
import {
  CONNECTION_BYTES,
  CONNECTION_WINDOW,
  EXCESS,
  MAX_STREAMS,
  MOST_BACKLOG,
  maxBlock,
  PERMITTED_TLS12_CIPHER,
  STREAM_BYTES,
  STREAM_WINDOW,
} from "./limits.ts";
import { RequestFrames, type RequestFramesOwner } from "./request-frames.ts";

export interface ClientSessionContext extends StreamContext, ClientConnectionLimits {
  readonly limits: HeadLimits;
  readonly memory: ClientMemory;
  readonly onClose: (session: ClientSession) => void;
}

/** Milliseconds between two checks of a connection. */
export const CHECK_INTERVAL = 500;
/** Milliseconds within which a client must close its side after the gateway closed its own. */
const CLOSING_LINGER = 2000;
/** Milliseconds within which the client must answer the PING between the two GOAWAY frames. */
const LEAVING_TIME = 1000;
/** Time to answer a PING, as a multiple of the probe interval. */
const PATIENCE = 3 / 2;

const OPEN = 0;
/** The client was told to open no more streams; those that it opened before it knew are served. */
const LEAVING = 1;
/** No more streams are accepted; those under way are served. */
const LAST_STREAMS = 2;
/** The socket has been ended. */
const CLOSING = 3;

export class ClientSession implements OpenConnection, RequestFramesOwner, StreamCarrier {
  readonly peer: ConnectionPeer;
  readonly scheduler: SendScheduler;
  readonly sending: ConnectionActivity;
  readonly taking: ConnectionActivity;
  readonly #context: ClientSessionContext;
  readonly #socket: Socket;
  /** Null: the socket emits "data" events only. */
  readonly #inlet: ReadBuffer | null;
  readonly #output: FrameOutput;
  readonly #frames: RequestFrames;
  readonly #account: MemoryAccount;
  /** Runs while no request is under way. */
  readonly #idle = new IdleTimer(() => this.#idled());
  /** Runs between the two GOAWAY frames. Null: the first one has not been sent. */
  #leaving: IdleTimer | null = null;
  #state = OPEN;
  #requests = 0;
  /** Settings that the client has not acknowledged. */
  #unacknowledged = 0;
  /** Whether the client was sent a lower limit of concurrent streams. */
  #isNarrow = false;
  /** Bytes that wait in the socket, as counted in the account. */
  #backlog = 0;
  #bytesRead = 0;
  /** `#bytesRead` at the last check that saw new bytes or a client that waits for no response. */
  #seen = 0;
  #seenAt = performance.now();
  #isProbed = false;
  /** What the last check saw of `RequestFrames.incomplete`, and when a check first saw it. */
  #incomplete = 0;
  #incompleteSince = 0;

  /** @param socket A socket from which nothing was read, or whose bytes were all unshifted back */
  constructor(context: ClientSessionContext, socket: Socket, peer: ConnectionPeer) {
    this.#context = context;
    this.#socket = socket;
    this.peer = peer;
    this.sending = new ConnectionActivity(context.bodyPace, socket);
    this.taking = new ConnectionActivity(context.sendPace, socket);
    this.#output = new FrameOutput(socket, this.#countBacklog);
    this.scheduler = new SendScheduler(this.#output, new HpackEncoder());
    this.#frames = new RequestFrames({
      owner: this,
      scheduler: this.scheduler,
      collector: context.collector,
      maxBlock: maxBlock(context.limits),
    });
    this.#account = context.memory.account(() => this.fail(errorCode.enhanceYourCalm));
    this.#inlet = attachReadBuffer(socket, { isTls: peer.scheme === "https" });
    if (this.#inlet !== null) this.#inlet.read = this.#onRead;
    socket.on("data", this.#onData).on("drain", this.#onDrain);
    // A client that half-closes is treated as gone, as in HTTP/1.1.
    socket.on("end", destroySocket).on("error", destroySocket).on("close", this.#onClose);
    this.#idle.start(context.headersTimeout);
    this.#greet();
    if (!this.#account.admit(CONNECTION_BYTES)) this.fail(errorCode.enhanceYourCalm);
    // ALPN is complete, so the client cannot be asked for HTTP/1.1 any more (RFC 9113 section 9.2.2).
    if (peer.tlsVersion === "TLSv1.2" && !PERMITTED_TLS12_CIPHER.test(peer.tlsCipher ?? ""))
      this.fail(errorCode.inadequateSecurity);
  }

  get isAnswering(): boolean {
    return this.#frames.streams.size > 0;
  }

  /** Accepts no more requests (GOAWAY), and closes when those under way have ended. */
  drain(): void {
    if (this.#state !== OPEN) return;
    this.#state = LEAVING;
    // The client may have sent requests before it receives this frame. The answer to the PING shows that it has (RFC
    // 9113 section 6.8).
    this.#output.goAway(MAX_WINDOW, errorCode.noError);
    this.#output.ping();
    this.#leaving = new IdleTimer(() => this.#finishLeaving());
    this.#leaving.start(LEAVING_TIME);
  }

  /**
   * Called periodically.
   *
   * @param now By `performance.now()`
   */
  checkLiveness(now: number): void {
    if (this.#state === CLOSING) return;
    const { incomplete } = this.#frames;
    if (incomplete !== this.#incomplete) {
      this.#incomplete = incomplete;
      this.#incompleteSince = now;
    } else if (incomplete !== 0 && now - this.#incompleteSince > this.#context.headersTimeout) {
      this.fail(errorCode.enhanceYourCalm);
    }
    this.#probe(now);
  }

  destroy(): void {
    this.#socket.destroy();
  }

  open(id: number, ended: boolean): ClientStream | null {
    const bytes = STREAM_BYTES + this.#context.collector.textSize;
    if (!this.#account.admit(bytes)) {
      this.#narrow();
      return null;
    }
    this.#idle.stop();
    this.#requests++;
    this.#context.onRequest();
    if (this.#requests >= this.#context.maxRequests) this.drain();
    return new ClientStream(this.#context, this, { id, ended, memory: { account: this.#account, bytes } });
  }

  closed({ memory }: ClientStream): void {
    this.#account.release(memory.bytes);
    this.#widen();
    if (this.#frames.streams.size > 0 || this.#state === CLOSING) return;
    if (this.#state === LAST_STREAMS) this.#end();
    else this.#idle.start(this.#context.keepAliveTimeout);
  }

  malformed(): void {
    this.#context.pipeline.refuse("badRequest", this.peer);
  }

  /** Ends the connection with an error. Streams under way are aborted. */
  fail(code: FrameErrorCode): void {
    if (this.#state === CLOSING) return;
    this.#frames.stop();
    this.#output.goAway(this.#frames.lastProcessed, code);
    this.#end();
    this.#frames.closeAll();
  }

  pinged(): void {
    this.#finishLeaving();
  }

  settingsAcknowledged(): void {
    if (this.#unacknowledged > 0) this.#unacknowledged--;
    this.#widen();
  }

  leaving(): void {
    if (this.#state === CLOSING) return;
    this.#state = LAST_STREAMS;
    if (this.#frames.streams.size === 0) this.#end();
  }

  countHeld(bytes: number): void {
    this.#frames.held += bytes;
    if (bytes > 0) this.#account.wait(bytes);
    else {
      this.#account.taken(-bytes);
      this.#frames.widenConnection();
    }
  }

  widenStream(id: number, bytes: number): void {
    this.#output.word(frameType.windowUpdate, id, bytes);
  }

  reset(id: number, code: FrameErrorCode): void {
    this.#frames.reset(id, code);
  }

  ended(id: number): void {
    this.#frames.ended(id);
  }

  /** Sends the settings, and widens the window of the connection. */
  #greet(): void {
    const { fields } = this.#context.limits;
    this.#sendSettings([
      [setting.maxConcurrentStreams, MAX_STREAMS],
      [setting.initialWindowSize, STREAM_WINDOW],
      [setting.maxHeaderListSize, fields * EXCESS],
      [setting.enableConnectProtocol, 1],
      [setting.noPriorities, 1],
    ]);
    this.#output.word(frameType.windowUpdate, 0, CONNECTION_WINDOW - DEFAULT_WINDOW);
  }

  #sendSettings(settings: readonly FrameSetting[]): void {
    this.#output.settings(settings);
    this.#unacknowledged++;
  }

  /**
   * Lowers the limit of streams, because one was refused for lack of memory. The client may send refused requests again
   * (RFC 9113 section 8.7); a lower limit keeps it from sending them in vain.
   */
  #narrow(): void {
    if (this.#isNarrow || this.#state !== OPEN) return;
    this.#isNarrow = true;
    this.#sendSettings([[setting.maxConcurrentStreams, Math.max(this.#frames.streams.size, 1)]]);
  }

  /** Restores the usual limit when memory is available and the client has acknowledged the lower one. */
  #widen(): void {
    if (!this.#isNarrow || this.#state !== OPEN || this.#unacknowledged > 0 || this.#context.memory.isShort) return;
    this.#isNarrow = false;
    this.#sendSettings([[setting.maxConcurrentStreams, MAX_STREAMS]]);
  }

  readonly #onData = (chunk: Buffer): void => this.#onRead(ByteView.of(chunk));

  readonly #onRead = (view: ByteView): void => {
    this.#bytesRead += view.length;
    if (this.#state === CLOSING) {
      // The rest of the input is discarded; a client that continues to send must not cost more.
      this.#socket.pause();
      return;
    }
    const inlet = this.#inlet;
    this.#frames.read(view);
    if (inlet !== null) inlet.isLong = view.length >= inlet.longRead && this.#frames.expectsBody;
    // A client that does not read its responses may not send more requests.
    if (this.#output.backlog > MOST_BACKLOG) this.#socket.pause();
  };

  readonly #onDrain = (): void => {
    this.#countBacklog();
    this.scheduler.pump();
    if (this.#state !== CLOSING && this.#socket.isPaused() && this.#output.backlog <= MOST_BACKLOG) {
      this.#socket.resume();
    }
  };

  readonly #countBacklog = (): void => {
    const { writableLength } = this.#socket;
    const more = writableLength - this.#backlog;
    this.#backlog = writableLength;
    if (more > 0) this.#account.wait(more);
    else if (more < 0) this.#account.taken(-more);
  };

  /** Sends a PING to a client that waits for data and has been silent, and destroys the connection without an answer. */
  #probe(now: number): void {
    const { probeInterval } = this.#context;
    // A client with unread response data is covered by the minimum send rate instead.
    const expects = this.#frames.streams.size > 0 && this.#account.waiting <= this.#frames.held;
    // Only received bytes count: the kernel accepts writes for an unreachable client too.
    if (!expects || this.#bytesRead > this.#seen) {
      this.#seen = this.#bytesRead;
      this.#seenAt = now;
      this.#isProbed = false;
      return;
    }
    const silence = now - this.#seenAt;
    if (this.#isProbed) {
      if (silence >= probeInterval * (1 + PATIENCE)) this.destroy();
    } else if (silence >= probeInterval) {
      this.#isProbed = true;
      this.#output.ping();
    }
  }

  #idled(): void {
    if (this.#state === OPEN && this.#requests > 0) this.drain();
    else if (this.#state !== LEAVING) this.destroy();
  }

  /** The second GOAWAY, which names the last stream that is served. */
  #finishLeaving(): void {
    if (this.#state !== LEAVING) return;
    this.#leaving?.close();
    this.#state = LAST_STREAMS;
    this.#frames.lastAccepted = this.#frames.lastStream;
    this.#output.goAway(this.#frames.lastStream, errorCode.noError);
    if (this.#frames.streams.size === 0) this.#end();
  }

  /** Closes this side of the connection. */
  #end(): void {
    this.#state = CLOSING;
    this.#leaving?.close();
    this.#output.flush();
    this.#socket.end();
    this.#idle.start(CLOSING_LINGER);
  }

  readonly #onClose = (): void => {
    this.#state = CLOSING;
    this.#frames.stop();
    this.#frames.closeAll();
    this.#idle.close();
    this.#leaving?.close();
    this.#account.close();
    this.#context.onClose(this);
  };
}

/** A listener for all connections, because each connection would use memory for one of its own. */
function destroySocket(this: Socket): void {
  this.destroy();
}

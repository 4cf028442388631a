/**
 * Detects HTTP/1.1, or HTTP/2 with prior knowledge, from the first bytes of a connection (RFC 9113 section 3.4). Reads no
 * more bytes than the HTTP/2 preface has.
 */
import type { Socket } from "node:net";
import { readInto } from "../sockets/accepted-socket.ts";
import { IdleTimer } from "../timers/idle-timer.ts";
import { PREFACE } from "./frames/frame-types.ts";

export interface ProtocolDetectorOptions {
  /** Milliseconds within which the first bytes must arrive. */
  readonly timeout: number;
  /** Called when the protocol is known. The bytes read so far have been put back into the socket. */
  readonly onKnown: (isHttp2: boolean) => void;
  /** Called when the connection closed before the protocol was known. */
  readonly onClose: (connection: ProtocolDetector) => void;
}

const NOTHING = Buffer.alloc(0);

export class ProtocolDetector {
  readonly isAnswering = false;
  readonly #socket: Socket;
  readonly #options: ProtocolDetectorOptions;
  readonly #watchdog = new IdleTimer(() => this.destroy());
  #bytes: Buffer = NOTHING;
  /** Buffer for the next bytes. */
  #room = NOTHING;

  constructor(socket: Socket, options: ProtocolDetectorOptions) {
    this.#socket = socket;
    this.#options = options;
    readInto(socket, this.#makeRoom, (size) => this.#onData(this.#room.subarray(0, size)));
    socket.on("data", this.#onData).on("end", this.#onEnd).on("error", this.#onEnd).on("close", this.#onClose);
    this.#watchdog.start(options.timeout);
  }

  drain(keepIdle: boolean): void {
    if (!keepIdle) this.destroy();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  readonly #makeRoom = (): Buffer => {
    this.#room = Buffer.allocUnsafe(PREFACE.length - this.#bytes.length);
    return this.#room;
  };

  readonly #onData = (chunk: Buffer): void => {
    const bytes = this.#bytes.length === 0 ? chunk : Buffer.concat([this.#bytes, chunk]);
    const seen = Math.min(bytes.length, PREFACE.length);
    const isPreface = bytes.compare(PREFACE, 0, seen, 0, seen) === 0;
    if (isPreface && seen < PREFACE.length) {
      this.#bytes = bytes;
      return;
    }
    const socket = this.#socket;
    this.#watchdog.close();
    socket.pause();
    socket.off("data", this.#onData).off("end", this.#onEnd).off("error", this.#onEnd).off("close", this.#onClose);
    socket.unshift(bytes);
    this.#options.onKnown(isPreface);
    socket.resume();
  };

  readonly #onEnd = (): void => this.destroy();

  readonly #onClose = (): void => {
    this.#watchdog.close();
    this.#options.onClose(this);
  };
}

import type { Socket } from "node:net";

export interface StreamSenderOptions {
  /** Opens a connection. */
  open(): Socket;
  /** Whether the connection uses TLS. */
  readonly isSecure: boolean;
  /** Milliseconds within which a connection must be open, and within which it must accept data. */
  readonly timeout: number;
  /** Milliseconds that an idle connection is kept. */
  readonly keepAlive: number;
}

/** Sends data over one connection, which is opened when it is needed. Sends must not overlap. */
export class StreamSender {
  readonly #options: StreamSenderOptions;
  /** Null: no connection is open. */
  #socket: Socket | null = null;

  constructor(options: StreamSenderOptions) {
    this.#options = options;
  }

  /** Resolves when the operating system has accepted the data. Rejects and closes the connection if that fails. */
  async send(data: Buffer): Promise<void> {
    this.#socket ??= await this.#open();
    const socket = this.#socket;
    await this.#within(socket, (resolve, reject) => {
      socket.write(data, (error) => {
        if (error) reject(error);
        else resolve();
      });
    });
  }

  /** Closes the connection once the data that was written to it has been sent. */
  close(): void {
    this.#socket?.end();
    this.#socket = null;
  }

  async #open(): Promise<Socket> {
    const { open, isSecure, keepAlive } = this.#options;
    const socket = open();
    // A connection may also close while it is idle; the next data must not be written to it.
    socket.on("close", () => {
      if (this.#socket === socket) this.#socket = null;
    });
    socket.on("error", () => {});
    await this.#within(socket, (resolve) => socket.once(isSecure ? "secureConnect" : "connect", resolve));
    // Responses are read and discarded: with unread data, the socket would not report the end of the connection.
    socket.resume();
    return socket.setTimeout(keepAlive, () => socket.destroy());
  }

  /** Waits for an action of the socket, which is destroyed if the action fails or takes too long. */
  #within(socket: Socket, start: (resolve: () => void, reject: (error: Error) => void) => unknown): Promise<void> {
    const { timeout } = this.#options;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const onClose = () => reject(new Error("the connection was closed"));
    const late = setTimeout(() => reject(new Error(`no progress within ${timeout} ms`)), timeout);
    socket.once("error", reject).once("close", onClose);
    start(resolve, reject);
    return promise
      .catch((error) => {
        socket.destroy();
        throw error;
      })
      .finally(() => {
        clearTimeout(late);
        socket.off("error", reject).off("close", onClose);
      });
  }
}

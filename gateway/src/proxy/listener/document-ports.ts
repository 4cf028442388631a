/** The ports of the document's listeners, which are opened and closed while the engine runs. */
import type { ListenAddress } from "../settings.ts";

export interface DocumentPort {
  readonly port: number;
  readonly protocol: "http" | "https";
}

export interface PortFailure {
  readonly port: number;
  /** Such as EADDRINUSE; undefined: unknown. */
  readonly code: string | undefined;
}

/** A listening socket of a port. */
export interface PortSocket {
  readonly address: ListenAddress;
  /** Accepts no more connections, and ends those whose handshake is not complete. Resolves when all have ended. */
  close(): Promise<void>;
}

export interface DocumentPortsOptions {
  /** Rejects when the port cannot be opened. */
  readonly open: (port: DocumentPort) => Promise<PortSocket>;
  /** Ends the connections of a closed port after their response. */
  readonly drain: (port: number) => void;
  /** Called with the addresses of all open ports after each change. */
  readonly onChange: (open: readonly ListenAddress[]) => void;
}

interface OpenPort extends DocumentPort {
  readonly socket: PortSocket;
}

export class DocumentPorts {
  readonly #options: DocumentPortsOptions;
  readonly #open = new Map<number, OpenPort>();
  /** The sockets of closed ports that still have connections. */
  readonly #closing = new Set<Promise<void>>();
  #isStopped = false;

  constructor(options: DocumentPortsOptions) {
    this.#options = options;
  }

  /**
   * Closes the open ports that are not in the list, and opens the others. Must not be called before the previous call
   * has ended. Resolves to the ports that cannot be opened.
   */
  async set(wanted: readonly DocumentPort[]): Promise<readonly PortFailure[]> {
    if (this.#isStopped) return [];
    const byNumber = new Map(wanted.map((port) => [port.port, port]));
    for (const { port, protocol } of [...this.#open.values()])
      if (byNumber.get(port)?.protocol !== protocol) this.#close(port);
    const missing = wanted.filter(({ port }) => !this.#open.has(port));
    const failures = await Promise.all(missing.map((port) => this.#openPort(port)));
    this.#options.onChange([...this.#open.values()].map(({ socket }) => socket.address));
    return failures.filter((failure) => failure !== null);
  }

  /** Closes all ports for good; open connections are still served. Resolves when no connection is left. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const { port, socket } of this.#open.values()) this.#end(port, socket);
    await Promise.all(this.#closing);
  }

  async #openPort(wanted: DocumentPort): Promise<PortFailure | null> {
    try {
      const socket = await this.#options.open(wanted);
      // The engine stopped in the meantime.
      if (this.#isStopped) void socket.close();
      else this.#open.set(wanted.port, { ...wanted, socket });
      return null;
    } catch (error) {
      return { port: wanted.port, code: (error as NodeJS.ErrnoException).code };
    }
  }

  #close(port: number): void {
    const socket = this.#open.get(port)?.socket;
    if (socket === undefined) return;
    this.#end(port, socket);
    this.#options.drain(port);
  }

  #end(port: number, socket: PortSocket): void {
    this.#open.delete(port);
    const closed = socket.close();
    this.#closing.add(closed);
    void closed.then(() => this.#closing.delete(closed));
  }
}

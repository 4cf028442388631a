/**
 * Admits the connections of clients: each connection takes a slot of the limits, and a connection of a load balancer
 * with the PROXY protocol must begin with a header.
 */
import type { BlockList, Socket } from "node:net";
import { addressSet, isInAddressSet } from "../../outbound/address-set.ts";
import type { ConnectionSlots } from "../../shared-memory/connection-limits.ts";
import { documentPortOf, peerAddressOf, setProxiedAddresses } from "../client/open-connection.ts";
import type { ProxyLog } from "../engine.ts";
import { LogLimiter } from "../observability/log-limiter.ts";
import type { ProxySettings } from "../settings.ts";
import { type ProxyHeader, ProxyHeaderReader } from "./proxy-header.ts";

export interface ClientAdmissionOptions {
  readonly settings: Pick<ProxySettings, "proxyProtocol" | "headersTimeout">;
  readonly slots: ConnectionSlots;
  readonly log: ProxyLog;
  readonly isDraining: () => boolean;
}

export class ClientAdmission {
  readonly #options: ClientAdmissionOptions;
  /** The load balancers whose connections begin with a header; null: there are none. */
  readonly #senders: BlockList | null;
  /** Admitted connections whose header is incomplete. */
  readonly #waiting = new Set<Socket>();
  readonly #lines = new LogLimiter();
  #accepted = 0;
  #dropped = 0;

  constructor(options: ClientAdmissionOptions) {
    const { proxyProtocol } = options.settings;
    this.#options = options;
    this.#senders = proxyProtocol.length === 0 ? null : addressSet(proxyProtocol);
  }

  /** Connections since the start. */
  get accepted(): number {
    return this.#accepted;
  }

  /** Connections since the start that the gateway did not close before they were served. */
  get handled(): number {
    return this.#accepted - this.#dropped;
  }

  /**
   * Takes a slot for a new connection. Until its header has arrived, the connection of a load balancer counts for no
   * address.
   *
   * @returns false: the connection was reset instead
   */
  admit(socket: Socket): boolean {
    const { slots, isDraining } = this.#options;
    this.#accepted++;
    const address = peerAddressOf(socket);
    const isSender = this.#senders !== null && isInAddressSet(this.#senders, address);
    const counted = isSender ? null : address;
    if (isDraining() || !slots.acquire(counted)) {
      this.#reset(socket);
      return false;
    }
    socket.on("close", () => slots.release(counted));
    if (isSender) this.#waiting.add(socket);
    return true;
  }

  /**
   * Calls `serve` with an admitted connection: at once, or when its header has been read. A connection without a valid
   * header is closed instead.
   *
   * @param isPaused Whether the socket stays paused, because `serve` does not read it at once. Default false
   */
  readHeader(socket: Socket, serve: () => void, isPaused = false): void {
    if (!this.#waiting.has(socket)) {
      serve();
      return;
    }
    const reader = new ProxyHeaderReader();
    const refuse = (reason: string) => {
      this.#dropped++;
      this.#logRefusal(socket, reason);
      socket.destroy();
    };
    const timer = setTimeout(() => refuse("the header did not arrive in time"), this.#options.settings.headersTimeout);
    const onData = (piece: Buffer) => {
      const header = reader.read(piece);
      if (typeof header === "string") refuse(header);
      else if (header !== null) {
        stop();
        socket.off("close", stop).off("end", onEnd).off("error", onEnd);
        this.#served(socket, header, serve);
        if (!isPaused) socket.resume();
      }
    };
    const stop = () => {
      clearTimeout(timer);
      this.#waiting.delete(socket);
      socket.off("data", onData);
    };
    // Not logged: load balancers check ports with connections that they close at once.
    const onEnd = () => socket.destroy();
    socket.on("data", onData).once("end", onEnd).once("error", onEnd).once("close", stop);
  }

  /** Closes the connections whose header is incomplete: those to a port of the document, or by default all. */
  closeWaiting(port?: number): void {
    for (const socket of this.#waiting) if (port === undefined || documentPortOf(socket) === port) socket.destroy();
  }

  #served(socket: Socket, { addresses, rest }: ProxyHeader, serve: () => void): void {
    const { slots } = this.#options;
    if (addresses !== null) setProxiedAddresses(socket, addresses);
    const client = peerAddressOf(socket);
    if (!slots.countAddress(client)) {
      this.#reset(socket);
      return;
    }
    socket.once("close", () => slots.uncountAddress(client));
    socket.pause();
    if (rest.length > 0) socket.unshift(rest);
    serve();
  }

  #reset(socket: Socket): void {
    this.#dropped++;
    socket.on("error", () => {}).resetAndDestroy();
  }

  #logRefusal(socket: Socket, reason: string): void {
    const address = peerAddressOf(socket);
    const unlogged = this.#lines.allow(`${address} ${reason}`);
    if (unlogged === null) return;
    const details = { address, port: socket.localPort, reason, ...(unlogged > 0 && { unlogged }) };
    this.#options.log.warn(details, "closed a connection without a valid PROXY header (SLUICE_PROXY_PROTOCOL)");
  }
}

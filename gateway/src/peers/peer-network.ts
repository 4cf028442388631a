/**
 * Connections between the nodes of a fleet, with mutual TLS. Each node sends on connections that it has opened, and
 * receives on those that it has accepted. What cannot be sent is dropped: the protocol repeats it.
 */
import { once } from "node:events";
import type { AddressInfo, Socket } from "node:net";
import { connect, createServer, type TLSSocket } from "node:tls";
import type { PemTexts, ViewedNode } from "@sluice/model/serving";
import type { PeerMessage } from "../counters/fleet/messages.ts";
import { frameOf, MAX_PEER_MESSAGE, PeerFrameReader } from "./frames.ts";
import { parsePeerMessage } from "./parse-message.ts";
import { parseRosterMessage, type RosterMessage } from "./roster-message.ts";

export interface PeerNetworkOptions {
  readonly self: string;
  readonly listen: { readonly host: string; readonly port: number };
  /** The certificate is presented both as a server and as a client. */
  readonly tls: PemTexts;
  /** The DNS name that the certificates of all nodes of the fleet carry. */
  readonly certificateName: string;
  /** @param from The name of a present peer */
  readonly onMessage: (from: string, message: PeerMessage) => void;
  /**
   * Answers a node that looks for the nodes of its fleet. Absent: such connections are refused, because an operator or a
   * database lists the nodes.
   */
  readonly answerRoster?: (message: RosterMessage) => RosterMessage;
  /**
   * Called when a connection of another process is refused.
   *
   * @param isStale The sender or this node has another view, as usual while a view spreads
   */
  readonly onRefusal: (reason: string, isStale: boolean) => void;
  /**
   * Called once when a peer could not be connected to for UNREACHED_AFTER, and again after it was reached in between.
   *
   * @param reason Why the last attempt failed
   */
  readonly onUnreachable: (peer: ViewedNode, reason: string) => void;
}

/** The first message on a connection. */
interface PeerGreeting {
  readonly from: string;
  /** An address may belong to another process by now, with another name. */
  readonly to: string;
}

const FIRST_DELAY = 20;
const MAX_DELAY = 2000;
/** Milliseconds until the handshake and the greeting must have arrived. */
const GREETING_PATIENCE = 5000;
/** Milliseconds without a connection after which a peer is reported as unreachable. */
const UNREACHED_AFTER = 10_000;
const MAX_CONNECTIONS = 4096;
export const PEER_TLS = { minVersion: "TLSv1.3" } as const;

export interface PeerNetwork {
  readonly address: { readonly host: string; readonly port: number };
  /** Connects to these peers, and accepts messages only from them. */
  setPeers(peers: readonly ViewedNode[]): void;
  send(peer: string, message: PeerMessage): void;
  /** Uses these certificates for new connections. */
  renew(tls: PemTexts): void;
  close(): Promise<void>;
}

/** Rejects when the address cannot be listened on. */
export async function openPeerNetwork(options: PeerNetworkOptions): Promise<PeerNetwork> {
  const { listen, certificateName, self, onUnreachable } = options;
  let { tls } = options;
  const outgoing = new Map<string, OutgoingConnection>();
  /** All accepted connections, also those whose handshake has not ended. */
  const accepted = new Set<Socket>();
  const senders = new Map<TLSSocket, string>();
  // `receive` refuses unauthorized clients: with `rejectUnauthorized`, Node would not tell the reason.
  const requirements = { requestCert: true, rejectUnauthorized: false, handshakeTimeout: GREETING_PATIENCE };
  const server = createServer({ ...tls, ...PEER_TLS, ...requirements }, receive);
  server.maxConnections = MAX_CONNECTIONS;
  server.on("tlsClientError", ({ message }) => options.onRefusal(message, false));
  server.on("connection", (socket: Socket) => {
    socket.setNoDelay();
    accepted.add(socket);
    socket.on("close", () => accepted.delete(socket));
  });

  function refuse(socket: Socket, reason: string, isStale = false): void {
    socket.destroy();
    options.onRefusal(reason, isStale);
  }

  function receive(socket: TLSSocket): void {
    socket.on("error", () => undefined);
    const fault = certificateFault(socket, certificateName);
    if (fault !== null) {
      refuse(socket, fault);
      return;
    }
    const patience = setTimeout(() => refuse(socket, "no greeting"), GREETING_PATIENCE);
    socket.on("close", () => {
      clearTimeout(patience);
      senders.delete(socket);
    });
    const reader = new PeerFrameReader();
    socket.on("data", (piece: Buffer) => {
      const messages: PeerMessage[] = [];
      try {
        for (const message of reader.read(piece)) {
          if (senders.has(socket)) messages.push(parsePeerMessage(message));
          else {
            clearTimeout(patience);
            const { roster } = message as { readonly roster?: unknown };
            if (roster === undefined) senders.set(socket, senderOf(message));
            else socket.write(frameOf(rosterOf(roster)));
          }
        }
      } catch (error) {
        refuse(socket, (error as Error).message, error instanceof StaleGreeting);
        return;
      }
      for (const message of messages) {
        const from = senders.get(socket);
        if (from !== undefined) options.onMessage(from, message);
      }
    });
  }

  function rosterOf(message: unknown): RosterMessage {
    if (options.answerRoster === undefined) throw new Error("a node that looks for nodes, and this node has no list");
    return options.answerRoster(parseRosterMessage(message));
  }

  function senderOf(greeting: unknown): string {
    const { from, to } = greeting as PeerGreeting;
    if (to !== self) throw new StaleGreeting("a greeting to another node");
    if (!outgoing.has(from)) throw new StaleGreeting("a greeting of a node that is not a peer");
    return from;
  }

  server.listen(listen);
  await once(server, "listening");
  const { address, port } = server.address() as AddressInfo;
  return {
    address: { host: address, port },
    setPeers(peers) {
      const present = new Map(peers.map((peer) => [peer.name, peer]));
      for (const [name, connection] of outgoing) {
        const peer = present.get(name);
        if (peer !== undefined && connection.leadsTo(peer)) continue;
        outgoing.delete(name);
        connection.close();
      }
      for (const peer of peers) {
        if (peer.name !== self && !outgoing.has(peer.name))
          outgoing.set(
            peer.name,
            new OutgoingConnection(peer, { self, certificateName, onUnreachable, tls: () => tls }),
          );
      }
      for (const [socket, name] of senders) if (!outgoing.has(name)) socket.destroy();
    },
    send: (peer, message) => outgoing.get(peer)?.send(message),
    renew(texts) {
      server.setSecureContext({ ...texts, ...PEER_TLS });
      tls = texts;
    },
    async close() {
      for (const connection of outgoing.values()) connection.close();
      outgoing.clear();
      const closed = once(server, "close");
      server.close();
      for (const socket of accepted) socket.destroy();
      await closed;
    },
  };
}

class StaleGreeting extends Error {
  override readonly name = "StaleGreeting";
}

/** Why the client is not a node of the fleet; null when it is. */
function certificateFault(socket: TLSSocket, name: string): string | null {
  if (!socket.authorized) return `no valid certificate: ${socket.authorizationError}`;
  return carriesName(socket.getPeerCertificate().subjectaltname, name)
    ? null
    : `the certificate does not carry the name ${name}`;
}

/** @param names The alternative names of a certificate, as Node prints them */
export const carriesName = (names: string | undefined, name: string): boolean =>
  (names ?? "").split(", ").includes(`DNS:${name}`);

interface OutgoingOptions extends Pick<PeerNetworkOptions, "self" | "certificateName" | "onUnreachable"> {
  /** The certificates for the next connection. */
  readonly tls: () => PemTexts;
}

/** A connection to a peer, which is opened again after it was lost. */
class OutgoingConnection {
  readonly #peer: ViewedNode;
  readonly #options: OutgoingOptions;
  #socket: TLSSocket | undefined;
  #timer: NodeJS.Timeout | undefined;
  #delay = FIRST_DELAY;
  /** The time of the handshake; undefined: the connection is not open. */
  #openedAt: number | undefined;
  #isClosed = false;
  /** The time since which there is no connection. */
  #lostAt = performance.now();
  #isReported = false;
  #reason = "the connection was closed";

  constructor(peer: ViewedNode, options: OutgoingOptions) {
    this.#peer = peer;
    this.#options = options;
    this.#open();
  }

  /** Whether the peer has this address. */
  leadsTo({ host, port }: ViewedNode): boolean {
    return this.#peer.host === host && this.#peer.port === port;
  }

  send(message: PeerMessage): void {
    if (this.#socket === undefined || this.#openedAt === undefined) return;
    // The peer does not read.
    if (this.#socket.writableLength > MAX_PEER_MESSAGE) this.#socket.destroy();
    else this.#socket.write(frameOf(message));
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#socket?.destroy();
  }

  #open(): void {
    const { tls, certificateName, self, onUnreachable } = this.#options;
    const { host, port, name } = this.#peer;
    const socket = connect({
      ...tls(),
      ...PEER_TLS,
      host,
      port,
      servername: certificateName,
      timeout: GREETING_PATIENCE,
    });
    this.#socket = socket;
    socket.setNoDelay();
    socket.once("secureConnect", () => {
      socket.setTimeout(0);
      this.#openedAt = performance.now();
      this.#isReported = false;
      const greeting: PeerGreeting = { from: self, to: name };
      socket.write(frameOf(greeting));
    });
    // The peer sends nothing on this connection, but without a reader its end would not be noticed.
    socket.resume();
    socket.on("timeout", () => socket.destroy(new Error(`no answer within ${GREETING_PATIENCE} ms`)));
    socket.on("error", ({ message }) => {
      this.#reason = message;
    });
    socket.once("close", () => {
      if (this.#openedAt !== undefined) this.#lostAt = performance.now();
      // A peer that refuses the greeting does so soon after the handshake.
      const wasUsed = this.#openedAt !== undefined && performance.now() - this.#openedAt > MAX_DELAY;
      this.#openedAt = undefined;
      if (this.#isClosed) return;
      if (!this.#isReported && performance.now() - this.#lostAt >= UNREACHED_AFTER) {
        this.#isReported = true;
        onUnreachable(this.#peer, this.#reason);
      }
      if (wasUsed) this.#delay = FIRST_DELAY;
      this.#timer = setTimeout(() => this.#open(), this.#delay * (0.5 + Math.random()));
      this.#delay = Math.min(this.#delay * 2, MAX_DELAY);
    });
  }
}

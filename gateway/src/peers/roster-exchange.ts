/**
 * Finds the nodes of a fleet at the addresses of SLUICE_PEERS, and spreads the views that fleet-roster.ts decides on.
 * In each round a node sends its state and its view to every address, and gets those of the node there.
 */
import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { connect, type TLSSocket } from "node:tls";
import type { PemTexts, ViewedNode } from "@sluice/model/serving";
import type { FleetPeer } from "./fleet-peer.ts";
import { FleetRoster } from "./fleet-roster.ts";
import { frameOf, PeerFrameReader } from "./frames.ts";
import { PEER_TLS } from "./peer-network.ts";
import { parseRosterMessage, type RosterMessage } from "./roster-message.ts";

type Address = Pick<ViewedNode, "host" | "port">;

export interface RosterExchangeOptions {
  readonly peer: FleetPeer;
  /** The nodes of the fleet, also this one. A host name may have the addresses of many nodes. */
  readonly addresses: readonly Address[];
  /** The certificates for the next connection. */
  readonly tls: () => PemTexts;
  readonly certificateName: string;
  readonly warn: (message: string) => void;
}

/** Milliseconds between two rounds while the nodes of the fleet change, and while they do not. */
const ROUND = 250;
const QUIET_ROUND = 2000;
/** Milliseconds until the next round after a change. */
const HURRIED_ROUND = 20;
/** Milliseconds for which an answer is awaited. */
const ANSWER_PATIENCE = 1000;
/** Milliseconds between two look-ups of host names. */
const RESOLVED_EVERY = 2000;
/** Milliseconds after the start in which this node must find itself. */
const FOUND_WITHIN = 10_000;

export class RosterExchange {
  readonly #options: RosterExchangeOptions;
  readonly #roster = new FleetRoster(performance.now());
  readonly #connections = new Map<string, RosterConnection>();
  readonly #startedAt = performance.now();
  #addresses: readonly Address[] = [];
  #resolvedAt = Number.NEGATIVE_INFINITY;
  #roundAt = performance.now();
  #timer: NodeJS.Timeout | undefined;
  #isInRound = false;
  /** Something has changed since the last round began. */
  #hasNews = false;
  #hasWarned = false;
  #isClosed = false;

  constructor(options: RosterExchangeOptions) {
    this.#options = options;
    options.peer.changes.addEventListener("state", () => this.#hurry());
    void this.#round();
  }

  /** This node's message, after it has adopted the view of the given one of another node. */
  answer(message: RosterMessage): RosterMessage {
    if (!this.#roster.knows(message)) this.#hurry();
    if (message.view !== null) this.#options.peer.publish(message.view);
    return this.#message();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    for (const connection of this.#connections.values()) connection.close();
  }

  async #round(): Promise<void> {
    const since = performance.now() - this.#roundAt;
    this.#roundAt = performance.now();
    this.#isInRound = true;
    this.#hasNews = false;
    if (since > QUIET_ROUND + 2 * ANSWER_PATIENCE) this.#roster.stall(since);
    await this.#resolve();
    if (this.#isClosed) return;
    this.#roster.ask(this.#addresses);
    await Promise.all(this.#addresses.map((address) => this.#exchange(address)));
    if (this.#isClosed) return;
    const view = this.#roster.next(this.#message(), performance.now());
    if (view !== null) this.#options.peer.publish(view);
    this.#warnUnlessFound();
    this.#isInRound = false;
    const isQuiet = !this.#hasNews && this.#roster.isComplete;
    // The other nodes need a new view at once.
    this.#schedule(view !== null ? 0 : isQuiet ? QUIET_ROUND : ROUND);
  }

  #schedule(delay: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#round(), delay);
  }

  /** Begins a round soon. If one is under way, the next one follows it as usual while nodes change. */
  #hurry(): void {
    if (this.#hasNews || this.#isClosed) return;
    this.#hasNews = true;
    if (!this.#isInRound) this.#schedule(HURRIED_ROUND);
  }

  #message(): RosterMessage {
    const { peer } = this.#options;
    const { name, state } = peer.state;
    return { name, state, view: peer.view ?? null, reached: this.#roster.reached };
  }

  async #exchange(address: Address): Promise<void> {
    const key = `${address.host}:${address.port}`;
    const connection =
      this.#connections.get(key) ?? new RosterConnection(address, { ...this.#options, onClose: () => this.#hurry() });
    this.#connections.set(key, connection);
    const message = await connection.exchange(this.#message());
    if (message === "refused") this.#roster.refuse(address);
    else if (message !== "silent") {
      if (!this.#roster.knows(message)) this.#hurry();
      this.#roster.answer(address, message, performance.now());
      if (message.view !== null) this.#options.peer.publish(message.view);
    }
  }

  async #resolve(): Promise<void> {
    if (performance.now() - this.#resolvedAt < RESOLVED_EVERY) return;
    this.#resolvedAt = performance.now();
    const found = await Promise.all(this.#options.addresses.map(addressesOf));
    const byKey = new Map(found.flat().map((address) => [`${address.host}:${address.port}`, address]));
    this.#addresses = [...byKey.values()];
    for (const [key, connection] of this.#connections) {
      if (byKey.has(key)) continue;
      connection.close();
      this.#connections.delete(key);
    }
  }

  #warnUnlessFound(): void {
    const isLate = performance.now() - this.#startedAt > FOUND_WITHIN;
    if (!isLate || this.#hasWarned || this.#roster.reached.includes(this.#options.peer.state.name)) return;
    this.#hasWarned = true;
    this.#options.warn("this node does not find itself at the addresses of SLUICE_PEERS: add its own address");
  }
}

/** A host name that cannot be resolved has no addresses for now. */
async function addressesOf({ host, port }: Address): Promise<readonly Address[]> {
  if (isIP(host) !== 0) return [{ host, port }];
  const found = await lookup(host, { all: true }).catch(() => []);
  return found.map(({ address }) => ({ host: address, port }));
}

/** refused: no node of the fleet listens on the address. silent: it may be busy. */
type RosterAnswer = RosterMessage | "refused" | "silent";

interface RosterConnectionOptions extends Pick<RosterExchangeOptions, "tls" | "certificateName"> {
  /** Called when the connection was lost. */
  readonly onClose: () => void;
}

/** A connection to one address, which stays open between rounds. */
class RosterConnection {
  readonly #address: Address;
  readonly #options: RosterConnectionOptions;
  #socket: TLSSocket | undefined;
  #answer: ((answer: RosterAnswer) => void) | undefined;

  constructor(address: Address, options: RosterConnectionOptions) {
    this.#address = address;
    this.#options = options;
  }

  async exchange(message: RosterMessage): Promise<RosterAnswer> {
    const socket = this.#socket ?? this.#open();
    const { promise, resolve } = Promise.withResolvers<RosterAnswer>();
    this.#answer = resolve;
    socket.write(frameOf({ roster: message }));
    const patience = setTimeout(resolve, ANSWER_PATIENCE, "silent");
    const answer = await promise;
    clearTimeout(patience);
    this.#answer = undefined;
    // A late answer must not be taken for that of the next round.
    if (answer === "silent") socket.destroy();
    return answer;
  }

  close(): void {
    this.#socket?.destroy();
  }

  #open(): TLSSocket {
    const { tls, certificateName, onClose } = this.#options;
    const socket = connect({ ...tls(), ...PEER_TLS, ...this.#address, servername: certificateName });
    const reader = new PeerFrameReader();
    this.#socket = socket;
    socket.on("data", (piece: Buffer) => {
      try {
        for (const message of reader.read(piece)) this.#answer?.(parseRosterMessage(message));
      } catch {
        socket.destroy();
      }
    });
    socket.on("error", () => undefined);
    socket.once("close", () => {
      if (this.#socket === socket) this.#socket = undefined;
      this.#answer?.("refused");
      onClose();
    });
    return socket;
  }
}

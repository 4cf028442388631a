/**
 * Decides which view a node publishes if the nodes list themselves (SLUICE_PEERS): the reachable node whose name sorts
 * first publishes views, and the others adopt the view with the highest epoch. Pure: the caller passes the messages and
 * the time.
 */
import { type PublishedView, REMOVE_PEER_AFTER, type ViewedNode } from "@sluice/model/serving";
import type { RosterMessage } from "./roster-message.ts";

/** Milliseconds after the start for which a node waits for the answers of all addresses before it publishes a view. */
const FIRST_PATIENCE = 2000;

type Address = Pick<ViewedNode, "host" | "port">;

/** The last answer of an address. */
interface Answer {
  readonly address: Address;
  readonly message: RosterMessage;
  at: number;
}

export class FleetRoster {
  readonly #startedAt: number;
  readonly #answers = new Map<string, Answer>();
  /** The addresses that were asked in the last round. */
  #asked: readonly Address[] = [];

  /** @param now Milliseconds of a monotonic clock, as in all methods */
  constructor(now: number) {
    this.#startedAt = now;
  }

  /** The names of the nodes that have answered, and are not known to have ended. */
  get reached(): readonly string[] {
    return [...new Set([...this.#answers.values()].map(({ message }) => message.name))];
  }

  /** Whether all addresses have answered. */
  get isComplete(): boolean {
    return this.#asked.length > 0 && this.#answers.size === this.#asked.length;
  }

  /** Whether the node's last answer had the same state, and a view with the same epoch. */
  knows({ name, state, view }: RosterMessage): boolean {
    return [...this.#answers.values()].some(
      ({ message }) => message.name === name && message.state === state && message.view?.epoch === view?.epoch,
    );
  }

  /** The addresses of the round that begins. The answers of other addresses are forgotten. */
  ask(addresses: readonly Address[]): void {
    this.#asked = addresses;
    const keys = new Set(addresses.map(keyOf));
    for (const key of this.#answers.keys()) if (!keys.has(key)) this.#answers.delete(key);
  }

  answer(address: Address, message: RosterMessage, now: number): void {
    this.#answers.set(keyOf(address), { address, message, at: now });
  }

  /** No process listens on the address. */
  refuse(address: Address): void {
    this.#answers.delete(keyOf(address));
  }

  /** This process did not run for some time, so no answer could arrive. */
  stall(milliseconds: number): void {
    for (const answer of this.#answers.values()) answer.at += milliseconds;
  }

  /** The view that the node with this message must publish now; null: none. */
  next(own: RosterMessage, now: number): PublishedView | null {
    for (const [key, { at }] of this.#answers) if (now - at >= REMOVE_PEER_AFTER) this.#answers.delete(key);
    if (own.view === null && !this.isComplete && now - this.#startedAt < FIRST_PATIENCE) return null;
    const nodes = this.#nodes(own);
    const present = nodes.filter(({ message }) => message.state === "present");
    const leaving = nodes.filter(({ message }) => message.state === "leaving");
    if (!isFirst(own, nodes)) return null;
    const [members, others] = [present, leaving].map((list) =>
      list.map(({ name, host, port }) => ({ name, host, port })),
    );
    const view = { members: members ?? [], leaving: others ?? [] };
    const views = nodes.flatMap(({ message }) => (message.view === null ? [] : [message.view]));
    const newest = Math.max(own.view?.epoch ?? 0, ...views.map(({ epoch }) => epoch));
    // After a partition, the other nodes may have another view with the same epoch.
    const isCurrent = views.every(({ epoch, ...rest }) => epoch < newest || isEqual(rest, view));
    if (own.view?.epoch === newest && isCurrent && isEqual(own.view, view)) return null;
    return { epoch: newest + 1, ...view };
  }

  /** The nodes by name, with this node's present state. A node with several addresses is listed once. */
  #nodes(own: RosterMessage): readonly (ViewedNode & { readonly message: RosterMessage })[] {
    const byName = new Map<string, ViewedNode & { readonly message: RosterMessage }>();
    const answers = [...this.#answers.values()].toSorted((one, other) =>
      compare(keyOf(one.address), keyOf(other.address)),
    );
    for (const { address, message } of answers) {
      const { name } = message;
      if (!byName.has(name)) byName.set(name, { name, ...address, message: name === own.name ? own : message });
    }
    return [...byName.values()].toSorted((one, other) => compare(one.name, other.name));
  }
}

/**
 * Whether no node with a name that sorts before is reached, by this node or by another one that it reaches. A node that
 * shuts down counts only if all do.
 */
function isFirst(own: RosterMessage, nodes: readonly { readonly message: RosterMessage }[]): boolean {
  const isPresent = ({ message }: { readonly message: RosterMessage }) => message.state === "present";
  const publishing = nodes.some(isPresent) ? nodes.filter(isPresent) : nodes;
  const shutDown = new Set(nodes.filter((node) => !publishing.includes(node)).map(({ message }) => message.name));
  const names = nodes
    .flatMap(({ message }) => [message.name, ...message.reached])
    .filter((name) => !shutDown.has(name));
  return publishing.some(({ message }) => message.name === own.name) && names.every((name) => name >= own.name);
}

const keyOf = ({ host, port }: Address): string => `${host}:${port}`;
const compare = (one: string, other: string): number => (one < other ? -1 : Number(one > other));

const isEqual = ({ members, leaving }: Omit<PublishedView, "epoch">, other: Omit<PublishedView, "epoch">): boolean =>
  JSON.stringify([members, leaving]) === JSON.stringify([other.members, other.leaving]);

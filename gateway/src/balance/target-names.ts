/**
 * Resolves the names of targets again and again, so that each of several addresses of a name becomes a member of the
 * balancer. As in Kong, SRV records (RFC 2782) take precedence over addresses, and only those of the highest priority
 * count. A name with a single address is left to the connections, each of which resolves it.
 */
import { isIP } from "node:net";
import { bucketDifferences, type Target } from "@sluice/model/serving";
import type { Guard } from "../outbound/guard.ts";
import type { NameService } from "../outbound/name-service.ts";
import { type CheckClock, realClock } from "./check-clock.ts";
import { parseTargetAddress } from "./target-state.ts";

/** One of the addresses of a target's name. */
export interface ResolvedAddress {
  /** An address, or the name in an SRV record. */
  readonly host: string;
  readonly port: number;
  /** The weight of the SRV record, at least 1; null: an address, which has the target's weight. */
  readonly weight: number | null;
}

/** By the target's `host:port`. Targets that are not listed have one member, their own host. */
export type ResolvedTargets = ReadonlyMap<string, readonly ResolvedAddress[]>;

export const noResolvedTargets: ResolvedTargets = new Map();

export interface TargetNamesOptions {
  readonly names: NameService;
  /** Refused addresses are left out. */
  readonly reasonToRefuse: Guard["reasonToRefuse"];
  /** Called with the addresses of all names after a change. */
  readonly onChange: (resolved: ResolvedTargets) => void;
  readonly clock?: CheckClock;
}

/** Milliseconds between two lookups of a name, as Envoy's `dns_refresh_rate`. */
const INTERVAL = 5000;
/** Milliseconds for which a change of the configuration waits for the first lookups of new names. */
const FIRST_WAIT = 1000;
/** Maximum number of lookups at the same time: the system's lookups share four threads with file operations. */
const CONCURRENCY = 2;
/** Maximum number of members of one target. */
const MAX_ADDRESSES = 256;

export class TargetNames {
  readonly #options: Required<TargetNamesOptions>;
  /** The number of targets by their `host:port`, without those whose host is an address. */
  readonly #uses = new Map<string, number>();
  #targets: ReadonlyMap<string, Target> = new Map();
  #resolved: ResolvedTargets = noResolvedTargets;
  #cancel: (() => void) | null = null;
  #isClosed = false;

  constructor({ names, reasonToRefuse, onChange, clock = realClock }: TargetNamesOptions) {
    this.#options = { names, reasonToRefuse, onChange, clock };
  }

  /**
   * Resolves only the names of these targets from now on. Resolves as soon as new names have been looked up, but after
   * a second at the latest. Never rejects.
   *
   * @param targets By id
   */
  async follow(targets: ReadonlyMap<string, Target>): Promise<void> {
    const fresh = new Set<string>();
    for (const { before, after } of bucketDifferences(this.#targets, targets)) {
      if (before?.target === after?.target) continue;
      if (after !== undefined && isNamed(after) && this.#count(after.target, 1) === 1) fresh.add(after.target);
      if (before !== undefined && isNamed(before) && this.#count(before.target, -1) === 0) fresh.delete(before.target);
    }
    this.#targets = targets;
    if (fresh.size > 0) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const stop = this.#options.clock.after(FIRST_WAIT, resolve);
      await Promise.race([this.#lookUp([...fresh]), promise]);
      stop();
    }
    if (this.#cancel === null && this.#uses.size > 0) this.#schedule();
  }

  close(): void {
    this.#isClosed = true;
    this.#cancel?.();
  }

  #count(name: string, change: 1 | -1): number {
    const uses = (this.#uses.get(name) ?? 0) + change;
    if (uses > 0) this.#uses.set(name, uses);
    else this.#uses.delete(name);
    return uses;
  }

  #schedule(): void {
    if (this.#isClosed) return;
    this.#cancel = this.#options.clock.after(INTERVAL, async () => {
      await this.#lookUp([...this.#uses.keys()]);
      this.#cancel = null;
      if (this.#uses.size > 0) this.#schedule();
    });
  }

  async #lookUp(targets: readonly string[]): Promise<void> {
    const found = new Map<string, readonly ResolvedAddress[] | null>();
    const due = targets.values();
    const inTurn = async () => {
      for (const target of due) found.set(target, await this.#addressesOf(target));
    };
    await Promise.all(Array.from({ length: CONCURRENCY }, inTurn));
    const next = new Map([...this.#resolved].filter(([target]) => this.#uses.has(target)));
    let isChanged = next.size < this.#resolved.size;
    for (const [target, addresses] of found) {
      const before = next.get(target) ?? null;
      if (!this.#uses.has(target) || keyOf(before) === keyOf(addresses)) continue;
      isChanged = true;
      if (addresses === null) next.delete(target);
      else next.set(target, addresses);
    }
    if (!isChanged || this.#isClosed) return;
    this.#resolved = next;
    this.#options.onChange(next);
  }

  /** Null: the target's own host is its member. While DNS does not answer, the addresses remain the same. */
  async #addressesOf(target: string): Promise<readonly ResolvedAddress[] | null> {
    const { host, port } = parseTargetAddress(target);
    const known = this.#resolved.get(target) ?? null;
    const [records, addresses] = await Promise.all([this.#records(host, port), this.#addresses(host, port)]);
    if (records === "unanswered" && known?.some(({ weight }) => weight !== null)) return known;
    if (records !== "unanswered" && records !== null) return records;
    return addresses === "unanswered" ? known : addresses;
  }

  /** Null: there are no SRV records. A name of a single label has none. */
  async #records(host: string, port: number): Promise<readonly ResolvedAddress[] | null | "unanswered"> {
    if (!host.includes(".")) return null;
    try {
      const records = await this.#options.names.serviceRecords(host);
      if (records.length === 0) return null;
      const first = Math.min(...records.map(({ priority }) => priority));
      // The name "." means that the service is not available.
      const best = records.filter(({ priority, name }) => priority === first && name !== "" && name !== ".");
      return inOrder(
        // As in Kong: port 0 stands for the target's port, and a record of weight 0 is used with weight 1.
        best.map((record) => ({
          host: record.name,
          port: record.port || port,
          weight: Math.max(1, record.weight),
        })),
      );
    } catch {
      return "unanswered";
    }
  }

  /** Null: there are not several addresses. As in Kong, IPv6 addresses count only if there are no IPv4 addresses. */
  #addresses(host: string, port: number): Promise<readonly ResolvedAddress[] | null | "unanswered"> {
    const { names, reasonToRefuse } = this.#options;
    const { promise, resolve } = Promise.withResolvers<readonly ResolvedAddress[] | null | "unanswered">();
    names.lookup(host, { all: true }, (error, found) => {
      if (error !== null) return resolve(error.code === "ENOTFOUND" ? null : "unanswered");
      const four = found.filter(({ family }) => family === 4);
      const allowed = (four.length > 0 ? four : found)
        .filter(({ address }) => reasonToRefuse(address, port) === null)
        .map(({ address }) => ({ host: address, port, weight: null }));
      const unique = inOrder(allowed);
      resolve(unique.length > 1 ? unique : null);
    });
    return promise;
  }
}

const isNamed = ({ target }: Target): boolean => isIP(parseTargetAddress(target).host) === 0;

const placeOf = ({ host, port }: ResolvedAddress): string => `${host} ${port}`;

const keyOf = (addresses: readonly ResolvedAddress[] | null): string | undefined =>
  addresses?.map((address) => `${placeOf(address)} ${address.weight}`).join();

/** Without duplicates, in an order that does not depend on that of the response. */
function inOrder(addresses: readonly ResolvedAddress[]): readonly ResolvedAddress[] {
  const unique = new Map(addresses.map((address) => [placeOf(address), address]));
  return [...unique]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([, address]) => address)
    .slice(0, MAX_ADDRESSES);
}

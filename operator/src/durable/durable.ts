/** When what is acknowledged is kept: soon after a change, and not more often than the interval says. */
import { Fault, type Resource } from "@sluice/crds";
import type { Logger } from "pino";
import { pause } from "../publish/pause.ts";
import type { Acknowledged, Keeper } from "./keeper.ts";

export interface DurableOptions {
  readonly keeper: Keeper;
  /** Milliseconds between two writes at least, and between two looks at the key. */
  readonly interval: number;
  /** Of the document that is to be kept, though it may not be acknowledged yet; null while another operator leads. */
  readonly hash: () => string | null;
  /** Another one when there is something else to be kept, though the document may be the same. */
  readonly version: () => number;
  /** What the nodes run; null while some do not yet, or another operator leads. */
  readonly acknowledged: () => Acknowledged | null;
  /** What was kept and was not known yet has been read; null: there is none, or it cannot be read. */
  readonly onRead: (kept: ReadonlyMap<string, Resource> | null) => void;
  readonly log: Pick<Logger, "info" | "warn">;
  /** Milliseconds between attempts to read. Default: 1000. */
  readonly retryInterval?: number;
  /** Milliseconds for which a refusal to have it read is taken for one that passes. Default: 15,000. */
  readonly patience?: number;
}

export interface Durable {
  /** Whether what was kept has been looked at: since the start, and since the term began in which we lead. */
  isRead(): boolean;
  /** Something may have been acknowledged. */
  look(): void;
  /** Who leads has changed: another operator may have kept something since. Before we publish it is looked at. */
  lead(isOurs: boolean): void;
  /** When something was kept last, Unix milliseconds; null: not by this process. */
  keptAt(): number | null;
  /** Keeps what was acknowledged last, if the store takes it soon. */
  close(): Promise<void>;
}

/** Changes that come together are written together. */
const SOON = 1000;
const RETRY = 1000;
/** A role that was just bound, a webhook or a credential plugin of the cloud may refuse for a moment. */
const PATIENCE = 15_000;
/** Milliseconds that a last write may take. Others wait for the lead meanwhile. */
const LAST_WRITE = 500;

export function createDurable(options: DurableOptions): Durable {
  const { keeper, interval, hash, version, acknowledged, onRead, log } = options;
  const { retryInterval = RETRY, patience = PATIENCE } = options;
  const closing = new AbortController();
  let isRead = false;
  let isReading = false;
  /** Another operator may have kept something since the reading that is under way was begun. */
  let isWanted = true;
  let refusedSince: number | null = null;
  let keptHash: string | null = null;
  let keptVersion = 0;
  let keptAt: number | null = null;
  /** How often who leads has changed. */
  let turns = 0;
  let triedAt = Number.NEGATIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> | undefined;
  let trouble = "";
  /** Nobody waits for a write any more. */
  let isOver = false;
  let isLooking = false;

  function tell(error: unknown, what: string): void {
    const { message } = error as Error;
    if (message !== trouble) log.warn({ reason: message }, what);
    trouble = message;
  }

  /** Whether it is worth another attempt. */
  function mayPass(error: unknown): boolean {
    if (isNoAnswer(error)) {
      refusedSince = null;
      return true;
    }
    refusedSince ??= performance.now();
    return performance.now() - refusedSince < patience;
  }

  async function attempts(): Promise<ReadonlyMap<string, Resource> | null> {
    while (!closing.signal.aborted) {
      try {
        const kept = await keeper.read();
        refusedSince = null;
        trouble = "";
        return kept;
      } catch (error) {
        tell(error, "cannot read what was kept");
        if (!mayPass(error)) {
          log.warn({ reason: (error as Error).message }, "goes on without what was kept");
          return null;
        }
        await pause(retryInterval, closing.signal);
      }
    }
    return null;
  }

  function take(kept: ReadonlyMap<string, Resource> | null): void {
    if (kept) log.info({ resources: kept.size }, "read what was kept");
    onRead(kept);
  }

  async function read(): Promise<void> {
    if (isReading) return;
    isReading = true;
    while (isWanted) {
      isWanted = false;
      const kept = await attempts();
      if (closing.signal.aborted) return;
      isRead = !isWanted;
      take(kept);
    }
    isReading = false;
    look();
  }

  const isDue = (latest: string) => latest !== keptHash || version() !== keptVersion;

  async function write(): Promise<void> {
    const now = acknowledged();
    if (!now || !isDue(now.hash)) return;
    const [turn, written] = [turns, version()];
    triedAt = performance.now();
    try {
      // What an operator of before kept late, or what could not be read in time, must not be lost by this.
      const unknown = await keeper.read();
      if (unknown) {
        triedAt = Number.NEGATIVE_INFINITY;
        return take(unknown);
      }
      await keeper.write(now);
      keptAt = Date.now();
      trouble = "";
      if (turn === turns) [keptHash, keptVersion] = [now.hash, written];
    } catch (error) {
      // What is cut off then is told when the store is closed, and means nothing.
      if (!isOver) tell(error, "cannot keep what is acknowledged, trying again");
    }
  }

  function look(): void {
    if (timer || writing || closing.signal.aborted || !isRead) return;
    const latest = hash();
    if (latest === null || !isDue(latest)) return;
    const wait = Math.max(Math.min(SOON, interval), triedAt + interval - performance.now());
    timer = setTimeout(() => {
      timer = undefined;
      writing = write().finally(() => {
        writing = undefined;
        look();
      });
    }, wait).unref();
  }

  /** Nobody tells of the key: RBAC lets the operator read its Secret by name alone. */
  async function lookAtKey(): Promise<void> {
    if (isLooking || !isRead || hash() === null) return;
    isLooking = true;
    try {
      if (await keeper.hasOtherKey()) keptHash = null;
    } catch (error) {
      if (!closing.signal.aborted) tell(error, "cannot read the encryption key of the kept document");
    }
    isLooking = false;
    look();
  }

  const looking = setInterval(() => void lookAtKey(), interval).unref();
  void read();
  return {
    isRead: () => isRead,
    look,
    lead(isOurs) {
      keptHash = null;
      turns++;
      if (!isOurs) return;
      isRead = false;
      isWanted = true;
      void read();
    },
    keptAt: () => keptAt,
    async close() {
      closing.abort();
      clearTimeout(timer);
      clearInterval(looking);
      const last = async () => {
        await writing;
        const latest = hash();
        if (isRead && latest !== null && isDue(latest)) await write();
      };
      const late = new AbortController();
      await Promise.race([last(), pause(LAST_WRITE, late.signal)]);
      late.abort();
      isOver = true;
    },
  };
}

/**
 * The network, or a server that has too much to do: that passes, and nothing was said. Anything else is a refusal, such
 * as a 403: it may pass, but nothing waits for it for ever.
 */
function isNoAnswer(error: unknown): boolean {
  if (error instanceof Fault) return error.code === 429 || error.code >= 500;
  if (error instanceof DOMException) return error.name === "TimeoutError" || error.name === "AbortError";
  return error instanceof Error && "code" in error && typeof error.code === "string";
}

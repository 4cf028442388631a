/** When what is acknowledged is kept: soon after a change, and not more often than the interval says. */
import type { Resource } from "@sluice/crds";
import type { Logger } from "pino";
import { pause } from "../publish/pause.ts";
import type { Acknowledged, Keeper } from "./keeper.ts";

export interface DurableOptions {
  readonly keeper: Keeper;
  /** Milliseconds between two writes at least. */
  readonly interval: number;
  /** Of the document that is to be kept, though it may not be acknowledged yet; null while another operator leads. */
  readonly hash: () => string | null;
  /** What the nodes run; null while some do not yet, or another operator leads. */
  readonly acknowledged: () => Acknowledged | null;
  /** What was kept has been read, or cannot be: null. */
  readonly onRead: (kept: ReadonlyMap<string, Resource> | null) => void;
  readonly log: Pick<Logger, "info" | "warn">;
}

export interface Durable {
  /** Whether what was kept has been looked at. */
  isRead(): boolean;
  /** Something may have been acknowledged. */
  look(): void;
  /** Who leads has changed: another operator may have kept something since. */
  lead(): void;
  /** When something was kept last, Unix milliseconds; null: not by this process. */
  keptAt(): number | null;
  /** Keeps what was acknowledged last, if the store takes it soon. */
  close(): Promise<void>;
}

/** Changes that come together are written together. */
const SOON = 1000;
/** Milliseconds between attempts to read. */
const AGAIN = 1000;
/** Milliseconds that a last write may take. Others wait for the lead meanwhile. */
const LAST_WRITE = 500;

export function createDurable({ keeper, interval, hash, acknowledged, onRead, log }: DurableOptions): Durable {
  const closing = new AbortController();
  let isRead = false;
  let keptHash: string | null = null;
  let keptAt: number | null = null;
  let triedAt = Number.NEGATIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> | undefined;
  let trouble = "";
  /** Nobody waits for a write any more. */
  let isOver = false;

  function tell(error: unknown, what: string): void {
    const { message } = error as Error;
    if (message !== trouble) log.warn({ reason: message }, what);
    trouble = message;
  }

  async function read(): Promise<void> {
    while (!closing.signal.aborted) {
      try {
        const kept = await keeper.read();
        if (closing.signal.aborted) return;
        if (kept) log.info({ resources: kept.size }, "read what was kept");
        isRead = true;
        return onRead(kept);
      } catch (error) {
        tell(error, "cannot read what was kept");
        if (!mayPass(error)) {
          isRead = true;
          return onRead(null);
        }
        await pause(AGAIN, closing.signal);
      }
    }
  }

  async function write(): Promise<void> {
    const now = acknowledged();
    if (!now || now.hash === keptHash) return;
    triedAt = performance.now();
    try {
      await keeper.write(now);
      keptHash = now.hash;
      keptAt = Date.now();
      trouble = "";
    } catch (error) {
      // What is cut off then is told when the store is closed, and means nothing.
      if (!isOver) tell(error, "cannot keep what is acknowledged, trying again");
    }
  }

  function look(): void {
    if (timer || writing || closing.signal.aborted || !isRead) return;
    const latest = hash();
    if (latest === null || latest === keptHash) return;
    const wait = Math.max(Math.min(SOON, interval), triedAt + interval - performance.now());
    timer = setTimeout(() => {
      timer = undefined;
      writing = write().finally(() => {
        writing = undefined;
        look();
      });
    }, wait).unref();
  }

  void read();
  return {
    isRead: () => isRead,
    look,
    lead() {
      keptHash = null;
      look();
    },
    keptAt: () => keptAt,
    async close() {
      closing.abort();
      clearTimeout(timer);
      const last = async () => {
        await writing;
        if (isRead && hash() !== keptHash) await write();
      };
      const late = new AbortController();
      await Promise.race([last(), pause(LAST_WRITE, late.signal)]);
      late.abort();
      isOver = true;
    },
  };
}

/** The network, or a server that has too much to do. Anything else, such as a 403, stays, and nothing waits for it. */
function mayPass(error: unknown): boolean {
  if (!(error instanceof Error && "code" in error)) return false;
  const { code } = error;
  return typeof code === "string" || code === 429 || Number(code) >= 500;
}

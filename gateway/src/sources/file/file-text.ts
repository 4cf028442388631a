/** Reads a file that other processes write, once it is no longer being written. */
import { createHash, hash } from "node:crypto";
import { open, readFile, stat } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

/** Milliseconds for which a changed file must stay the same, because it may be half written. */
const SETTLE = 150;
/** Maximum number of further attempts; if the file still changes after them, `read` fails. */
const SETTLE_TRIES = 20;

/**
 * Milliseconds after which another write certainly changes the file's timestamp: the coarsest resolution of file
 * systems is two seconds. After that only the metadata is checked and the text is not read.
 */
const REST = 2500;

const hashOf = (content: string | Buffer): string => hash("sha256", content);

/** Bytes that are read at a time to compute a hash. */
const PIECE = 131_072;

/** Computes the hash of a file piece by piece: most reads find a file that has not changed, whose text is not needed. */
class FileHash {
  #piece: Buffer | null = null;

  /** Calls must not overlap. */
  async read(file: string): Promise<string> {
    await using handle = await open(file);
    this.#piece ??= Buffer.allocUnsafeSlow(PIECE);
    const digest = createHash("sha256");
    for (;;) {
      const { bytesRead } = await handle.read(this.#piece, 0, PIECE, null);
      if (bytesRead === 0) return digest.digest("hex");
      digest.update(this.#piece.subarray(0, bytesRead));
    }
  }
}

interface Facts {
  readonly inode: bigint;
  readonly all: string;
  readonly changedAt: number;
  /** The file's ctime is later than its mtime: it was moved, or its attributes were set, after it was written. */
  readonly isMoved: boolean;
}

async function factsOf(file: string): Promise<Facts> {
  const { ino: inode, size, mtimeNs, ctimeNs } = await stat(file, { bigint: true });
  const all = `${inode} ${size} ${mtimeNs} ${ctimeNs}`;
  return { inode, all, changedAt: Number(ctimeNs / 1_000_000n), isMoved: ctimeNs > mtimeNs };
}

/** @param rest Default 2500; see REST. */
export function createFileText(file: string, rest = REST) {
  let known: string | null = null;
  const content = new FileHash();
  /**
   * The file's metadata, the time since which it has been the same, and whether the text was read `rest` milliseconds
   * after that time.
   */
  let observed: { readonly facts: string; readonly since: number; certain: boolean } | null = null;
  /** The metadata when it was last read. */
  let last: Facts | null = null;
  /** The inode of the file that has the served text; null: unknown until a read finds the known text again. */
  let accepted: bigint | null = null;

  async function readFacts(): Promise<Facts> {
    last = await factsOf(file);
    return last;
  }

  /** Whether the file cannot have changed since its text was read. */
  function rests({ all }: Facts): boolean {
    const now = performance.now();
    if (observed?.facts !== all) observed = { facts: all, since: now, certain: false };
    else if (observed.certain) return known !== null;
    else observed.certain = now - observed.since >= rest;
    return false;
  }

  /** True for most files when a process starts, because they were written long before the start. */
  const isOld = ({ changedAt }: Facts): boolean => Math.abs(Date.now() - changedAt) > 2 * SETTLE;

  /** The text once the file is no longer being written; null: the text has not changed. */
  async function settled(begun: Facts, isFirst: boolean): Promise<string | null> {
    let facts = begun;
    for (let left = SETTLE_TRIES; ; left--) {
      const found = await content.read(file);
      if (found === known) return null;
      if (!isFirst || !isOld(facts) || left < SETTLE_TRIES) await sleep(SETTLE);
      const before = facts;
      facts = await readFacts();
      const bytes = facts.all === before.all ? await readFile(file) : null;
      if (bytes !== null && hashOf(bytes) === found) {
        known = found;
        return bytes.toString("utf8");
      }
      if (left === 0) throw new Error("it keeps changing while it is read");
    }
  }

  return {
    /** Null: the text has not changed. Rejects when the file cannot be read; then no text is known. */
    async read(): Promise<string | null> {
      const isFirst = last === null;
      try {
        const facts = await readFacts();
        if (rests(facts)) return null;
        const text = await settled(facts, isFirst);
        if (text === null) accepted ??= last?.inode ?? null;
        return text;
      } catch (error) {
        [known, observed] = [null, null];
        throw error;
      }
    },
    /** Records that the file contains this text and the caller knows it: `read` does not return it. */
    know(text: string): void {
      known = hashOf(text);
      accepted = null;
    },
    /** Records that the text that was read last is served: `wasReplaced` compares with its file from now on. */
    accept(): void {
      accepted = last?.inode ?? null;
    },
    /** Makes the next `read` return the last text again. */
    forget(): void {
      known = null;
    },
    /**
     * Whether the text that was read last is in a different file than the accepted text, and this file was moved to its
     * path after it was written. Such a file is complete. A rename changes a file's ctime but not its mtime. False for
     * a file that was written in place, as editors or a shell's `>` do, and for one that was written and moved within
     * one clock tick of the file system (4 ms on Linux).
     */
    wasReplaced: (): boolean => accepted !== null && last !== null && last.inode !== accepted && last.isMoved,
  };
}

/** The text of a file that others write, when nobody writes it. */
import { createHash, hash } from "node:crypto";
import { open, stat } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

export interface FileText {
  /** Null: it is the text that is known. Rejects when the file cannot be read; then no text is known. */
  read(): Promise<string | null>;
  /** The caller knows the text, and that it stands in the file. */
  know(text: string): void;
  /** The text that was read last is served: `wasReplaced` compares with its file from now on. */
  accept(): void;
  /** The text that was read last is told again by the next `read`. */
  forget(): void;
  /**
   * Whether the text that was read last stands in another file than the one that was accepted, and that file was moved
   * there after it was written: then it is complete. A rename changes a file's change time and not its write time. False
   * where the file was written in its place, as an editor or a shell's `>` does, and where it was moved in the same tick of
   * the file system's clock (4 ms on Linux) in which it was written.
   */
  wasReplaced(): boolean;
}

/** Milliseconds for which a file that changed must stay the same: it may be in the middle of being written. */
const SETTLE = 150;
/** How often that is tried before the caller is told that the file is never at rest. */
const SETTLE_TRIES = 20;

/**
 * Milliseconds after which whoever writes a file gives it another time: two seconds is the coarsest that file systems
 * have. From then on what they tell of the file is asked for alone, and not its text.
 */
const REST = 2500;

const PIECE = 64 * 1024;

const hashOf = (content: string | Buffer): string => hash("sha256", content);

/** Piece by piece in one buffer: of a large file, buffers that wait for a collection would take many times its size. */
async function hashOfFile(file: string): Promise<string> {
  const digest = createHash("sha256");
  const piece = Buffer.allocUnsafeSlow(PIECE);
  await using handle = await open(file);
  for (;;) {
    const { bytesRead } = await handle.read(piece, 0, PIECE, null);
    if (bytesRead === 0) return digest.digest("hex");
    digest.update(piece.subarray(0, bytesRead));
  }
}

/**
 * Reads whole files, one after the other, into one buffer: of a large file, buffers that wait for a collection would take
 * many times its size. They are not given back by `ArrayBuffer.transfer`: from the first detached buffer on V8 checks for
 * it with every access to any typed array, and each request costs 3 % more.
 */
class WholeFile {
  #room: Buffer = Buffer.alloc(0);

  /** The text of the file; null when it does not have this hash any more. */
  async textOf(file: string, wanted: string): Promise<string | null> {
    await using handle = await open(file);
    const { size } = await handle.stat();
    // One byte more: a file that has grown is not taken for the one that was hashed.
    if (this.#room.length <= size) this.#room = Buffer.allocUnsafeSlow(size + Math.ceil(size / 8) + 1);
    let length = 0;
    for (;;) {
      const { bytesRead } = await handle.read(this.#room, length, this.#room.length - length, null);
      length += bytesRead;
      if (bytesRead === 0 || length === this.#room.length) break;
    }
    const bytes = this.#room.subarray(0, length);
    return hashOf(bytes) === wanted ? bytes.toString("utf8") : null;
  }
}

interface Facts {
  readonly inode: bigint;
  readonly all: string;
  readonly changedAt: number;
  /** It was moved, or its attributes were set, after it was written. */
  readonly isMoved: boolean;
}

async function factsOf(file: string): Promise<Facts> {
  const { ino: inode, size, mtimeNs, ctimeNs } = await stat(file, { bigint: true });
  const all = `${inode} ${size} ${mtimeNs} ${ctimeNs}`;
  return { inode, all, changedAt: Number(ctimeNs / 1_000_000n), isMoved: ctimeNs > mtimeNs };
}

/** @param rest Default 2500; see REST. */
export function createFileText(file: string, rest = REST): FileText {
  let known: string | null = null;
  const whole = new WholeFile();
  /** What the file system tells, since when, and whether the text was read long enough after that. */
  let told: { readonly facts: string; readonly since: number; certain: boolean } | null = null;
  /** Of the file as it was read last. */
  let last: Facts | null = null;
  /** Of the text that is served; null: whichever holds the text that is known. */
  let accepted: bigint | null = null;

  async function look(): Promise<Facts> {
    last = await factsOf(file);
    return last;
  }

  /** Whether nothing can have changed since the text was read. */
  function rests({ all }: Facts): boolean {
    const now = performance.now();
    if (told?.facts !== all) told = { facts: all, since: now, certain: false };
    else if (told.certain) return known !== null;
    else told.certain = now - told.since >= rest;
    return false;
  }

  /** Of a process that starts: most files were written long before. */
  const isOld = ({ changedAt }: Facts): boolean => Math.abs(Date.now() - changedAt) > 2 * SETTLE;

  /** Null: it is the text that is known. */
  async function settled(begun: Facts, isFirst: boolean): Promise<string | null> {
    let facts = begun;
    for (let left = SETTLE_TRIES; ; left--) {
      const found = await hashOfFile(file);
      if (found === known) return null;
      if (!isFirst || !isOld(facts) || left < SETTLE_TRIES) await sleep(SETTLE);
      const before = facts;
      facts = await look();
      // Only now as a text: of a large file it takes many times the memory of a hash.
      const text = facts.all === before.all ? await whole.textOf(file, found) : null;
      if (text !== null) {
        known = found;
        return text;
      }
      if (left === 0) throw new Error("it keeps changing while it is read");
    }
  }

  return {
    async read() {
      const isFirst = last === null;
      try {
        const facts = await look();
        if (rests(facts)) return null;
        const text = await settled(facts, isFirst);
        if (text === null) accepted ??= last?.inode ?? null;
        return text;
      } catch (error) {
        [known, told] = [null, null];
        throw error;
      }
    },
    know(text) {
      known = hashOf(text);
      accepted = null;
    },
    accept() {
      accepted = last?.inode ?? null;
    },
    forget() {
      known = null;
    },
    wasReplaced: () => accepted !== null && last !== null && last.inode !== accepted && last.isMoved,
  };
}

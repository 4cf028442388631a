/** The text of a file that others write, when nobody writes it. */
import { createHash, hash } from "node:crypto";
import { open, readFile, stat } from "node:fs/promises";
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
   * Whether the text that was read last stands in another file than the one that was accepted, put in its place in one
   * step: then it is complete. False where the file itself was written to, as an editor or a shell's `>` does.
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

/** Null when the file does not have this hash any more. */
async function textOfFile(file: string, wanted: string): Promise<string | null> {
  const bytes = await readFile(file);
  const text = hashOf(bytes) === wanted ? bytes.toString("utf8") : null;
  // Frees the memory now and not at some collection; a small file may stand in a buffer that is shared.
  if (bytes.length === bytes.buffer.byteLength) bytes.buffer.transfer(0);
  return text;
}

interface Facts {
  readonly inode: bigint;
  /** Of its content. */
  readonly content: string;
  readonly all: string;
  readonly changedAt: number;
}

async function factsOf(file: string): Promise<Facts> {
  const { ino: inode, size, mtimeNs, ctimeNs } = await stat(file, { bigint: true });
  const content = `${size} ${mtimeNs}`;
  return { inode, content, all: `${inode} ${content} ${ctimeNs}`, changedAt: Number(ctimeNs / 1_000_000n) };
}

/** @param rest Default 2500; see REST. */
export function createFileText(file: string, rest = REST): FileText {
  let known: string | null = null;
  /** What the file system tells, since when, and whether the text was read long enough after that. */
  let told: { readonly facts: string; readonly since: number; certain: boolean } | null = null;
  /** The file at the path as it was seen first, and as it was read last. */
  let first: Facts | null = null;
  let last: Facts | null = null;
  /** Of the text that is served; null: whichever holds the text that is known. */
  let accepted: bigint | null = null;

  async function look(): Promise<Facts> {
    const facts = await factsOf(file);
    if (first?.inode !== facts.inode) first = facts;
    last = facts;
    return facts;
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
      const text = facts.all === before.all ? await textOfFile(file, found) : null;
      if (text !== null) {
        known = found;
        return text;
      }
      if (left === 0) throw new Error("it keeps changing while it is read");
    }
  }

  return {
    async read() {
      const isFirst = first === null;
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
    wasReplaced: () => accepted !== null && last !== null && last.inode !== accepted && first?.content === last.content,
  };
}

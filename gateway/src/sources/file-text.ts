/** The text of a file that others write, when nobody writes it. */
import { createHash } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

export interface FileText {
  /** Null: it is the text that is known. Rejects when the file cannot be read; then no text is known. */
  read(): Promise<string | null>;
  /** The caller knows the text, and that it stands in the file. */
  know(text: string): void;
}

/** Milliseconds in which the text of a file that changed must stay the same: it may be in the middle of being written. */
const SETTLE = 20;
/** How often that is tried; a file that never rests is taken as it is found. */
const SETTLE_TRIES = 50;

/**
 * Milliseconds after which whoever writes a file gives it another time: two seconds is the coarsest that file systems
 * have. From then on what they tell of the file is asked for alone, and not its text.
 */
const REST = 2500;

const hashOf = (text: string): string => createHash("sha256").update(text).digest("hex");

/** @param rest Default 2500; see REST. */
export function createFileText(file: string, rest = REST): FileText {
  let known: string | null = null;
  /** What the file system tells, since when, and whether the text was read long enough after that. */
  let told: { readonly facts: string; readonly since: number; certain: boolean } | null = null;

  /** Whether nothing can have changed since the text was read. */
  async function rests(): Promise<boolean> {
    const { ino, size, mtimeNs, ctimeNs } = await stat(file, { bigint: true });
    const facts = [ino, size, mtimeNs, ctimeNs].join(" ");
    const now = performance.now();
    if (told?.facts !== facts) told = { facts, since: now, certain: false };
    else if (told.certain) return known !== null;
    else told.certain = now - told.since >= rest;
    return false;
  }

  async function settled(): Promise<string> {
    let text = await readFile(file, "utf8");
    for (let left = SETTLE_TRIES; left > 0 && hashOf(text) !== known; left--) {
      await sleep(SETTLE);
      const again = await readFile(file, "utf8");
      if (again === text) break;
      text = again;
    }
    return text;
  }

  return {
    async read() {
      try {
        if (await rests()) return null;
        const text = await settled();
        const found = hashOf(text);
        if (found === known) return null;
        known = found;
        return text;
      } catch (error) {
        [known, told] = [null, null];
        throw error;
      }
    },
    know(text) {
      known = hashOf(text);
    },
  };
}

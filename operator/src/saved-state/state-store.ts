/**
 * Stores the resources behind the acknowledged document as parts, and a manifest that names the parts. New parts are
 * written before the manifest, and unused parts are removed after the manifest was written: whenever a process is
 * killed, the manifest names only existing parts.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { Conflict, type Resource, type StateBackend } from "@sluice/crds";
import type { Logger } from "pino";
import { createPartCipher, type PartCipher } from "./part-cipher.ts";
import { decodePart, encodePart, MAX_PART_BYTES, partCount, type StateParts, splitIntoParts } from "./state-parts.ts";

export interface AcknowledgedState {
  readonly term: number;
  readonly revision: number;
  readonly hash: string;
  /** The last valid version of each resource, by `refKey`. */
  readonly resources: ReadonlyMap<string, Resource>;
}

interface Manifest {
  readonly format: 1;
  readonly term: number;
  readonly revision: number;
  readonly hash: string;
  readonly parts: readonly string[];
}

export function createStateStore({ store, log }: { readonly store: StateBackend; readonly log: Pick<Logger, "warn"> }) {
  let cipher: PartCipher | undefined;
  let key: Buffer | undefined;
  /** The encoded parts with their resources: an unchanged part is not encoded again. */
  let encodedParts: readonly { readonly part: StateParts[number]; readonly name: string }[] = [];
  let storedParts = new Set<string>();
  /** The term in which `storedParts` was read. In another term, another operator may have removed parts. */
  let storedPartsTerm = 0;
  /** The manifest as last read or written; null: there was none, or it was not read yet. */
  let lastManifest: string | null = null;
  /** The names of parts whose content this process knows; a name identifies its content. */
  let knownParts: ReadonlySet<string> = new Set();

  /**
   * The cipher with the current key, which may be replaced at any time. After a replacement, the next write encrypts
   * all parts again.
   */
  async function currentCipher(): Promise<PartCipher> {
    const current = await store.key();
    if (cipher && key?.equals(current)) return cipher;
    if (cipher)
      log.warn(
        { parts: encodedParts.length },
        "the encryption key of the saved state has changed: encrypting all of it again",
      );
    [cipher, key, encodedParts] = [createPartCipher(current), current, []];
    return cipher;
  }

  async function manifest() {
    const found = await store.manifest();
    return found && { ...found, value: parseManifest(found.text) ?? emptyManifest };
  }

  /** Writes the missing parts and returns all parts with their names. */
  async function putParts(resources: ReadonlyMap<string, Resource>, count: number): Promise<typeof encodedParts> {
    const { nameOf, encrypt } = await currentCipher();
    const before = new Map(encodedParts.map((one) => [one.part[0]?.[0], one]));
    const parts: { part: StateParts[number]; name: string }[] = [];
    for (const part of splitIntoParts(resources, count)) {
      const same = before.get(part[0]?.[0]);
      if (same && isSamePart(same.part, part)) {
        parts.push({ part, name: same.name });
        continue;
      }
      const content = await encodePart(part);
      if (content.length > MAX_PART_BYTES && part.length > 1) return putParts(resources, count * 2);
      if (content.length > MAX_PART_BYTES) {
        log.warn({ resource: part[0]?.[0] }, "a resource is too large to be saved");
        continue;
      }
      const name = nameOf(content);
      parts.push({ part, name });
      if (storedParts.has(name)) continue;
      await store.putPart(name, encrypt(name, content));
      storedParts.add(name);
      // Lets other work run between parts.
      await nextTurn();
    }
    return parts;
  }

  async function readParts({ parts }: Manifest) {
    const { decrypt, nameOf } = await currentCipher();
    const resources = new Map<string, Resource>();
    const faults: { readonly part: string; readonly reason: string }[] = [];
    for (const part of parts) {
      if (knownParts.has(part)) continue;
      const bytes = await store.part(part);
      try {
        if (!bytes) throw new Error("it is missing");
        const content = decrypt(part, bytes);
        if (nameOf(content) !== part) throw new Error("its content does not match its name");
        for (const [key, resource] of await decodePart(content)) resources.set(key, resource);
      } catch (error) {
        faults.push({ part, reason: (error as Error).message });
      }
    }
    return { resources, faults };
  }

  return {
    /**
     * Reads saved state that this process has neither read nor written: the first call reads all of it, later calls
     * read the state that other operators have saved since then. Null: there is no such state. Unreadable parts are
     * logged. Rejects when the store does not respond.
     */
    async read() {
      for (;;) {
        const found = await manifest();
        if (!found || found.text === lastManifest) return null;
        const { resources, faults } = await readParts(found.value);
        // Another operator may have saved during this read, and removed parts of this manifest.
        const isStill = faults.length === 0 || (await manifest())?.version === found.version;
        if (!isStill) continue;
        for (const fault of faults) log.warn(fault, "a part of the saved state cannot be read");
        lastManifest = found.text;
        knownParts = new Set(found.value.parts).difference(new Set(faults.map(({ part }) => part)));
        return resources;
      }
    },
    /** Whether the encryption key has changed since this process last used it: then the state has to be saved again. */
    isKeyReplaced: async () => key !== undefined && !key.equals(await store.key()),
    /** The term in which state was last saved; 0: no state was saved. */
    term: async () => (await manifest())?.value.term ?? 0,
    /**
     * Saves the state. Rejects when an operator of a later term has saved, when there is unread state that would be
     * lost, and when the store fails.
     */
    async write({ term, revision, hash, resources: now }: AcknowledgedState) {
      // A copy: changes during the write are saved next time.
      const resources = new Map(now);
      const before = await manifest();
      if (before && before.value.term > term)
        throw new Conflict("changed", `the operator of term ${before.value.term} has saved a later document`);
      if (before && before.text !== lastManifest)
        throw new Conflict("changed", "the saved state has not been read yet");
      if (storedPartsTerm !== term) {
        storedPartsTerm = 0;
        encodedParts = [];
        storedParts = new Set(await store.parts());
        storedPartsTerm = term;
      }
      encodedParts = await putParts(resources, partCount(resources.size));
      const parts = encodedParts.map(({ name }) => name);
      const value: Manifest = { format: 1, term, revision, hash, parts };
      const text = JSON.stringify(value);
      await store.putManifest(text, before?.version ?? null);
      const used = new Set(parts);
      lastManifest = text;
      knownParts = used;
      for (const name of storedParts) {
        if (used.has(name)) continue;
        await store.removePart(name);
        storedParts.delete(name);
      }
    },
  };
}

export type StateStore = ReturnType<typeof createStateStore>;

const emptyManifest: Manifest = { format: 1, term: 0, revision: 0, hash: "", parts: [] };

function parseManifest(text: string): Manifest | null {
  try {
    const value = JSON.parse(text) as Manifest;
    const isOurs = value.format === 1 && Number.isSafeInteger(value.term) && Array.isArray(value.parts);
    return isOurs && value.parts.every((name) => /^[0-9a-f]{40}$/.test(name)) ? value : null;
  } catch {
    return null;
  }
}

const isSamePart = (one: StateParts[number], other: StateParts[number]): boolean =>
  one.length === other.length &&
  one.every(([key, resource], index) => key === other[index]?.[0] && resource === other[index]?.[1]);

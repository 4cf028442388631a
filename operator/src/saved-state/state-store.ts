/**
 * Keeps what the acknowledged document was made of: parts, and a manifest that names them. Parts come before the
 * manifest and go after it, so that a manifest never names what is not there, whenever a process is killed.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { Conflict, type OwnStore, type Resource } from "@sluice/crds";
import type { Logger } from "pino";
import { createPartCipher, type PartCipher } from "./part-cipher.ts";
import { decodePart, encodePart, MAX_PART_BYTES, partCount, type StateParts, splitIntoParts } from "./state-parts.ts";

/** What the nodes acknowledged. */
export interface AcknowledgedState {
  readonly term: number;
  readonly revision: number;
  readonly hash: string;
  /** The last valid version of each resource, by `ownerKey`. */
  readonly resources: ReadonlyMap<string, Resource>;
}

export interface StateStore {
  /**
   * What was kept and this process has neither read nor kept itself: all of it at first, later what other operators have
   * kept since. Null: nothing. What cannot be read is logged. Rejects when the store gives no answer.
   */
  read(): Promise<ReadonlyMap<string, Resource> | null>;
  /** Whether the key is another than the one that this process has encrypted with: all is to be kept anew. */
  isKeyReplaced(): Promise<boolean>;
  /** The highest term that kept something; 0: none did. */
  term(): Promise<number>;
  /**
   * Keeps it. Rejects when another operator of a later term has kept something, when there is anything that was not
   * read, as it would be lost, and when the store fails.
   */
  write(acknowledged: AcknowledgedState): Promise<void>;
}

interface Manifest {
  readonly format: 1;
  readonly term: number;
  readonly revision: number;
  readonly hash: string;
  readonly parts: readonly string[];
}

export function createStateStore({
  store,
  log,
}: {
  readonly store: OwnStore;
  readonly log: Pick<Logger, "warn">;
}): StateStore {
  let cipher: PartCipher | undefined;
  /** That of the seal. */
  let key: Buffer | undefined;
  /** Parts by what they were made of, so that one that did not change is not made again. */
  let encodedParts: readonly { readonly part: StateParts[number]; readonly name: string }[] = [];
  let storedParts = new Set<string>();
  /** In which term that is known: before, another operator may have removed some. */
  let storedPartsTerm = 0;
  /** What the manifest said when it was read or written last; null: there was none, or nobody has looked. */
  let lastManifest: string | null = null;
  /** The parts whose content this process knows: a name stands for a content. */
  let knownParts: ReadonlySet<string> = new Set();

  /** Somebody may replace the key at any time: what was made with the one before does not count then. */
  async function currentCipher(): Promise<PartCipher> {
    const current = await store.key();
    if (cipher && key?.equals(current)) return cipher;
    if (cipher)
      log.warn(
        { parts: encodedParts.length },
        "the encryption key of the kept document has changed: encrypting all of it again",
      );
    [cipher, key, encodedParts] = [createPartCipher(current), current, []];
    return cipher;
  }

  async function manifest() {
    const found = await store.manifest();
    return found && { ...found, value: parseManifest(found.text) ?? emptyManifest };
  }

  /** The names of the parts; those that were not there are there afterwards. */
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
        log.warn({ resource: part[0]?.[0] }, "a resource is too large to be kept");
        continue;
      }
      const name = nameOf(content);
      parts.push({ part, name });
      if (storedParts.has(name)) continue;
      await store.putPart(name, encrypt(name, content));
      storedParts.add(name);
      // Changes go on between them.
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
        if (!bytes) throw new Error("it is not there");
        const content = decrypt(part, bytes);
        if (nameOf(content) !== part) throw new Error("it is not what its name says");
        for (const [key, resource] of await decodePart(content)) resources.set(key, resource);
      } catch (error) {
        faults.push({ part, reason: (error as Error).message });
      }
    }
    return { resources, faults };
  }

  return {
    async read() {
      for (;;) {
        const found = await manifest();
        if (!found || found.text === lastManifest) return null;
        const { resources, faults } = await readParts(found.value);
        // Another operator may have kept something meanwhile, and removed what this manifest names.
        const isStill = faults.length === 0 || (await manifest())?.version === found.version;
        if (!isStill) continue;
        for (const fault of faults) log.warn(fault, "a part of what was kept cannot be read");
        lastManifest = found.text;
        knownParts = new Set(found.value.parts).difference(new Set(faults.map(({ part }) => part)));
        return resources;
      }
    },
    isKeyReplaced: async () => key !== undefined && !key.equals(await store.key()),
    term: async () => (await manifest())?.value.term ?? 0,
    async write({ term, revision, hash, resources: now }) {
      // What changes meanwhile is for the next time.
      const resources = new Map(now);
      const before = await manifest();
      if (before && before.value.term > term)
        throw new Conflict("changed", `the operator of term ${before.value.term} has kept a later document`);
      if (before && before.text !== lastManifest) throw new Conflict("changed", "what was kept has not been read yet");
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

/** A StateBackend in memory. */
import { randomBytes } from "node:crypto";
import { Conflict, type StateBackend } from "@sluice/crds";

export interface TestStore extends StateBackend {
  readonly kept: Map<string, Buffer>;
  /** The names of the written parts, in order. */
  readonly puts: readonly string[];
  /** Lets this many further writes of parts succeed; all later ones fail. */
  failAfter(puts: number): void;
  /** Replaces the encryption key by a new one. */
  loseKey(): void;
}

export function testStore(): TestStore {
  const kept = new Map<string, Buffer>();
  const puts: string[] = [];
  let key = randomBytes(32);
  let manifest: { readonly text: string; readonly version: string } | null = null;
  let left = Number.POSITIVE_INFINITY;
  let versions = 0;
  return {
    kept,
    puts,
    failAfter: (count) => {
      left = count;
    },
    loseKey: () => {
      key = randomBytes(32);
    },
    key: async () => key,
    manifest: async () => manifest,
    async putManifest(text, before) {
      if ((manifest?.version ?? null) !== before) throw new Conflict("changed", "another process wrote first");
      manifest = { text, version: `${++versions}` };
      return manifest.version;
    },
    parts: async () => [...kept.keys()],
    part: async (name) => kept.get(name) ?? null,
    async putPart(name, content) {
      if (left-- <= 0) throw new Error("the store is full");
      puts.push(name);
      kept.set(name, content);
    },
    removePart: async (name) => void kept.delete(name),
    close: async () => {},
  };
}

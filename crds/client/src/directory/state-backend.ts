/**
 * The operator's own state in the hidden folder of a directory of resources, in files that only their owner may read.
 */
import { createHash, randomBytes } from "node:crypto";
import { chmod, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Conflict, type StateBackend } from "../resource.ts";
import { ensureFolder, writeAtomically } from "./files/atomic.ts";
import { undefinedIfMissing } from "./files/file-cache.ts";
import { statusFolder } from "./view/status-record.ts";

const KEY_BYTES = 32;
const PART = /^part-([a-z0-9]+)$/;

const versionOf = (text: string): string => createHash("sha256").update(text).digest("hex");

/**
 * @param directory The directory of the resources.
 * @param name The state's folder inside the hidden folder.
 */
export function createDirectoryStateBackend(directory: string, name: string): StateBackend {
  const folder = join(directory, statusFolder, name);
  const at = (file: string) => join(folder, file);

  async function manifest() {
    const text = await readFile(at("manifest"), "utf8").catch(undefinedIfMissing);
    return text === undefined ? null : { text, version: versionOf(text) };
  }

  return {
    async key() {
      ensureFolder(join(directory, statusFolder));
      ensureFolder(folder, 0o700);
      await chmod(folder, 0o700);
      await writeFile(at("key"), randomBytes(KEY_BYTES), { flag: "wx", mode: 0o600 }).catch((error) => {
        if (error.code !== "EEXIST") throw error;
      });
      const key = await readFile(at("key"));
      if (key.length !== KEY_BYTES)
        throw new Error(`${at("key")} does not hold a key of ${KEY_BYTES} bytes; remove it`);
      return key;
    },
    manifest,
    async putManifest(text, before) {
      if (((await manifest())?.version ?? null) !== before)
        throw new Conflict("changed", `${at("manifest")} was written by another operator`);
      await writeAtomically(at("manifest"), text, { mode: 0o600 });
      return versionOf(text);
    },
    async parts() {
      const names = (await readdir(folder).catch(undefinedIfMissing)) ?? [];
      return names.flatMap((file) => PART.exec(file)?.[1] ?? []);
    },
    part: async (part) => (await readFile(at(`part-${part}`)).catch(undefinedIfMissing)) ?? null,
    putPart: (part, content) => writeAtomically(at(`part-${part}`), content, { mode: 0o600, durable: false }),
    removePart: (part) => rm(at(`part-${part}`), { force: true }),
    close: async () => {},
  };
}

/** Revisions in the hidden folder of a directory of resources, in files that only their owner may read. */
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseSummary, type RevisionStorage, type RevisionSummary, revisionsName } from "../revisions.ts";
import { ensureFolder, writeAtomically } from "./files/atomic.ts";
import { undefinedIfMissing } from "./files/file-cache.ts";
import { statusFolder } from "./view/status-record.ts";

const SUMMARY_FILE = /^(\d{1,15})\.json$/;

/** @param options.directory The directory of the resources. */
export function createDirectoryRevisionStorage(options: {
  readonly directory: string;
  readonly class: string;
}): RevisionStorage {
  const hidden = join(options.directory, statusFolder);
  const folder = join(hidden, revisionsName(options.class));
  const summaryPath = (number: number) => join(folder, `${number}.json`);
  const contentPath = (number: number) => join(folder, `${number}.gz`);
  return {
    async list() {
      const names = (await readdir(folder).catch(undefinedIfMissing)) ?? [];
      const texts = await Promise.all(
        names
          .filter((name) => SUMMARY_FILE.test(name))
          .map((name) => readFile(join(folder, name), "utf8").catch(undefinedIfMissing)),
      );
      const found: readonly RevisionSummary[] = texts.flatMap((text) => parseSummary(text) ?? []);
      return found.toSorted((one, other) => one.number - other.number);
    },
    content: async (number) => (await readFile(contentPath(number)).catch(undefinedIfMissing)) ?? null,
    async add(revision, content) {
      ensureFolder(hidden);
      await mkdir(folder, { recursive: true, mode: 0o700 });
      // The content is written first, so that every listed revision has its content.
      await writeAtomically(contentPath(revision.number), content, { mode: 0o600, durable: false });
      try {
        await writeFile(summaryPath(revision.number), JSON.stringify(revision), { flag: "wx", mode: 0o600 });
        return true;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
        throw error;
      }
    },
    async remove(number) {
      await rm(summaryPath(number), { force: true });
      await rm(contentPath(number), { force: true });
    },
    close: async () => {},
  };
}

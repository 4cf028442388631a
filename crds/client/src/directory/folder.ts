/** The directory as it is now: looked at as a whole, read again only where it changed. */
import { join } from "node:path";
import type { Log } from "../log.ts";
import type { Ref } from "../resource.ts";
import { keyOf } from "./content.ts";
import { absent, createFileCache, listFiles, type Read } from "./files.ts";
import { parseResources } from "./parse.ts";
import { parseRecord, recordPath, type StatusRecord } from "./record.ts";
import { buildView, type FileContent, type Held, refOf, type Source, type View } from "./view.ts";

export interface Folder {
  /** A view that is no older than the call. Rejects when the directory cannot be read. */
  look(): Promise<View>;
  /** The same for one resource: quick when its files have not changed since the last view. */
  find(ref: Ref): Promise<Held | undefined>;
}

const parallel = 64;

export function createFolder(directory: string, log: Log): Folder {
  const files = createFileCache<FileContent>((text, before) => {
    const parsed = parseResources(text);
    if (!parsed.broken) return { good: parsed, faults: parsed.faults, broken: false };
    // A file that does not parse keeps what it held: a slip while editing must not take a route down.
    const good = before?.value.good ?? { broken: false, resources: [], faults: [] };
    const goodAt = before && (before.value.goodAt ?? { changedAt: before.changedAt, bornAt: before.bornAt });
    return { good, goodAt, faults: parsed.faults, broken: true };
  });
  const records = createFileCache<StatusRecord | null>(parseRecord);
  let view: View | undefined;
  let running: Promise<View> | undefined;
  let next: Promise<View> | undefined;

  async function scan(): Promise<View> {
    const paths = await listFiles(directory, (name) => /\.(ya?ml|json)$/.test(name));
    const read = await inBatches(paths, async (path): Promise<Source | undefined> => {
      const file = await files.read(join(directory, path)).catch((error) => unreadable(path, error));
      return file && { path, file };
    });
    const sources = read.filter((source) => source !== undefined);
    const refs = new Map(
      sources.flatMap(({ file }) => file.value.good.resources.map(refOf)).map((ref) => [keyOf(ref), ref]),
    );
    const found = await inBatches([...refs], async ([key, ref]) => [key, await readRecord(ref)] as const);
    files.keep(new Set(paths.map((path) => join(directory, path))));
    records.keep(new Set([...refs.values()].map((ref) => recordPath(directory, ref))));
    const known = new Map<string, Read<StatusRecord | null>>();
    for (const [key, record] of found) if (record) known.set(key, record);
    const before = view;
    view = buildView(sources, known, before);
    tellProblems(view, before);
    return view;
  }

  function readRecord(ref: Ref): Promise<Read<StatusRecord | null> | undefined> {
    const path = recordPath(directory, ref);
    return records.read(path).catch((error) => unreadable(path, error));
  }

  const said = new Set<string>();
  function unreadable(path: string, error: unknown): undefined {
    const message = `${path}: ${error instanceof Error ? error.message : String(error)}`;
    if (!said.has(message)) log.error({ path }, message);
    said.add(message);
    return undefined;
  }

  function tellProblems(now: View, before: View | undefined): void {
    const known = new Set(before?.problems);
    for (const problem of now.problems) if (!known.delete(problem)) log.error({ directory }, problem);
    for (const solved of known) log.info({ directory }, `solved: ${solved}`);
  }

  function start(): Promise<View> {
    running = scan().finally(() => {
      running = undefined;
    });
    return running;
  }

  /** Those who ask while a scan runs share the next one: theirs must begin after they asked. */
  function look(): Promise<View> {
    if (next) return next;
    if (!running) return start();
    const again = () => {
      next = undefined;
      return start();
    };
    next = running.then(again, again);
    return next;
  }

  return {
    look,
    async find(ref) {
      const before = view?.held.get(keyOf(ref));
      if (before && !running) {
        const file = await files.read(join(directory, before.source.path)).catch(absent);
        const record = await readRecord(ref);
        if (file === before.source.file && record === before.record) return before;
      }
      return (await look()).held.get(keyOf(ref));
    },
  };
}

async function inBatches<Item, Result>(
  items: readonly Item[],
  run: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  for (let from = 0; from < items.length; from += parallel)
    results.push(...(await Promise.all(items.slice(from, from + parallel).map(run))));
  return results;
}

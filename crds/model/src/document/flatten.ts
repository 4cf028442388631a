/**
 * The flat form of a document: children taken out of their parents, references resolved to ids.
 *
 * Entities are not checked here; what is reported is what the nesting and the references get wrong. Every item of
 * the flat document remembers where it stood.
 */
import { checkEntity } from "../check/index.ts";
import type { Document } from "../document.ts";
import { type Collection, collections, entities, nameOf } from "../entities/index.ts";
import { type PerCollection, perCollection } from "../entities/per-collection.ts";
import { references } from "../entities/references.ts";
import { deriveId, deriveNamelessId, idOf } from "../ids.ts";
import { isRecord } from "../schema/walk.ts";
import type { Violation } from "../violation.ts";
import { type DeckInfo, readDeckInfo } from "./deck-info.ts";
import { type Entry, gatherEntries } from "./gather.ts";
import { checkHead } from "./head.ts";
import { markRegexPaths } from "./regex-paths.ts";

export interface FlatDocument {
  readonly document: Document;
  /** Where the items of the flat document stood, by collection and index. */
  readonly origins: PerCollection<readonly Violation["path"][]>;
  readonly violations: readonly Violation[];
}

const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i;

/** Flattens plain data in any of the document's forms. Data that is no document at all gives an empty one. */
export function flattenDocument(data: unknown): FlatDocument {
  const raw = isRecord(data) ? data : {};
  const head = isRecord(data)
    ? checkHead(data)
    : [{ path: [], message: "expected a document: a record with _format_version" }];
  const { entries, violations } = gatherEntries(raw);
  const resolver = new Resolver();
  const info = readDeckInfo(raw._info);
  const legacy = raw._format_version === "1.1" || raw._format_version === "2.1";

  const flat: Partial<Record<Collection, readonly unknown[]>> = {};
  for (const collection of collections) {
    const own = entries.filter((entry) => entry.collection === collection);
    const items = own.map((entry) => resolver.resolve(entry, { legacy, info }));
    if (items.length > 0) flat[collection] = items;
  }
  const origins = perCollection((collection) =>
    entries.filter((entry) => entry.collection === collection).map(({ path }) => path),
  );
  const endpoints = isRecord(raw._sluice) && isRecord(raw._sluice.endpoints) ? raw._sluice.endpoints : undefined;
  const document = { _format_version: "3.0", ...flat, ...(endpoints ? { _sluice: { endpoints } } : {}) } as Document;
  return { document, origins, violations: [...head, ...info.violations, ...violations, ...resolver.violations] };
}

/** Gives entities their ids and turns names into ids. Parents must come before what refers to them. */
class Resolver {
  readonly violations: Violation[] = [];
  readonly #ids = new Map<Entry, string>();
  readonly #known = new Map<string, string>();

  resolve(
    entry: Entry,
    options: { readonly legacy: boolean; readonly info: DeckInfo },
  ): Readonly<Record<string, unknown>> {
    const { collection, parent } = entry;
    const given = options.info.apply(collection, entry.item);
    const own = collection === "routes" && options.legacy ? markRegexPaths(given) : given;
    const resolved = references[collection].map(({ member, to }) => {
      const id = parent?.member === member ? this.#ids.get(parent.entry) : undefined;
      return [member, id === undefined ? this.#refer(own[member], { to, member, entry }) : { id }];
    });
    const item = { ...own, ...Object.fromEntries(resolved.filter(([, value]) => value !== undefined)) };
    const id = typeof item.id === "string" ? item.id.toLowerCase() : idIn(entry, item);
    const key = nameOf(collection, item);
    this.#ids.set(entry, id);
    for (const name of key === undefined ? [id] : [key, id]) {
      const place = `${collection}/${name}`;
      if (!this.#known.has(place)) this.#known.set(place, id);
    }
    return item.id === undefined || item.id === null ? { ...item, id } : item;
  }

  /** A reference as the flat form has it. Forms that say neither an id nor a name are left to the entity's check. */
  #refer(value: unknown, at: { readonly to: Collection; readonly member: string; readonly entry: Entry }): unknown {
    const named = isRecord(value) && typeof value.id !== "string" ? nameOf(at.to, value) : value;
    if (typeof named !== "string") return value;
    const id = this.#known.get(`${at.to}/${UUID.test(named) ? named.toLowerCase() : named}`);
    if (id !== undefined) return { id };
    const message = `invalid reference '${at.member}: ${named}' (no such entry in '${at.to}')`;
    this.violations.push({ path: [...at.entry.path, at.member], message });
    return { id: UUID.test(named) ? named.toLowerCase() : deriveId(at.to, named) };
  }
}

/** The id that the entity's check would give. One with faults gets an id of its place, so that its children find it. */
function idIn({ collection, path }: Entry, item: Readonly<Record<string, unknown>>): string {
  if (nameOf(collection, item) !== undefined && entities[collection].within === undefined)
    return idOf(collection, item);
  return checkEntity(collection, item, { database: true }).value?.id ?? deriveNamelessId(collection, null, { path });
}

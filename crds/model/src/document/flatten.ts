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
import { type DocumentEntry, gatherEntries } from "./gather-entries.ts";
import { checkHead, type Findings } from "./head.ts";
import { type DeckPluginConfigs, readPluginConfigs } from "./plugin-configs.ts";
import { markRegexPaths } from "./regex-paths.ts";

export interface FlatDocument extends Findings {
  readonly document: Document;
  /** Where the items of the flat document stood, by collection and index. */
  readonly origins: PerCollection<readonly Violation["path"][]>;
}

type Members = Readonly<Record<string, unknown>>;

const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i;

/** The id of an entity that the data does not have, by its id or its name. */
export type KnownId = (collection: Collection, idOrName: string) => string | undefined;

/**
 * Flattens plain data in any of the document's forms. Data that is no document at all gives an empty one.
 *
 * @param known What references may name beside the entities of the data. Default: nothing.
 */
export function flattenDocument(data: unknown, known?: KnownId): FlatDocument {
  const raw = isRecord(data) ? data : {};
  const head = isRecord(data)
    ? checkHead(data)
    : { violations: [{ path: [], message: "expected a document: a record with _format_version" }], warnings: [] };
  const { entries, violations, warnings } = gatherEntries(raw);
  const info = readDeckInfo(raw._info);
  const configs = readPluginConfigs(raw._plugin_configs);
  const legacy = raw._format_version === "1.1" || raw._format_version === "2.1";
  const resolver = new ReferenceResolver({ legacy, info, configs, known });

  const flat: Partial<Record<Collection, readonly unknown[]>> = {};
  for (const collection of collections) {
    const own = entries.filter((entry) => entry.collection === collection);
    const items = own.map((entry) => resolver.resolve(entry));
    if (items.length > 0) flat[collection] = items;
  }
  const origins = perCollection((collection) =>
    entries.filter((entry) => entry.collection === collection).map(({ path }) => path),
  );
  const endpoints = isRecord(raw._sluice) && isRecord(raw._sluice.endpoints) ? raw._sluice.endpoints : undefined;
  const document = { _format_version: "3.0", ...flat, ...(endpoints ? { _sluice: { endpoints } } : {}) } as Document;
  const faults = [head, info, configs, { violations }, resolver].flatMap((part) => part.violations);
  return { document, origins, violations: faults, warnings: [...head.warnings, ...info.warnings, ...warnings] };
}

interface ResolverOptions {
  /** Of a format in which a regular expression is not marked as such. */
  readonly legacy: boolean;
  readonly info: DeckInfo;
  readonly configs: DeckPluginConfigs;
  /** What references may name beside the entities of the data. */
  readonly known: KnownId | undefined;
}

/** Gives entities their ids and turns names into ids. Parents must come before what refers to them. */
class ReferenceResolver {
  readonly violations: Violation[] = [];
  readonly #whole: ResolverOptions;
  readonly #ids = new Map<DocumentEntry, string>();
  readonly #known = new Map<string, string>();

  constructor(whole: ResolverOptions) {
    this.#whole = whole;
  }

  resolve(entry: DocumentEntry): Members {
    const { collection, parent } = entry;
    const own = this.#expand(entry, this.#whole.info.apply(collection, entry.item));
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

  /** The members that the format and decK's `_plugin_configs` make of those that are written. */
  #expand({ collection, path }: DocumentEntry, item: Members): Members {
    if (collection === "routes" && this.#whole.legacy) return markRegexPaths(item);
    if (collection !== "plugins") return item;
    const { plugin, violations } = this.#whole.configs.apply(item);
    this.violations.push(...violations.map((violation) => ({ ...violation, path: [...path, ...violation.path] })));
    return plugin;
  }

  /** A reference as the flat form has it. Forms that say neither an id nor a name are left to the entity's check. */
  #refer(
    value: unknown,
    at: { readonly to: Collection; readonly member: string; readonly entry: DocumentEntry },
  ): unknown {
    const inline = isRecord(value) ? inlineMembers(at.to, value) : [];
    const named = isRecord(value) && typeof value.id !== "string" ? nameOf(at.to, value) : value;
    if (typeof named !== "string" && inline.length === 0) return value;
    const name = String(named);
    const spelled = UUID.test(name) ? name.toLowerCase() : name;
    const id = this.#known.get(`${at.to}/${spelled}`) ?? this.#whole.known?.(at.to, spelled);
    if (id !== undefined && inline.length === 0) return { id };
    const { singular } = entities[at.to];
    const message =
      inline.length === 0
        ? `invalid reference '${at.member}: ${name}' (no such entry in '${at.to}')`
        : `expected the name or id of a ${singular}; declare the ${singular} itself (${inline.join(", ")}) under '${at.to}'`;
    this.violations.push({ path: [...at.entry.path, at.member], message });
    return { id: UUID.test(name) ? name.toLowerCase() : deriveId(at.to, name) };
  }
}

/** What stands in a reference beside its name or id. Kong refuses it too: nothing would become of it. */
const inlineMembers = (to: Collection, value: Members): readonly string[] =>
  Object.keys(value).filter((name) => name !== "id" && !entities[to].unique.includes(name));

/** The id that the entity's check would give. One with faults gets an id of its place, so that its children find it. */
function idIn({ collection, path }: DocumentEntry, item: Readonly<Record<string, unknown>>): string {
  if (nameOf(collection, item) !== undefined && entities[collection].within === undefined)
    return idOf(collection, item);
  return checkEntity(collection, item, { database: true }).value?.id ?? deriveNamelessId(collection, null, { path });
}

/**
 * Flattens a document: moves nested children to the top level and resolves references to ids.
 *
 * Entities are not validated here; only violations of the document's own members, of nesting and of references are
 * reported. The original path of every item is kept.
 */

import { isRecord, type Violation } from "@sluice/plugin-sdk";
import { checkEntity } from "../../check/index.ts";
import { type Document, endpointSections } from "../../document.ts";
import {
  type Collection,
  collections,
  entities,
  entityNameOf,
  type PerCollection,
  perCollection,
  references,
} from "../../entities/index.ts";
import { derivedIdOf, deriveId, deriveNamelessId } from "../../ids.ts";
import { readDeckInfo, readPluginConfigs } from "./deck-info.ts";
import { type DocumentEntry, gatherEntries } from "./gather-entries.ts";
import { migratePaths } from "./route-paths.ts";
import { checkHead, type Findings } from "./top-level.ts";

export interface FlatDocument extends Findings {
  readonly document: Document;
  /** The original paths of the flat document's items, by collection and index. */
  readonly origins: PerCollection<readonly Violation["path"][]>;
}

type Members = Readonly<Record<string, unknown>>;

const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i;

/** Finds an entity outside of the data by its id or name, and returns its id; undefined if there is none. */
export type KnownId = (collection: Collection, idOrName: string) => string | undefined;

/**
 * Flattens plain data in any of the document's forms. Data that is not a document results in an empty document and a
 * violation.
 *
 * @param known Resolves references to entities outside of the data. Default: none.
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
  const resolver = new ReferenceResolver(known);

  /** Applies decK's `_info` and `_plugin_configs`, and migrates the paths of formats before 3.0. */
  const expand = ({ collection, path, item }: DocumentEntry): Members => {
    const own = info.apply(collection, item);
    if (collection === "routes" && legacy) return migratePaths(own);
    if (collection !== "plugins") return own;
    const applied = configs.apply(own);
    resolver.violations.push(...applied.violations.map((fault) => ({ ...fault, path: [...path, ...fault.path] })));
    return applied.plugin;
  };

  const flat: Partial<Record<Collection, readonly unknown[]>> = {};
  for (const collection of collections) {
    const own = entries.filter((entry) => entry.collection === collection);
    const items = own.map((entry) => resolver.resolve(entry, expand(entry)));
    if (items.length > 0) flat[collection] = items;
  }
  const origins = perCollection((collection) =>
    entries.filter((entry) => entry.collection === collection).map(({ path }) => path),
  );
  const addresses = isRecord(raw._sluice)
    ? Object.entries(raw._sluice).filter(
        ([name, section]) => Object.hasOwn(endpointSections, name) && isRecord(section),
      )
    : [];
  const extras = addresses.length > 0 ? { _sluice: Object.fromEntries(addresses) } : {};
  const document = { _format_version: "3.0", ...flat, ...extras } as Document;
  const faults = [head, info, configs, { violations }, resolver].flatMap((part) => part.violations);
  return { document, origins, violations: faults, warnings: [...head.warnings, ...info.warnings, ...warnings] };
}

/** Assigns ids to entities and resolves names to ids. An entity must come after those to which it refers. */
class ReferenceResolver {
  readonly violations: Violation[] = [];
  /** Resolves references to entities outside of the data. */
  readonly #outside: KnownId | undefined;
  readonly #ids = new Map<DocumentEntry, string>();
  readonly #known = new Map<string, string>();

  constructor(outside: KnownId | undefined) {
    this.#outside = outside;
  }

  resolve(entry: DocumentEntry, own: Members): Members {
    const { collection, parent } = entry;
    const resolved = references[collection].map(({ member, to }) => {
      const id = parent?.member === member ? this.#ids.get(parent.entry) : undefined;
      return [member, id === undefined ? this.#refer(own[member], { to, member, entry }) : { id }];
    });
    const item = { ...own, ...Object.fromEntries(resolved.filter(([, value]) => value !== undefined)) };
    const id = typeof item.id === "string" ? item.id.toLowerCase() : idIn(entry, item);
    const key = entityNameOf(collection, item);
    this.#ids.set(entry, id);
    for (const name of key === undefined ? [id] : [key, id]) {
      const place = `${collection}/${name}`;
      if (!this.#known.has(place)) this.#known.set(place, id);
    }
    return item.id === undefined || item.id === null ? { ...item, id } : item;
  }

  /** A reference in flat form. A reference with neither id nor name stays as it is, for the validation to report. */
  #refer(
    value: unknown,
    at: { readonly to: Collection; readonly member: string; readonly entry: DocumentEntry },
  ): unknown {
    const inline = isRecord(value) ? inlineMembers(at.to, value) : [];
    const named = isRecord(value) && typeof value.id !== "string" ? entityNameOf(at.to, value) : value;
    if (typeof named !== "string" && inline.length === 0) return value;
    const name = String(named);
    const spelled = UUID.test(name) ? name.toLowerCase() : name;
    const id = this.#known.get(`${at.to}/${spelled}`) ?? this.#outside?.(at.to, spelled);
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

/** Members of a reference other than name or id. As in Kong, they are rejected, because they have no effect. */
const inlineMembers = (to: Collection, value: Members): readonly string[] =>
  Object.keys(value).filter((name) => name !== "id" && !entities[to].unique.includes(name));

/**
 * The id that validation would assign. An invalid entity without a name gets an id derived from its path, so that
 * children find it.
 */
function idIn({ collection, path }: DocumentEntry, item: Readonly<Record<string, unknown>>): string {
  if (entityNameOf(collection, item) !== undefined && entities[collection].within === undefined)
    return derivedIdOf(collection, item);
  return checkEntity(collection, item, { database: true }).value?.id ?? deriveNamelessId(collection, null, { path });
}

/**
 * The part of a document of Kong that Sluice can serve. Entities and members that Sluice lacks are left out, and are
 * reported. Leaving out protection would open routes, so a plugin that may protect is kept as one that answers 503
 * (`_sluice.unavailable`).
 */
import { type Checked, isRecord, memberSchemaOf, type Violation } from "@sluice/plugin-sdk";
import { unavailablePlugin } from "../check/close-plugin.ts";
import { expandConfig } from "../check/shorthand.ts";
import type { Document } from "../document.ts";
import { type Collection, collections, entities, references } from "../entities/index.ts";
import { pluginEntitySchema } from "../entities/plugin.ts";
import { deriveNamelessId } from "../ids.ts";
import { mayProtect, pluginNamed } from "../plugins/index.ts";
import { parseVaultReference, replaceReferences } from "../plugins/vault-references.ts";
import { applyDocument } from "../snapshot/apply.ts";
import { emptySnapshot } from "../snapshot/make-snapshot.ts";
import { describeViolation } from "./describe.ts";
import { flattenDocument } from "./flatten/flatten.ts";
import { locate } from "./load.ts";
import { readYaml } from "./parse/yaml.ts";

/** Something in the document that is not served. */
export interface Unserved {
  readonly violation: Violation;
  /** `closed`: requests in the scope are answered 503. `left out`: the entity or the member does not exist. */
  readonly outcome: "closed" | "left out";
  /** The number of entities that are left out because they refer to this one, and of the routes among them. */
  readonly dependents: number;
  readonly routes: number;
}

export interface ServablePart {
  /** Valid and flat. */
  readonly document: Document;
  readonly unserved: readonly Unserved[];
  /** Members that have no effect. */
  readonly warnings: readonly Violation[];
  /** The number of entities that were given, and of those that are served as given. */
  readonly given: number;
  readonly served: number;
}

type Path = Violation["path"];

interface Item {
  readonly collection: Collection;
  readonly origin: Path;
  members: Readonly<Record<string, unknown>>;
  closed: boolean;
}

export interface ServableText extends ServablePart {
  /** The members at the top of the text. */
  readonly data: Readonly<Record<string, unknown>>;
}

/** The servable part of a text, with positions. Violations: the text is not YAML, JSON or a document. */
export function servablePartOfText(text: string, file: string): Checked<ServableText> {
  const read = readYaml(text, { file });
  if (read.violations !== undefined) return read;
  const { data, warnings } = read.value;
  if (!isRecord(data) || data._format_version === undefined) {
    const message = "expected a document: a record with _format_version";
    return { violations: locate([{ path: [], message }], read.value) };
  }
  const part = servablePart(data);
  const place = (one: Unserved) => ({ ...one, violation: locate([one.violation], read.value)[0] ?? one.violation });
  const lineOf = ({ violation: { position } }: Unserved) => position?.line ?? 0;
  const unserved = part.unserved.map(place).sort((one, other) => lineOf(one) - lineOf(other));
  return { value: { ...part, data, unserved, warnings: locate([...warnings, ...part.warnings], read.value) } };
}

/** @param data Plain data in any form of the document. */
export function servablePart(data: unknown): ServablePart {
  const flat = flattenDocument(data);
  const items = collections.flatMap((collection) =>
    (flat.document[collection] ?? []).map(
      (members, index): Item => ({
        collection,
        origin: flat.origins[collection][index] ?? [],
        members: members as Item["members"],
        closed: false,
      }),
    ),
  );
  const given = items.length;
  const part = new Reduction(items);
  part.takeDocumentFaults(flat.violations);
  const document = part.reduce();
  const served = part.items.filter(({ closed, origin }) => !closed && origin.length > 0).length;
  return { document, unserved: part.unserved, warnings: flat.warnings, given, served };
}

/** Removes and closes entities until the rest is valid. */
class Reduction {
  items: readonly Item[];
  unserved: Unserved[] = [];

  constructor(items: readonly Item[]) {
    this.items = items;
  }

  /** Violations that flattening found: members of the document, and members that were removed from an entity. */
  takeDocumentFaults(violations: readonly Violation[]): void {
    for (const violation of violations) {
      const item = this.#ownerOf(violation.path);
      const member = String(violation.path[item?.origin.length ?? 0]);
      if (item === undefined) this.#takeFaultOfDocument(violation, member);
      else if (item.collection === "plugins" || this.#isReference(item, member)) this.#take(item, [violation]);
      else if (item.collection === "services" || item.collection === "routes") {
        this.#close(violation, { [entities[item.collection].singular]: { id: item.members.id } });
      } else this.#report("left out", [violation]);
    }
  }

  reduce(): Document {
    let inVaults = this.#vaultReferences();
    for (;;) {
      const lists = Map.groupBy(this.items, ({ collection }) => collection);
      const document = {
        _format_version: "3.0",
        ...Object.fromEntries([...lists].map(([name, items]) => [name, items.map(({ members }) => members)])),
      } as Document;
      const { violations = [] } = applyDocument(emptySnapshot, document);
      if (violations.length + inVaults.size === 0) return document;
      const byItem = Map.groupBy(violations, ({ path }) => lists.get(path[0] as Collection)?.[Number(path[1])]);
      for (const [item, faults] of byItem) {
        if (item === undefined) throw new Error(`a violation without an entity: ${faults.map(describeViolation)}`);
        if (inVaults.has(item)) continue;
        const inFile = faults.map((fault) => ({ ...fault, path: [...item.origin, ...fault.path.slice(2)] }));
        this.#takeOrReport(item, inFile);
      }
      for (const [item, fault] of inVaults) this.#takeOrReport(item, [fault]);
      inVaults = new Map();
    }
  }

  /** References that Kong resolves and Sluice does not: Sluice would use their text as the value, such as a secret. */
  #vaultReferences(): ReadonlyMap<Item, Violation> {
    const message =
      "only some fields of plugins' configs may refer to a vault, and only to env: write the value, or use a custom " +
      "resource with a Secret";
    return new Map(
      this.items.flatMap((item) => {
        const path = vaultReferenceIn(withoutResolvable(item));
        return path === undefined ? [] : [[item, { path: [...item.origin, ...path], message }] as const];
      }),
    );
  }

  /** The faults of an entity that was left out with another one are reported too, so that the user sees all at once. */
  #takeOrReport(item: Item, faults: readonly Violation[]): void {
    if (this.items.includes(item)) this.#take(item, faults);
    else this.#report("left out", faults);
  }

  #report(outcome: Unserved["outcome"], violations: readonly Violation[], dependents: readonly Item[] = []): void {
    const routes = dependents.filter(({ collection }) => collection === "routes").length;
    const counts = { dependents: dependents.length, routes };
    for (const violation of violations) this.unserved.push({ violation, outcome, ...counts });
  }

  #isReference = ({ collection }: Item, member: string): boolean =>
    references[collection].some((reference) => reference.member === member);

  #ownerOf(path: Path): Item | undefined {
    return this.items
      .filter(({ origin }) => isBelow(path, origin))
      .sort((one, other) => other.origin.length - one.origin.length)[0];
  }

  /** Filter chains and plugins of consumer groups may protect any request, so all requests are answered 503. */
  #takeFaultOfDocument(violation: Violation, member: string): void {
    if (member === "filter_chains" || member === "consumer_group_plugins") this.#close(violation, {});
    else this.#report("left out", [violation]);
  }

  /** Adds a plugin that answers 503, named after what is missing. */
  #close(violation: Violation, scope: object): void {
    const name = String(violation.path.findLast((step) => typeof step === "string") ?? "")
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, "-");
    const id = deriveNamelessId("plugins", null, { name, ...scope });
    const members = unavailablePlugin({ id, name, ...scope }, [violation]);
    this.items = [...this.items, { collection: "plugins", origin: [], members, closed: true }];
    this.#report("closed", [violation]);
  }

  #take(item: Item, faults: readonly Violation[]): void {
    const { collection, members } = item;
    if (collection === "plugins" && !item.closed && members.enabled !== false && mayProtect(members.name)) {
      item.members = unavailablePlugin(readableMembers(item, faults), faults);
      item.closed = true;
      this.#report("closed", faults);
    } else {
      const dependents = this.#remove(item);
      // A closed plugin can still be invalid, for example if it is the second one of its name in the same scope.
      if (item.closed) this.unserved = this.unserved.filter(({ violation }) => !isBelow(violation.path, item.origin));
      this.#report("left out", faults.slice(0, 1), dependents);
      this.#report("left out", faults.slice(1));
    }
  }

  /** Removes the entity and all that refer to it. Returns the latter. */
  #remove(item: Item): readonly Item[] {
    const { collection, members } = item;
    this.items = this.items.filter((one) => one !== item);
    // Another entity with the same id keeps the references.
    if (this.items.some((one) => one.collection === collection && one.members.id === members.id)) return [];
    const dependents = this.items.filter((one) =>
      references[one.collection].some(
        ({ member, to }) => to === collection && idOf(one.members[member]) === members.id,
      ),
    );
    return dependents.flatMap((one) => (this.items.includes(one) ? [one, ...this.#remove(one)] : []));
  }
}

const isBelow = (path: Path, origin: Path): boolean =>
  origin.length > 0 && origin.every((step, at) => step === path[at]);

const idOf = (reference: unknown): unknown => (isRecord(reference) ? reference.id : undefined);

/** The members of a plugin that the entity has, without those that have a violation. */
function readableMembers({ members, origin }: Item, faults: readonly Violation[]): Item["members"] {
  const faulty = new Set(faults.map(({ path }) => path[origin.length]));
  const { name } = members;
  const kept = Object.entries(members).filter(
    ([member]) => memberSchemaOf(pluginEntitySchema, member) !== undefined && !faulty.has(member),
  );
  return { ...Object.fromEntries(kept), name };
}

/** The members, without the references that nodes resolve. */
function withoutResolvable({ collection, members }: Item): Item["members"] {
  const facts = collection === "plugins" ? pluginNamed(members.name) : undefined;
  if (facts === undefined || !isRecord(members.config)) return members;
  const { members: config } = expandConfig(facts, members.config);
  const resolved = replaceReferences(facts.schema, config, ({ text }) => (parseVaultReference(text).value ? "" : text));
  return { ...members, config: resolved };
}

/** The path of a text that Kong would take from a vault. */
function vaultReferenceIn(value: unknown): Path | undefined {
  if (typeof value === "string") return value.startsWith("{vault://") ? [] : undefined;
  if (typeof value !== "object" || value === null) return undefined;
  for (const [name, member] of Object.entries(value)) {
    const path = vaultReferenceIn(member);
    if (path !== undefined) return [Array.isArray(value) ? Number(name) : name, ...path];
  }
  return undefined;
}

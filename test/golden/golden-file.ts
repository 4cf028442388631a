/** Prints the operator's result for the resources of a golden file readably. */
import { X509Certificate } from "node:crypto";
import type { Resource } from "@sluice/crds";
import { type Collection, collections, entities, entityNameOf, isSecretLookup, referencedId } from "@sluice/model";
import { stringify } from "yaml";
import type { TranslationItem } from "../../operator/src/translate/translation.ts";
import { goldenOutcome } from "./outcome.ts";

type Members = Readonly<Record<string, unknown>>;

/**
 * The outcome as text: ids are replaced by the names of their resources unless the input sets them, and members with
 * their default value are left out.
 */
export function printOutcome(resources: readonly Resource[], input: string): string {
  const { document, items, conditions, events } = goldenOutcome(resources);
  const names = new Map<string, string>();
  for (const collection of collections)
    for (const [id, { owner, entity }] of items[collection])
      if (!input.includes(id)) names.set(id, titleOf(collection, { owner, entity }, names));

  const shown = Object.fromEntries(
    collections.flatMap((collection) => {
      const list = ((document[collection] ?? []) as readonly Members[]).map((entity) => readable(entity));
      return list.length === 0 ? [] : [[collection, renamed(list, names) as readonly Members[]]];
    }),
  );
  for (const list of Object.values(shown))
    (list as Members[]).sort((a, b) => (JSON.stringify([a.name, a]) < JSON.stringify([b.name, b]) ? -1 : 1));
  return stringify(
    {
      document: { ...shown, ...(document._sluice && { _sluice: renamed(document._sluice, names) }) },
      conditions: Object.fromEntries(conditions.toSorted(([a], [b]) => (a < b ? -1 : 1))),
      ...(events.size > 0 && { events: Object.fromEntries([...events].toSorted(([a], [b]) => (a < b ? -1 : 1))) }),
    },
    { lineWidth: 0, aliasDuplicateObjects: false },
  );
}

function titleOf(
  collection: Collection,
  { owner, entity }: TranslationItem,
  names: ReadonlyMap<string, string>,
): string {
  const resource = `${owner.kind} ${owner.namespace}/${owner.name}`;
  if (collection === "targets" || collection === "snis") return `${resource} ${entityNameOf(collection, entity)}`;
  const { credential } = entities[collection];
  if (credential === undefined) return resource;
  if (collection === "consumer_group_consumers")
    return `${resource} in ${names.get(referencedId(entity, "consumer_group") ?? "")}`;
  const name = entityNameOf(collection, entity);
  if (!isSecretLookup(collection) && name !== undefined) return `${resource} ${credential.list} ${name}`;
  // A key is a secret, and other credentials may have no name.
  const title = `${resource} ${collection === "keyauth_credentials" ? "key" : credential.list}`;
  const taken = new Set(names.values());
  let number = 0;
  while (taken.has(`${title} ${number}`)) number++;
  return `${title} ${number}`;
}

/** Replaces PEM texts other than public keys with descriptions. */
function readable(entity: Members): Members {
  const members = Object.entries(entity).map(([name, value]): [string, unknown] => {
    if (typeof value !== "string" || !/^-----BEGIN (?!PUBLIC)/.test(value)) return [name, value];
    return [
      name,
      value.includes("PRIVATE KEY") ? "[redacted]" : `certificate of ${new X509Certificate(value).subject}`,
    ];
  });
  return Object.fromEntries(members);
}

/** The value with names instead of ids. Ids occur as values, and as member names in `_sluice.endpoints`. */
function renamed(value: unknown, names: ReadonlyMap<string, string>): unknown {
  if (typeof value === "string") return names.get(value) ?? value;
  if (Array.isArray(value)) return value.map((item) => renamed(item, names));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [names.get(name) ?? name, renamed(member, names)]),
  );
}

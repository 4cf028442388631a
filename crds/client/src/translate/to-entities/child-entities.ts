/**
 * Entities that are entries of a list in a spec, such as keys, targets and SNIs. The parent and the other entries are
 * served even if one entry is invalid.
 */
import {
  type Collection,
  type CredentialEntry,
  checkCredentialKey,
  derivedIdOf,
  deriveId,
  entities,
  entityNameOf,
  entitySecrets,
  hostWithPort,
  isSecretLookup,
  kindFacts,
  lookupHash,
  type NameRef,
  readSpec,
  type SecretRef,
  uuidV5,
} from "@sluice/model";
import { type ChildList, childLists, type EntryReference } from "../kind-tables.ts";
import { referencePart } from "../resolve-reference.ts";
import { readSecret } from "../secrets.ts";
import { CHILD_TIMES, childTimes, createdAt } from "../timestamps.ts";
import type { Path, TranslatedEntity } from "../translation.ts";
import { type EntityPart, entityOf, invalidField, type TranslatorInput } from "./entity-part.ts";
import { configPart } from "./plugin.ts";

type Members = Readonly<Record<string, unknown>>;

/** An entry of a list of children; `members` and `own` are as returned by `readSpec`. */
interface Entry {
  readonly collection: Collection;
  readonly parentId: string;
  readonly index: number;
  readonly path: Path;
  readonly members: Members;
  readonly own: Members;
}

/**
 * The entities of all entries of the resource's lists. A value that is not a list has none; the parent's violations
 * report it.
 */
export const childEntities = (input: TranslatorInput): readonly TranslatedEntity[] =>
  childLists[input.identity.kind].flatMap((child) => entitiesOf(input, child));

function entitiesOf(
  input: TranslatorInput,
  { collection, list, parent, reference }: ChildList,
): readonly TranslatedEntity[] {
  const { kind, id: parentId } = input.identity;
  const given = input.resource.spec?.[list];
  if (!Array.isArray(given)) return [];
  const node = kindFacts[kind].spec.properties?.[list]?.items ?? {};
  return given.map((value: unknown, index) => {
    const path = ["spec", list, index];
    const { members, own, violations } = readSpec(node, value);
    const entry: Entry = { collection, parentId, index, path, members, own };
    const references = reference ? [readEntryReference(input, { ...entry, reference })] : [];
    const resolved = { ...entry, members: { ...members, ...references[0]?.members } };
    const id = typeof own.id === "string" ? own.id.toLowerCase() : derivedChildId(resolved);
    return entityOf({ collection, id, basePath: path }, [
      {
        members: { ...members, [parent]: { id: parentId } },
        sourcePaths: { [parent]: ["spec"] },
        violations: violations.map((violation) => invalidField([...path, ...violation.path], violation.message)),
      },
      timesPart(input, { collection, id }),
      ...(entities[collection].credential === undefined ? [] : [credentialPart(input, entry)]),
      ...(collection === "plugin_credentials" ? [credentialConfigPart(input, entry)] : []),
      ...references,
    ]);
  });
}

function derivedChildId({ collection, parentId, index, members, own }: Entry): string {
  const { target, name, group, consumer_group, subject_name, ca_certificate } = members;
  switch (collection) {
    case "targets":
      return typeof target === "string"
        ? derivedIdOf("targets", { upstream: { id: parentId }, target: hostWithPort(target) })
        : uuidV5(parentId, `targets/${index}`);
    case "snis":
      return deriveId("snis", typeof name === "string" ? name : `${parentId}/${index}`);
    case "acls":
      return derivedIdOf("acls", { consumer: { id: parentId }, group });
    case "mtls_auth_credentials":
      return derivedIdOf(collection, { consumer: { id: parentId }, subject_name, ca_certificate });
    case "consumer_group_consumers":
      return typeof Object(consumer_group).id === "string"
        ? derivedIdOf(collection, { consumer: { id: parentId }, consumer_group })
        : uuidV5(parentId, `${collection}/${index}`);
    default: {
      const name = isSecretLookup(collection) ? undefined : entityNameOf(collection, members);
      if (name !== undefined) return deriveId(collection, `${parentId}/${name}`);
      // Derived from the Secret reference, never from the key: ids appear in headers and logs, and an id that is
      // derived from the key would help to guess the key.
      const { secretRef } = own as Partial<CredentialEntry>;
      return deriveId(collection, `${parentId}/${secretRef ? placeOf(secretRef) : index}`);
    }
  }
}

/**
 * The reference of an entry to another resource; empty if the entry has none. A reference without a name is already
 * reported as a violation of the spec.
 */
function readEntryReference(
  { from, options }: TranslatorInput,
  { own, path: entryPath, reference }: Entry & { readonly reference: EntryReference },
): EntityPart {
  const { kind, member, ref } = reference;
  if (ref !== null && own[ref] === undefined) return {};
  const path = ref === null ? entryPath : [...entryPath, ref];
  const { name, namespace } = Object(ref === null ? own : own[ref]) as Partial<NameRef>;
  if (name === undefined) return { members: { [member]: {} }, sourcePaths: { [member]: [...path, "name"] } };
  const part = referencePart({ kind, member, ref: { name, namespace } as NameRef }, { from, path }, options);
  return { ...part, sourcePaths: { [member]: [...path, "name"] } };
}

const placeOf = ({ namespace, name, key }: SecretRef): string =>
  `${namespace === undefined ? "" : `${namespace}/`}${name}/${key}`;

/**
 * The child's times in the annotation `CHILD_TIMES`, or else the parent's. Only targets have fractions of seconds;
 * credentials have only `created_at`.
 */
function timesPart(
  { resource, times }: TranslatorInput,
  { collection, id }: { readonly collection: Collection; readonly id: string },
): EntityPart {
  const [created_at = times.created_at, updated_at = times.updated_at] =
    childTimes(resource.metadata.annotations?.[CHILD_TIMES])[id] ?? [];
  if (collection === "targets") return { members: { created_at, updated_at } };
  const created = created_at && Math.trunc(created_at);
  if (entities[collection].credential !== undefined) return { members: { created_at: created } };
  return { members: { created_at: created, updated_at: updated_at && Math.trunc(updated_at) } };
}

/**
 * The members of a credential that are not in its entry: the namespaces for whose routes it is valid and, from its
 * Secret, the time of creation and the key, secret or password. Nodes get only the hash of a key by which requests
 * identify their credential.
 */
function credentialPart({ from, options }: TranslatorInput, { collection, members, own, path }: Entry): EntityPart {
  const scope = scopeOf(collection, from.namespace, options);
  const [member] = entitySecrets[collection];
  const { secretRef } = own as Partial<CredentialEntry>;
  if (member === undefined) return { members: scope };
  const place = [...path, "secretRef"];
  const sourcePaths = { [member]: place };
  if (secretRef === undefined) return { members: scope, sourcePaths };
  const found = readSecret(secretRef, { from, path: place }, options);
  if (!("value" in found)) return { members: scope, sourcePaths, violations: [found] };
  const created_at = createdAt(found.secret.metadata);
  const times = created_at === undefined ? {} : { created_at };
  const isHidden = isSecretLookup(collection) && options.audience === "nodes";
  if (!isHidden) return { members: { ...times, [member]: found.value, ...scope }, sourcePaths };
  // The key is checked here, because the check of the entity sees only the key's hash.
  const refused = checkCredentialKey(members.plugin, found.value).length > 0;
  return {
    members: { ...times, _sluice: { key_hash: lookupHash(found.value, members.plugin), ...scope._sluice } },
    sourcePaths,
    violations: refused ? [invalidField([...place, "key"], `the plugin ${members.plugin} refuses the value`)] : [],
  };
}

/** The config of a plugin's credential. The credential's key comes from a Secret, so messages must not show it. */
function credentialConfigPart({ from, options }: TranslatorInput, { own, path }: Entry): EntityPart {
  const part = configPart({ own, from, options }, path);
  return { ...part, secretPaths: [["key"], ...part.secretPaths] };
}

/**
 * For nodes, the namespaces for whose routes a credential is valid: its consumer's namespace and those that are open to
 * it. Empty for a consumer in the home namespace, whose credentials are valid for all routes, and for collections whose
 * entities are not looked up by requests, such as ACL groups.
 */
function scopeOf(
  collection: Collection,
  namespace: string,
  { audience, homeNamespace, namespacesOpenTo }: TranslatorInput["options"],
): { readonly _sluice?: { readonly namespaces: readonly string[] } } {
  const isFound = typeof entities[collection].credential?.lookup === "string";
  if (!isFound || audience !== "nodes" || namespace === homeNamespace) return {};
  return { _sluice: { namespaces: [namespace, ...namespacesOpenTo(namespace)] } };
}

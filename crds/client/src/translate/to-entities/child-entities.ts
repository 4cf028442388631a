/**
 * Entities that are entries of a list in a spec (keys, targets, server names). The parent and the other entries are
 * served even if one entry is invalid.
 */
import {
  type Collection,
  derivedIdOf,
  deriveId,
  type KeyAuthEntry,
  kinds,
  readSpec,
  uuidV5,
  withPort,
} from "@sluice/model";
import { childLists } from "../kind-tables.ts";
import { hashKey, readSecret } from "../secrets.ts";
import { CHILD_TIMES, childTimes, createdAt } from "../timestamps.ts";
import type { Path, TranslatedEntity } from "../translation.ts";
import { type EntityPart, entityOf, invalidField, type TranslatorInput } from "./entity-part.ts";

type Members = Readonly<Record<string, unknown>>;

/** An entry of the list; `members` and `own` are as returned by `readSpec`. */
interface Entry {
  readonly parentId: string;
  readonly index: number;
  readonly path: Path;
  readonly members: Members;
  readonly own: Members;
}

/** Empty when the member is not a list; the parent's violations report that error. */
export function childEntities(input: TranslatorInput): readonly TranslatedEntity[] {
  const { kind, id: parentId } = input.identity;
  const child = childLists[kind];
  const given = child && input.resource.spec?.[child.list];
  if (!child || !Array.isArray(given)) return [];
  const { collection, list, parent } = child;
  const node = kinds[kind].spec.properties?.[list]?.items ?? {};
  return given.map((value: unknown, index) => {
    const path = ["spec", list, index];
    const { members, own, violations } = readSpec(node, value);
    const entry: Entry = { parentId, index, path, members, own };
    const id = typeof own.id === "string" ? own.id.toLowerCase() : derivedChildId(collection, entry);
    return entityOf({ collection, id, basePath: path }, [
      {
        members: { ...members, [parent]: { id: parentId } },
        sourcePaths: { [parent]: ["spec"] },
        violations: violations.map((violation) => invalidField([...path, ...violation.path], violation.message)),
      },
      collection === "keyauth_credentials" ? credentialPart(input, entry) : timesPart(input, { collection, id }),
    ]);
  });
}

function derivedChildId(collection: Collection, { parentId, index, members, own }: Entry): string {
  const { target, name } = members;
  switch (collection) {
    case "targets":
      return typeof target === "string"
        ? derivedIdOf("targets", { upstream: { id: parentId }, target: withPort(target) })
        : uuidV5(parentId, `targets/${index}`);
    case "snis":
      return deriveId("snis", typeof name === "string" ? name : `${parentId}/${index}`);
    default: {
      // Derived from the Secret reference, never from the key: ids appear in headers and logs, and an id that is
      // derived from the key would help to guess it.
      const { secretRef } = own as Partial<KeyAuthEntry>;
      return deriveId(collection, `${parentId}/${secretRef ? placeOf(secretRef) : index}`);
    }
  }
}

const placeOf = ({ namespace, name, key }: KeyAuthEntry["secretRef"]): string =>
  `${namespace === undefined ? "" : `${namespace}/`}${name}/${key}`;

/** The times of the annotation, or else the parent's. Only targets have fractions of seconds. */
function timesPart(
  { resource, times }: TranslatorInput,
  { collection, id }: { readonly collection: Collection; readonly id: string },
): EntityPart {
  const [created_at = times.created_at, updated_at = times.updated_at] =
    childTimes(resource.metadata.annotations?.[CHILD_TIMES])[id] ?? [];
  if (collection === "targets") return { members: { created_at, updated_at } };
  return {
    members: { created_at: created_at && Math.trunc(created_at), updated_at: updated_at && Math.trunc(updated_at) },
  };
}

function credentialPart({ from, times, options }: TranslatorInput, { own, path }: Entry): EntityPart {
  const place = [...path, "secretRef"];
  const { secretRef } = own as Partial<KeyAuthEntry>;
  const found = secretRef && readSecret(secretRef, { from, path: place }, options);
  const sourcePaths = { key: place };
  if (!found || !("value" in found))
    return { members: { created_at: times.created_at }, sourcePaths, violations: found ? [found] : [] };
  const created_at = createdAt(found.secret.metadata) ?? times.created_at;
  return { members: { created_at, ...keyMembers(found.value, from.namespace, options) }, sourcePaths };
}

/**
 * A key opens routes of its consumer's namespace and of namespaces that grant access. A key of a consumer in the home
 * namespace opens all routes.
 */
function keyMembers(
  key: string,
  namespace: string,
  { audience, homeNamespace, namespacesOpenTo }: TranslatorInput["options"],
): Members {
  if (audience === "admin") return { key };
  const scope = namespace === homeNamespace ? {} : { namespaces: [namespace, ...namespacesOpenTo(namespace)] };
  return { _sluice: { key_hash: hashKey(key), ...scope } };
}

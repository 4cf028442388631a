/** Consumer -> consumer and its key-auth credentials. */
import { deriveId, type KeyAuthEntry, kinds } from "@sluice/model";
import { hashKey, readSecret } from "../secrets.ts";
import { createdAt } from "../timestamps.ts";
import type { TranslatedEntity, TranslateOptions } from "../translation.ts";
import { type NestedEntry, nestedEntriesOf, parentViolations } from "./nested-entries.ts";
import type { TranslatorInput } from "./translator-input.ts";

/** An invalid key is a violation of its own item only: the consumer and its other keys are served. */
export function consumerEntities(reading: TranslatorInput, options: TranslateOptions): readonly TranslatedEntity[] {
  const { identity, times, members } = reading;
  const consumer: TranslatedEntity = {
    collection: "consumers",
    item: { ...times, ...members, id: identity.id },
    basePath: ["spec"],
    sourcePaths: {},
    violations: parentViolations(reading, "keyAuth"),
  };
  const entries = nestedEntriesOf(reading, "keyAuth", kinds.Consumer.spec.properties?.keyAuth);
  return [consumer, ...entries.map((entry) => credential(reading, entry, options))];
}

function credential(
  { identity, namespace, times }: TranslatorInput,
  entry: NestedEntry,
  options: TranslateOptions,
): TranslatedEntity {
  const { base, index, members, violations } = entry;
  const place = [...base, "secretRef"];
  const { id, secretRef } = entry.own as Partial<KeyAuthEntry>;
  const found = secretRef && readSecret(secretRef, { from: { kind: identity.kind, namespace }, path: place }, options);
  const secret = found && "value" in found ? found : undefined;
  const created_at = (secret && createdAt(secret.secret.metadata)) ?? times.created_at;
  return {
    collection: "keyauth_credentials",
    item: {
      ...members,
      id: id?.toLowerCase() ?? derivedId(identity.id, secretRef, index),
      created_at,
      consumer: { id: identity.id },
      ...(secret && keyMembers(secret.value, namespace, options)),
    },
    basePath: base,
    sourcePaths: { key: place, consumer: ["spec"] },
    violations: [...violations, ...(found && !("value" in found) ? [found] : [])],
  };
}

/**
 * Derived from the Secret reference, never from the key: ids appear in headers and logs, where they would help guess
 * it.
 */
const derivedId = (consumerId: string, secretRef: KeyAuthEntry["secretRef"] | undefined, index: number): string =>
  deriveId("keyauth_credentials", `${consumerId}/${secretRef ? placeOf(secretRef) : index}`);

const placeOf = ({ namespace, name, key }: KeyAuthEntry["secretRef"]): string =>
  `${namespace === undefined ? "" : `${namespace}/`}${name}/${key}`;

/**
 * A key opens routes of its consumer's namespace and of namespaces that grant access. A key of a consumer in the home
 * namespace opens all routes.
 */
function keyMembers(key: string, namespace: string, { audience, homeNamespace, namespacesOpenTo }: TranslateOptions) {
  if (audience === "admin") return { key };
  const scope = namespace === homeNamespace ? {} : { namespaces: [namespace, ...namespacesOpenTo(namespace)] };
  return { _sluice: { key_hash: hashKey(key), ...scope } };
}

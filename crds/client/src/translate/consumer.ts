/** Consumer -> consumer and its key-auth credentials. */
import { deriveId, type KeyAuthEntry, kinds, readSpec, type SpecNode } from "@sluice/model";
import { invalid, type Reading } from "./reading.ts";
import { hashKey, readSecret } from "./secrets.ts";
import { createdAt } from "./times.ts";
import type { Path, Translated, TranslateOptions } from "./translation.ts";

const KEY_AUTH = ["spec", "keyAuth"];
const entryNode: SpecNode = kinds.Consumer.spec.properties?.keyAuth?.items ?? {};

/** A faulty key is a fault of its own item: the consumer and the other keys are served. */
export function consumerEntities(reading: Reading, options: TranslateOptions): readonly Translated[] {
  const { identity, times, members, resource } = reading;
  const given = resource.spec?.keyAuth;
  const entries: readonly unknown[] = Array.isArray(given) ? given : [];
  const ofEntries = ({ path }: { readonly path: Path }) => path.length > 2 && path[1] === "keyAuth";
  const consumer: Translated = {
    collection: "consumers",
    item: { ...times, ...members, id: identity.id },
    base: ["spec"],
    places: {},
    violations: reading.violations.filter((violation) => !ofEntries(violation)),
  };
  return [consumer, ...entries.map((entry, index) => credential(reading, { entry, index, options }))];
}

interface Entry {
  readonly entry: unknown;
  readonly index: number;
  readonly options: TranslateOptions;
}

function credential({ identity, namespace, times }: Reading, { entry, index, options }: Entry): Translated {
  const base = [...KEY_AUTH, index];
  const place = [...base, "secretRef"];
  const { members, own, violations } = readSpec(entryNode, entry);
  const { id, secretRef } = own as Partial<KeyAuthEntry>;
  const found = secretRef && readSecret(secretRef, { namespace, path: place }, options);
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
    base,
    places: { key: place, consumer: ["spec"] },
    violations: [
      ...violations.map(({ path, message }) => invalid([...base, ...path], message)),
      ...(found && !("value" in found) ? [found] : []),
    ],
  };
}

/** From the key's place, never from the key: ids stand in headers and logs, where they would help to guess it. */
const derivedId = (consumerId: string, secretRef: KeyAuthEntry["secretRef"] | undefined, index: number): string =>
  deriveId("keyauth_credentials", `${consumerId}/${secretRef ? `${secretRef.name}/${secretRef.key}` : index}`);

/** A key opens routes of its consumer's namespace only, unless the consumer lives in the home namespace. */
function keyMembers(key: string, namespace: string, { audience, homeNamespace }: TranslateOptions) {
  if (audience === "admin") return { key };
  const scope = namespace === homeNamespace ? {} : { namespaces: [namespace] };
  return { _sluice: { key_hash: hashKey(key), ...scope } };
}

/** Keys: a Secret that holds the key, and an entry of the consumer's resource that refers to it. */
import { Conflict, credentialSecret, type Ref, type Resource } from "@sluice/crds";
import type { Credential, KeyAuthEntry } from "@sluice/model";
import type { WriteFault } from "../store.ts";
import { type Attempt, faultOf, refOf, unreachable, type WriteContext } from "./context.ts";
import { specFault } from "./create.ts";
import { MANAGER, otherOwners, ownedPart } from "./owned.ts";
import type { Held } from "./view.ts";
import { removedAs, writtenAs } from "./written.ts";

/** The consumer must be in the view. The Secret comes first, so that the operator never sees an entry without one. */
export async function createCredential(context: WriteContext, credential: Credential): Promise<Attempt<undefined>> {
  const { client, homeNamespace, view } = context;
  const consumer = view.byId.consumers.get(credential.consumer?.id ?? "")?.resource;
  if (!consumer) throw new TypeError("the consumer of a credential has to be looked for before");
  const { namespace } = consumer.metadata;
  if (namespace !== homeNamespace) {
    const message = `its resource lives in the namespace ${namespace}: keys are kept in ${homeNamespace} only, write a Secret there and refer to it in spec.keyAuth`;
    return { fault: { kind: "invalid", violations: [{ path: ["consumer"], message }] } };
  }
  const { secret, entry } = credentialSecret(credential, { namespace });
  let made: Resource;
  try {
    made = await client.apply("Secret", secret, { manager: MANAGER, expect: "absent" });
  } catch (error) {
    const exists = { kind: "primary-key", id: credential.id } as const;
    return { fault: faultOf(error, { kind: "Secret", name: secret.metadata.name }, exists) };
  }
  const changed = await changeKeys(context, refOf("Consumer", consumer), (entries) => [...entries, entry]);
  if (changed.fault) {
    await client.remove(refOf("Secret", made)).catch(() => false);
    return changed;
  }
  return { value: undefined, awaits: [writtenAs("Secret", made), ...changed.awaits] };
}

/** Takes the entry out of the consumer, and removes the Secret if it is one that we made. */
export async function removeCredential(context: WriteContext, held: Held): Promise<Attempt<boolean>> {
  const wanted = entryOf(held)?.secretRef;
  const refersElsewhere = ({ secretRef }: KeyAuthEntry): boolean =>
    secretRef.name !== wanted?.name || secretRef.key !== wanted?.key;
  const changed = await changeKeys(context, refOf("Consumer", held.resource), (entries) =>
    entries.filter(refersElsewhere),
  );
  if (changed.fault) return changed;
  const secret = ownSecret(held);
  // Nothing refers to it any more: if it stays behind it opens nothing.
  if (!secret || !(await context.client.remove(secret).catch(() => false)))
    return { value: true, awaits: changed.awaits };
  return { value: true, awaits: [...changed.awaits, removedAs("Secret", secret)] };
}

/** The Secret that the admin listener made for a credential: others are the business of who wrote them. */
export function ownSecret(held: Held): Ref | undefined {
  const name = entryOf(held)?.secretRef.name;
  const { namespace } = held.resource.metadata;
  return name === `key-auth-${held.entity.id}` ? { kind: "Secret", namespace, name } : undefined;
}

function entryOf({ resource, base }: Held): KeyAuthEntry | undefined {
  const [, , index] = base;
  return keysOf(resource)[Number(index)];
}

const keysOf = ({ spec }: Resource): readonly KeyAuthEntry[] =>
  Array.isArray(spec?.keyAuth) ? (spec.keyAuth as readonly KeyAuthEntry[]) : [];

/** The operator writes the status at any time, which moves the version. */
const attempts = 8;

/** Replaces the consumer's list of keys and leaves everything else to whom it belongs. */
async function changeKeys(
  { client }: WriteContext,
  ref: Ref,
  change: (entries: readonly KeyAuthEntry[]) => readonly KeyAuthEntry[],
): Promise<Attempt<undefined>> {
  const lost: WriteFault = {
    kind: "changed",
    message: `the Consumer ${ref.name} was changed again and again: try again`,
  };
  for (let attempt = 0; attempt < attempts; attempt++) {
    const fresh = await client.get(ref).catch(unreachable);
    if (!fresh) return { fault: { kind: "changed", message: `the Consumer ${ref.name} was removed in the meantime` } };
    const owners = otherOwners(fresh, "keyAuth");
    if (owners.length > 0) return { fault: { kind: "owned", what: `Consumer ${ref.name}`, owners } };
    const keyAuth = change(keysOf(fresh));
    const { keyAuth: _before, ...others } = { ...fresh.spec };
    const fault = specFault("consumers", { ...others, keyAuth });
    if (fault) return { fault };
    const { uid = "", resourceVersion = "" } = fresh.metadata;
    const part = ownedPart(fresh);
    const { keyAuth: _ours, ...rest } = { ...part.spec };
    const next = { ...part, spec: { ...rest, ...(keyAuth.length > 0 && { keyAuth }) } };
    try {
      const written = await client.apply("Consumer", next, { manager: MANAGER, expect: { uid, resourceVersion } });
      return { value: undefined, awaits: [writtenAs("Consumer", written)] };
    } catch (error) {
      if (error instanceof Conflict && error.reason === "changed") continue;
      return { fault: faultOf(error, { kind: "Consumer", name: ref.name }, lost) };
    }
  }
  return { fault: lost };
}

/** Removing an entity and what goes with it. */
import { type Collection, collections, references } from "@sluice/model";
import type { WriteFault, WriteOptions } from "../store.ts";
import { type Attempt, faultOf, refOf, type WriteContext } from "./context.ts";
import { ownSecret } from "./credential.ts";
import { otherOwners } from "./owned.ts";
import type { Held, View } from "./view.ts";
import { removedAs } from "./written.ts";

interface Dependents {
  readonly fault?: WriteFault;
  readonly goAlong: readonly Held[];
}

function dependentsOf(view: View, collection: Collection, id: string): Dependents {
  const goAlong: Held[] = [];
  for (const child of collections) {
    for (const { member, onDelete } of references[child].filter(({ to }) => to === collection)) {
      const referring = [...view.byId[child].values()].filter(({ entity }) => refersTo(entity, member) === id);
      if (onDelete === "restrict" && referring.length > 0)
        return { fault: { kind: "referenced", by: child, collection }, goAlong: [] };
      goAlong.push(...referring);
    }
  }
  return { goAlong };
}

const refersTo = (entity: object, member: string): unknown =>
  (entity as Readonly<Record<string, { readonly id: string } | null>>)[member]?.id;

/** Plugins go first, so that nothing refers to what is gone; Secrets last. All owners are looked at before. */
export async function removeResources(
  { client, view }: WriteContext,
  { collection, held }: { readonly collection: Collection; readonly held: Held },
  { force = false }: Pick<WriteOptions, "force">,
): Promise<Attempt<boolean>> {
  const { fault, goAlong } = dependentsOf(view, collection, held.entity.id);
  if (fault) return { fault };
  // A credential stands in the consumer's own resource.
  const resources = [...goAlong.filter(({ resource }) => resource !== held.resource), held];
  const theirs = resources.find(({ resource }) => otherOwners(resource).length > 0);
  if (theirs && !force) {
    const what = `${theirs.kind} ${theirs.resource.metadata.name}`;
    return { fault: { kind: "owned", what, owners: otherOwners(theirs.resource) } };
  }
  const awaits = [];
  for (const { kind, resource } of resources) {
    const { uid } = resource.metadata;
    try {
      await client.remove(refOf(kind, resource), uid === undefined ? {} : { uid });
    } catch (error) {
      const { name } = resource.metadata;
      const gone = { kind: "changed", message: `the ${kind} ${name} was changed in the meantime: try again` } as const;
      return { fault: faultOf(error, { kind, name }, gone) };
    }
    awaits.push(removedAs(kind, resource.metadata));
  }
  for (const secret of goAlong.map(ownSecretOf).filter((ref) => ref !== undefined)) {
    // The consumer is gone: a Secret that stays behind opens nothing, and must not make the removal fail.
    await client.remove(secret).catch(() => false);
  }
  return { value: true, awaits };
}

const ownSecretOf = (held: Held) => (held.kind === "Consumer" ? ownSecret(held) : undefined);

/**
 * Follows single objects by their names: those that other resources name, of kinds whose objects are not all read. In a
 * cluster, each object has a watch of its own.
 */
import { type CoreKind, type Ref, type Resource, type ResourceClient, refKey } from "@sluice/crds";
import type { Logger } from "pino";

export interface NamedObjectRef extends Ref {
  readonly kind: Extract<CoreKind, "Secret" | "ConfigMap">;
}

export interface NamedObjectsOptions {
  readonly client: Pick<ResourceClient, "watch">;
  readonly signal: AbortSignal;
  readonly log: Pick<Logger, "warn">;
  /** Called with the users of an object after it was read or has changed. */
  readonly onChange: (users: ReadonlySet<string>) => void;
}

interface FollowedObject {
  readonly ref: NamedObjectRef;
  readonly users: Set<string>;
  readonly stop: AbortController;
  object: Resource | undefined;
  /** Whether the object was read, or cannot be read. */
  isSettled: boolean;
}

export function createNamedObjects({ client, signal, log, onChange }: NamedObjectsOptions) {
  const followed = new Map<string, FollowedObject>();
  const keysOf = new Map<string, Set<string>>();

  function follow(ref: NamedObjectRef): FollowedObject {
    const one: FollowedObject = {
      ref,
      users: new Set(),
      stop: new AbortController(),
      object: undefined,
      isSettled: false,
    };
    function settle(object: Resource | undefined): void {
      if (one.stop.signal.aborted) return;
      one.object = object;
      one.isSettled = true;
      onChange(one.users);
    }
    const observer = {
      replaced: ([object]: readonly Resource[]) => settle(object),
      changed: settle,
      removed: () => settle(undefined),
      lost(error: Error) {
        log.warn({ resource: refKey(ref), reason: error.message }, "cannot read a resource, trying again");
        // Without this, an object that may not be read would delay all others.
        if (!one.isSettled) settle(undefined);
      },
    };
    const { kind, namespace, name } = ref;
    const either = AbortSignal.any([signal, one.stop.signal]);
    client.watch(kind, observer, { namespace, fields: `metadata.name=${name}`, signal: either, bookkeeping: false });
    return one;
  }

  return {
    /** The object, which is followed for this user from now on. Undefined: it does not exist, or was not read yet. */
    read(user: string, ref: NamedObjectRef): Resource | undefined {
      const key = refKey(ref);
      const one = followed.get(key) ?? follow(ref);
      followed.set(key, one);
      one.users.add(user);
      const keys = keysOf.get(user) ?? new Set();
      keysOf.set(user, keys.add(key));
      return one.object;
    },
    /** Ends the following of all other objects of the user. */
    keepOnly(user: string, refs: readonly NamedObjectRef[]): void {
      const kept = new Set(refs.map(refKey));
      for (const key of keysOf.get(user) ?? []) {
        const one = followed.get(key);
        if (!one || kept.has(key)) continue;
        one.users.delete(user);
        if (one.users.size > 0) continue;
        one.stop.abort();
        followed.delete(key);
      }
      if (kept.size > 0) keysOf.set(user, kept);
      else keysOf.delete(user);
    },
    /** The `refKey`s of the objects that were not read yet. */
    unsettled: (): readonly string[] => [...followed].flatMap(([key, { isSettled }]) => (isSettled ? [] : [key])),
  };
}

export type NamedObjects = ReturnType<typeof createNamedObjects>;

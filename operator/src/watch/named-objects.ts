/**
 * Follows single objects by their names: those that other resources name, of kinds whose objects are not all read. In a
 * cluster, each object has a watch of its own.
 */
import { ApiServerError, type CoreKind, type Ref, type Resource, type ResourceClient, refKey } from "@sluice/crds";
import type { Logger } from "pino";

export interface NamedObjectRef extends Ref {
  readonly kind: Extract<CoreKind, "Secret" | "ConfigMap" | "Deployment">;
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
  /** Whether the first attempt to read the object has ended. */
  isSettled: boolean;
}

/** Milliseconds after a failed first read for which the object is not treated as absent. */
const MAX_FIRST_READ = 15_000;

/** Whether repeating the read cannot succeed without another change, such as a missing permission. */
const isRefusal = (error: Error): boolean =>
  error instanceof ApiServerError && error.code >= 400 && error.code < 500 && error.code !== 429;

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
    function settleUnread(): void {
      if (!one.isSettled) settle(undefined);
    }
    const observer = {
      replaced: ([object]: readonly Resource[]) => settle(object),
      changed: settle,
      removed: () => settle(undefined),
      lost(error: Error) {
        log.warn({ resource: refKey(ref), reason: error.message }, "cannot read a resource, trying again");
        // An object that cannot be read must not delay others for long.
        if (isRefusal(error)) settleUnread();
        else setTimeout(settleUnread, MAX_FIRST_READ).unref();
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
    /** Whether the first read of the object has ended. */
    isSettled: (ref: NamedObjectRef): boolean => followed.get(refKey(ref))?.isSettled ?? false,
    /** The `refKey`s of the objects whose first read has not ended. */
    unsettled: (): readonly string[] => [...followed].flatMap(([key, { isSettled }]) => (isSettled ? [] : [key])),
  };
}

export type NamedObjects = ReturnType<typeof createNamedObjects>;

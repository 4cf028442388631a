/** Applies and deletes objects of Gateways by the API server, and reports what fails. */
import { isDeepStrictEqual } from "node:util";
import { type Kind, type Metadata, type Resource, type ResourceClient, refKey } from "@sluice/crds";
import type { EventRecorder } from "../status/event-recorder.ts";
import { isAutoscaled, replicasOf } from "./fleet-deployment.ts";
import { isUpToDate } from "./gateway-service.ts";

export interface AppliedObjectsOptions {
  readonly client: Pick<ResourceClient, "apply" | "remove">;
  /** Records Events about Gateways. */
  readonly events: Pick<EventRecorder, "record">;
  readonly manager: string;
  /** The object as it was last read; undefined: it does not exist, or objects of its kind are not read. */
  readonly present: (object: Resource) => Resource | undefined;
  /** Whether the operator is stopping: failures are no longer reported. */
  readonly isClosed: () => boolean;
}

interface AppliedObject {
  readonly wanted: Resource;
  /** The generation that the API server returned; undefined: objects of the kind have none. */
  readonly generation: number | undefined;
}

/** The kinds of objects that are read again, so that an edited one is restored. */
const readKinds: ReadonlySet<string> = new Set(["Service", "Deployment"]);

const kindFor = ({ kind }: Resource): Kind => (kind === "Service" ? "CoreService" : (kind as Kind));

export function createAppliedObjects({ client, events, manager, present, isClosed }: AppliedObjectsOptions) {
  /** By `refKey`: labels that are no longer wanted show up only here. */
  const applied = new Map<string, AppliedObject>();
  /** By Gateway and object: the last reported failure, so that a repeated one is not reported again. */
  const failures = new Map<string, string>();

  function isApplied(wanted: Resource, key: string): boolean {
    const known = applied.get(key);
    if (!known || !isDeepStrictEqual(known.wanted, wanted)) return false;
    if (!readKinds.has(wanted.kind)) return true;
    const found = present(wanted);
    if (!found) return false;
    // The API server writes some values in another form, such as quantities.
    const isSameSpec = known.generation !== undefined && known.generation === found.metadata.generation;
    return isUpToDate(isSameSpec ? { ...found, spec: wanted.spec ?? {} } : found, wanted);
  }

  async function attempt(gateway: string, key: string, write: () => Promise<unknown>): Promise<boolean> {
    try {
      await write();
      failures.delete(`${gateway} ${key}`);
      return true;
    } catch (error) {
      return fail(gateway, key, (error as Error).message);
    }
  }

  function fail(gateway: string, object: string, reason: string): false {
    const failure = `${gateway} ${object}`;
    if (isClosed() || failures.get(failure) === reason) return false;
    failures.set(failure, reason);
    const [namespace = "", name = ""] = gateway.split("/");
    const message = `cannot write or delete ${object}: ${reason}`;
    events.record({ kind: "Gateway", namespace, name }, { reason: "ObjectNotWritten", message });
    return false;
  }

  /**
   * Leaves the present number of nodes to the autoscaler. A field that its only manager no longer applies gets its
   * default, so another manager applies the number once, and owns it until the autoscaler changes it
   * (https://kubernetes.io/docs/reference/using-api/server-side-apply/#transferring-ownership).
   */
  async function handOverReplicas(wanted: Resource): Promise<void> {
    const found = present(wanted);
    if (!found || wanted.kind !== "Deployment" || !isAutoscaled(wanted) || isAutoscaled(found)) return;
    const { apiVersion, kind, metadata } = found;
    const { namespace, name } = metadata;
    const handedOver = { apiVersion, kind, metadata: { namespace, name }, spec: { replicas: replicasOf(found) } };
    await client.apply("Deployment", handedOver, { manager: `${manager}-replicas`, force: true });
  }

  return {
    /** Applies an object of a Gateway (`namespace/name`), if necessary. Resolves to false when the write has failed. */
    async apply(gateway: string, wanted: Resource): Promise<boolean> {
      const kind = kindFor(wanted);
      const key = refKey({ kind, ...wanted.metadata });
      if (isApplied(wanted, key)) return true;
      return attempt(gateway, key, async () => {
        await handOverReplicas(wanted);
        const { metadata } = await client.apply(kind, wanted, { manager, force: true });
        applied.set(key, { wanted, generation: metadata.generation });
      });
    },
    /** Deletes an object of a Gateway (`namespace/name`), if it exists and has the uid. Resolves to false on failure. */
    remove(gateway: string, { namespace, name, uid }: Pick<Metadata, "namespace" | "name" | "uid">, kind: Kind) {
      const ref = { kind, namespace, name };
      return attempt(gateway, refKey(ref), async () => {
        await client.remove(ref, uid === undefined ? {} : { uid });
        applied.delete(refKey(ref));
      });
    },
    /**
     * Reports what prevents the write or the deletion of an object of a Gateway (`namespace/name`), by an Event and in
     * the log.
     *
     * @param object The `refKey` of the object.
     */
    fail,
    /** Applies all objects again when they are next needed. */
    forgetAll: () => applied.clear(),
  };
}

export type AppliedObjects = ReturnType<typeof createAppliedObjects>;

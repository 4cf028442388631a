/**
 * Reports resources whose class no operator serves. Otherwise they would never get a status, and a client that waits
 * for the status would wait forever. Only one operator reports them. A resource that has another condition for its
 * current generation is not reported.
 */
import {
  type ClassTracker,
  type Condition,
  isSluiceKind,
  type Kind,
  namespacedName,
  type Resource,
  type ResourceClient,
  type SluiceKind,
} from "@sluice/crds";
import { resourceKinds } from "@sluice/model";
import type { Logger } from "pino";
import type { EventRecorder } from "./event-recorder.ts";

export interface UnservedClassesOptions {
  readonly client: Pick<ResourceClient, "setConditions">;
  readonly manager: string;
  readonly recordEvent: EventRecorder["record"];
  readonly clusterState: Readonly<Record<SluiceKind, ReadonlyMap<string, Resource>>>;
  readonly classes: Pick<ClassTracker, "classOf" | "servedClasses">;
  readonly isReporter: () => boolean;
  readonly log: Pick<Logger, "warn">;
  /**
   * Milliseconds for which a resource waits for an operator of its class before it is reported. Default 15,000: an
   * operator may be starting or being replaced.
   */
  readonly gracePeriod?: number;
}

const REASON = "ClassNotServed";

export function createUnservedClasses(options: UnservedClassesOptions) {
  const { client, manager, recordEvent, clusterState, classes, isReporter, log, gracePeriod = 15_000 } = options;
  const abort = new AbortController();
  /** When each resource is to be reported, by kind and key. */
  const due = new Map<string, { readonly kind: SluiceKind; readonly key: string; readonly at: number }>();
  let timer: NodeJS.Timeout | undefined;
  let isReporting = false;

  function messageFor(resource: Resource): string | undefined {
    const wanted = classes.classOf(resource);
    const served = classes.servedClasses();
    if (served.includes(wanted)) return undefined;
    const { namespace } = resource.metadata;
    const unset = resource.spec?.class ? "" : `, to which resources of ${namespace} without spec.class belong`;
    return `no operator serves the class ${wanted}${unset}: set spec.class to one that is served (${served.join(", ")})`;
  }

  /**
   * The resource and the message to report. Undefined: the resource does not exist, its class is served, or its current
   * generation already has a condition other than an outdated report.
   */
  function unreportedProblem(kind: SluiceKind, key: string) {
    const resource = clusterState[kind].get(key);
    const message = resource && messageFor(resource);
    if (!message) return undefined;
    const { generation = 0 } = resource.metadata;
    const said = resource.status?.conditions ?? [];
    const current = said.filter(({ observedGeneration = 0 }) => observedGeneration === generation);
    const isSaid = current.some((one) => one.reason !== REASON || one.message === message);
    return isSaid ? undefined : { resource, message };
  }

  function check(kind: Kind, key: string): void {
    if (!isSluiceKind(kind)) return;
    const name = `${kind}/${key}`;
    if (!unreportedProblem(kind, key)) due.delete(name);
    else if (!due.has(name)) due.set(name, { kind, key, at: performance.now() + gracePeriod });
    startTimer();
  }

  function startTimer(): void {
    if (timer || isReporting || abort.signal.aborted || due.size === 0 || !isReporter()) return;
    const [first] = due.values();
    timer = setTimeout(reportDue, Math.max(0, (first?.at ?? 0) - performance.now())).unref();
  }

  async function reportDue(): Promise<void> {
    timer = undefined;
    isReporting = true;
    for (const [name, { kind, key, at }] of due) {
      if (abort.signal.aborted || !isReporter() || at > performance.now()) break;
      due.delete(name);
      const found = unreportedProblem(kind, key);
      if (found) await report(kind, found.resource, found.message);
    }
    isReporting = false;
    startTimer();
  }

  async function report(kind: SluiceKind, resource: Resource, message: string): Promise<void> {
    const { namespace, name, generation = 0 } = resource.metadata;
    const ref = { kind, namespace, name };
    const conditions = ["Accepted", "Programmed"].map(
      (type): Condition => ({ type, status: "False", reason: REASON, message, observedGeneration: generation }),
    );
    try {
      await client.setConditions(ref, conditions, { manager, signal: abort.signal });
      recordEvent(ref, { reason: REASON, message });
    } catch (error) {
      if (abort.signal.aborted) return;
      log.warn(
        { resource: `${kind}/${namespacedName(namespace, name)}`, reason: (error as Error).message },
        "cannot write status",
      );
      check(kind, namespacedName(namespace, name));
    }
  }

  return {
    /** Called when the resource (`namespace/name`) was changed or deleted. */
    check,
    /** Called when the served classes or the reporting operator have changed. */
    checkAll() {
      for (const kind of resourceKinds) for (const key of clusterState[kind].keys()) check(kind, key);
      startTimer();
    },
    close() {
      abort.abort();
      clearTimeout(timer);
    },
  };
}

/** Resources in memory that behave like a cluster: versions increase, calls take time, watch events are late. */
import { randomUUID } from "node:crypto";
import { setImmediate as turn } from "node:timers/promises";
import { Conflict, type Kind, type Observer, type Ref, type Resource, type ResourceClient } from "@sluice/crds";

export interface TestingCluster {
  /** Returns a new client, which behaves like a client in a separate process. */
  client(): ResourceClient;
  /** The writes in order, such as `apply Service`. */
  readonly calls: readonly string[];
  /** The maximum number of concurrent writes so far. */
  readonly busiest: () => number;
}

export interface TestingClusterOptions {
  /** The number of turns of the event loop that a call, or a watch event, takes. */
  readonly delay: () => number;
  /** Called when a write has arrived; an error that it throws rejects the write. */
  readonly before?: (call: { readonly op: "apply" | "remove"; readonly kind: Kind; readonly name: string }) => void;
}

const placeOf = ({ namespace, name }: Pick<Ref, "namespace" | "name">) => `${namespace}/${name}`;

export function createTestingCluster({ delay, before }: TestingClusterOptions): TestingCluster {
  const held = new Map<Kind, Map<string, Resource>>();
  const watches = new Set<{
    kind: Kind;
    notified: Promise<void>;
    observer: Observer;
    isMeant: (one: Resource) => boolean;
  }>();
  const calls: string[] = [];
  let version = 1;
  let under = 0;
  let busiest = 0;
  let lastTurn: Promise<unknown> = Promise.resolve();
  let lastOwner: object | undefined;

  const of = (kind: Kind): Map<string, Resource> => {
    const there = held.get(kind) ?? new Map<string, Resource>();
    held.set(kind, there);
    return there;
  };

  async function wait(): Promise<void> {
    for (let left = delay(); left > 0; left--) await turn();
  }

  /** Events of one watch arrive in order. */
  function tell(kind: Kind, resource: Resource, does: "changed" | "removed"): void {
    for (const watch of watches) {
      if (watch.kind !== kind || !watch.isMeant(resource)) continue;
      watch.notified = watch.notified.then(wait).then(() => watch.observer[does](resource));
    }
  }

  async function write<Result>(
    call: { op: "apply" | "remove"; kind: Kind; name: string },
    run: () => Result,
  ): Promise<Result> {
    calls.push(`${call.op} ${call.kind}`);
    busiest = Math.max(busiest, ++under);
    try {
      await wait();
      before?.(call);
      return run();
    } finally {
      under--;
    }
  }

  function apply(kind: Kind, given: Resource, expect: Parameters<ResourceClient["apply"]>[2]["expect"]): Resource {
    const key = placeOf(given.metadata);
    const there = of(kind).get(key);
    const { uid = randomUUID(), resourceVersion, generation = 0, creationTimestamp } = there?.metadata ?? {};
    if (expect === "absent" && there) throw new Conflict("exists", `${kind} ${key} exists`);
    if (typeof expect === "object" && (uid !== expect.uid || resourceVersion !== expect.resourceVersion))
      throw new Conflict("changed", `${kind} ${key} was changed`);
    const isSame = there && JSON.stringify(there.spec) === JSON.stringify(given.spec);
    const { name, namespace, labels, annotations } = given.metadata;
    const resource: Resource = {
      ...given,
      metadata: {
        ...{ name, namespace, uid, ...(labels && { labels }), ...(annotations && { annotations }) },
        resourceVersion: String(++version),
        ...(kind !== "Secret" && { generation: generation + Number(!isSame) }),
        creationTimestamp: creationTimestamp ?? new Date(version * 1000).toISOString(),
      },
    };
    of(kind).set(key, resource);
    tell(kind, resource, "changed");
    return resource;
  }

  function client(): ResourceClient {
    const me = {};
    const list: ResourceClient["list"] = async (kind, { namespace, labels, fields } = {}) =>
      [...of(kind).values()].filter(isMeantBy({ namespace, labels, fields }));
    return {
      async get(ref) {
        await wait();
        return of(ref.kind).get(placeOf(ref)) ?? null;
      },
      list,
      watch(kind, observer, { signal, ...selectors }) {
        const isMeant = isMeantBy(selectors);
        const watch = { kind, observer, isMeant, notified: Promise.resolve() };
        watch.notified = list(kind, selectors).then((found) => observer.replaced(found));
        watches.add(watch);
        signal.addEventListener("abort", () => watches.delete(watch));
      },
      placeOf: () => null,
      rewatch() {},
      apply: (kind, resource, { expect }) =>
        write({ op: "apply", kind, name: resource.metadata.name }, () => apply(kind, resource, expect)),
      remove: (ref, { uid } = {}) =>
        write({ op: "remove", ...ref }, () => {
          const there = of(ref.kind).get(placeOf(ref));
          if (!there) return false;
          if (uid !== undefined && there.metadata.uid !== uid) throw new Conflict("changed", "the uid differs");
          of(ref.kind).delete(placeOf(ref));
          tell(ref.kind, { ...there, metadata: { ...there.metadata, resourceVersion: String(++version) } }, "removed");
          return true;
        }),
      withMutex(_, run) {
        const mine = lastTurn.then(() => {
          const others = lastOwner !== me;
          lastOwner = me;
          return run({ othersMayHaveWritten: others });
        });
        lastTurn = mine.catch(() => undefined);
        return mine;
      },
      async setConditions() {},
      async applyStatus() {},
      async recordEvent() {},
      async close() {},
    };
  }

  return { client, calls, busiest: () => busiest };
}

const isMeantBy =
  ({
    namespace,
    labels,
    fields,
  }: {
    namespace?: string | undefined;
    labels?: string | undefined;
    fields?: string | undefined;
  }) =>
  ({ metadata, type }: Resource): boolean =>
    (namespace === undefined || metadata.namespace === namespace) &&
    (labels === undefined || metadata.labels?.[labels] !== undefined) &&
    (fields === undefined || fields === `type=${type}`);

/**
 * Checks existing objects before anything is created. The provider creates by server-side apply, which adopts an object
 * of the same name whatever its owner, and `pulumi destroy` would delete it.
 */
import { type CustomResource, mergeOptions, output, RunError, runtime, secret } from "@pulumi/pulumi";
import { type Found, othersClaim, STACK_LABEL } from "./owner.ts";
import type { ObjectIdentity, ReadObject } from "./reader.ts";

export interface Looking {
  readonly stack: string;
  readonly read: ReadObject;
}

/**
 * Holds back every Kubernetes object registered from now on until all have been checked. Call the returned function
 * when all are registered; it resolves when they may be created.
 *
 * @returns a function that rejects with a RunError listing objects of other owners; none is created then.
 */
export function lookFirst({ stack, read }: Looking): () => Promise<void> {
  const looks: Promise<string | null>[] = [];
  const { promise: looked, resolve: goOn } = Promise.withResolvers<CustomResource[]>();
  runtime.registerStackTransformation(({ type, props, opts }) => {
    if (!type.startsWith("kubernetes:") || !isNamed(props)) return undefined;
    const found = read(props);
    looks.push(found.then((object) => object && othersClaim(object, stack)));
    const entries = isKept(props.kind, opts) ? { data: keptEntries(props.data, found) } : {};
    return { props: { ...props, ...entries }, opts: mergeOptions(opts, { dependsOn: looked }) };
  });
  return async () => {
    const claims = (await Promise.all(looks)).filter((claim) => claim !== null);
    if (claims.length === 0) return goOn([]);
    const more = claims.length > TOLD ? [`and ${claims.length - TOLD} more`] : [];
    throw new RunError(
      [
        `The stack ${stack} would overwrite objects of other owners:`,
        ...claims.slice(0, TOLD),
        ...more,
        adviceFor(stack),
      ].join("\n  "),
    );
  };
}

/** The number of objects to name: for another release, a few identify it. */
const TOLD = 10;

const adviceFor = (stack: string): string =>
  [
    "Nothing was changed. Give the stack its own namespace or name (sluice:namespace, sluice:name), use an existing",
    "namespace (sluice:ownNamespace false), or continue with the tool that created them. If an object belongs to this stack,",
    `which was renamed or whose label was removed: kubectl label --overwrite KIND NAME ${STACK_LABEL}=${stack}`,
  ].join("\n  ");

const isNamed = (props: unknown): props is ObjectIdentity & { readonly data?: unknown } => {
  const { apiVersion, kind, metadata } = (props ?? {}) as Partial<ObjectIdentity>;
  return [apiVersion, kind, metadata?.name].every((text) => typeof text === "string");
};

/** A Secret whose entries the program generates once (see createOnce). */
const isKept = (kind: string, opts: { readonly ignoreChanges?: readonly string[] }): boolean =>
  kind === "Secret" && opts.ignoreChanges?.includes("data") === true;

/** The program has generated new entries, but those in the cluster are in use, such as by the data on a volume. */
const keptEntries = (made: unknown, found: Promise<Found | null>) =>
  secret(output({ made, found }).apply(({ made, found }) => ({ ...(made as object), ...found?.data })));

/** `sluice-operator crds`: applies Sluice's CRDs to a cluster, or prints them. */
import { setTimeout as sleep } from "node:timers/promises";
import { type ClusterObject, type ClusterObjects, Conflict, type Metadata, ResourceRejected } from "@sluice/crds";
import { crdFiles, crds } from "@sluice/model";
import { type Definition, droppedFields } from "./dropped-fields.ts";

export const CRD_MANAGER = "sluice-crds";

/**
 * 0: done. 1: the cluster refused the CRDs or did not serve them in time. 3: resources would lose data. 4: Helm or
 * Pulumi manages the CRDs.
 */
export type ExitCode = 0 | 1 | 3 | 4;

export interface CrdsOptions {
  /** Called only by commands that need a cluster. */
  readonly connect: () => ClusterObjects;
  readonly print: (line: string) => void;
  readonly warn: (line: string) => void;
  /** The CRDs to apply. Default: the CRDs of this version of Sluice. */
  readonly definitions?: ReadonlyMap<string, unknown>;
  /** Milliseconds for the API server to serve the CRDs. Default 30,000. */
  readonly timeout?: number;
}

/** Prefix of the field managers of Pulumi's Kubernetes provider. */
const PULUMI = "pulumi-kubernetes";
const MANAGED_BY_LABEL = "app.kubernetes.io/managed-by";

export type CrdsVerb = "apply" | "print";

export async function crdsCommand(verb: CrdsVerb, options: CrdsOptions): Promise<ExitCode> {
  if (verb === "print") {
    options.print(
      crdFiles()
        .map(({ content }) => content.trimEnd())
        .join("\n---\n"),
    );
    return 0;
  }
  const objects = options.connect();
  try {
    return await apply(objects, options);
  } catch (error) {
    if (!(error instanceof ResourceRejected || error instanceof Conflict || error instanceof NotServed)) throw error;
    options.warn(error.message);
    return 1;
  } finally {
    await objects.close();
  }
}

const KIND = "CustomResourceDefinition";

/** Applies nothing until all CRDs have been checked. */
async function apply(objects: ClusterObjects, options: CrdsOptions): Promise<ExitCode> {
  const { print, warn, definitions = crds(), timeout = 30_000 } = options;
  const planned = await Promise.all(
    [...definitions].map(async ([name, ours]) => {
      const stored = await objects.get(KIND, name);
      return {
        name,
        ours: ours as ClusterObject,
        stored,
        dropped: stored ? droppedFields(plain(stored), plain(ours)) : [],
      };
    }),
  );
  const owned = planned.flatMap(({ name, stored }) => {
    const owner = stored && crdOwnerOf(stored);
    return owner ? [`${name} ${owner}`] : [];
  });
  if (owned.length > 0) {
    for (const line of owned) warn(line);
    warn("nothing was applied: another tool manages the cluster's definitions");
    return 4;
  }
  const losing = planned.filter(({ dropped }) => dropped.length > 0);
  for (const { name, dropped } of losing) {
    warn(
      `${name}: the cluster's definition has fields or versions that this version of Sluice lacks or declares differently, and resources would lose them:`,
    );
    for (const field of dropped) warn(`  ${field}`);
  }
  if (losing.length > 0) {
    warn("nothing was applied: use the version of Sluice that the cluster's definitions are from, or a later one");
    return 3;
  }
  for (const { name, ours, stored } of planned) {
    const { resourceVersion } = stored?.metadata ?? {};
    const metadata = { ...ours.metadata, ...(resourceVersion && { resourceVersion }) };
    const applied = await objects.apply(KIND, { ...ours, metadata }, { manager: CRD_MANAGER });
    print(
      `${name} ${!stored ? "created" : applied.metadata.resourceVersion === resourceVersion ? "unchanged" : "changed"}`,
    );
  }
  const until = Date.now() + timeout;
  for (const { name } of planned) await waitUntilServed(objects, name, until);
  print("all CRDs are served");
  return 0;
}

const plain = (definition: unknown): Definition => definition as Definition;

class NotServed extends Error {
  override readonly name = "NotServed";
}

interface CrdStatus {
  /** Null in a CRD that was just created. */
  readonly conditions?: readonly { readonly type: string; readonly status: string; readonly message?: string }[] | null;
}

/** Milliseconds between two polls. */
const POLL_INTERVAL = 100;

async function waitUntilServed(objects: ClusterObjects, name: string, until: number): Promise<void> {
  for (;;) {
    const found = await objects.get(KIND, name);
    const { conditions } = (found?.status ?? {}) as CrdStatus;
    const conditionOf = (type: string) => conditions?.find((condition) => condition.type === type);
    if (conditionOf("Established")?.status === "True") return;
    const names = conditionOf("NamesAccepted");
    if (names?.status === "False") throw new NotServed(`${name}: its names are in use: ${names.message}`);
    if (Date.now() >= until) throw new NotServed(`${name}: the API server does not serve it yet`);
    await sleep(POLL_INTERVAL);
  }
}

/**
 * Says which tool manages the CRD and how to upgrade it with that tool, as the rest of a sentence that starts with the
 * name of the CRD. This command must not replace such a CRD. Null when neither Helm nor Pulumi manages it.
 */
export function crdOwnerOf({ metadata }: ClusterObject): string | null {
  const { labels = {}, annotations = {}, managedFields = [] } = metadata as Partial<Metadata>;
  if (labels[MANAGED_BY_LABEL] === "Helm") {
    const [namespace, name] = ["namespace", "name"].map((part) => annotations[`meta.helm.sh/release-${part}`] ?? "?");
    return `belongs to Helm's release ${name} in the namespace ${namespace}: upgrade that release`;
  }
  const byPulumi = managedFields.some(({ manager, subresource }) => !subresource && manager?.startsWith(PULUMI));
  return byPulumi || labels[MANAGED_BY_LABEL]?.toLowerCase() === "pulumi"
    ? "belongs to a Pulumi stack: run `pulumi up` on that stack"
    : null;
}

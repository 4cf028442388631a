/** `sluice-operator crds`: the definitions of our kinds, into a cluster or onto a screen. */
import { setTimeout as sleep } from "node:timers/promises";
import { type ClusterObject, type ClusterObjects, Conflict, Rejected } from "@sluice/crds";
import { crdFiles, crds } from "@sluice/model";
import { type Definition, droppedFields } from "./dropped.ts";
import { ownerOf } from "./owner.ts";

export const CRD_MANAGER = "sluice-crds";

/**
 * 0: as wanted. 1: the cluster refused or did not get ready. 2: nobody knows the command. 3: it would lose data. 4: Helm
 * or Pulumi has made the definitions.
 */
export type ExitCode = 0 | 1 | 2 | 3 | 4;

export interface CrdsOptions {
  /** Made only for a command that needs a cluster. */
  readonly connect: () => ClusterObjects;
  readonly tell: (line: string) => void;
  /** Faults. */
  readonly warn: (line: string) => void;
  /** What is applied. Default: the definitions of this version. */
  readonly definitions?: ReadonlyMap<string, unknown>;
  /** Milliseconds for the API server to serve what was applied. Default 30,000. */
  readonly timeout?: number;
}

export const CRDS_USAGE = `usage: sluice-operator crds apply|print
  apply  creates or upgrades the custom resource definitions, and waits until the API server serves them
  print  writes them as YAML`;

export async function crdsCommand(args: readonly string[], options: CrdsOptions): Promise<ExitCode> {
  const [verb, ...rest] = args;
  if (rest.length === 0 && verb === "print") {
    options.tell(
      crdFiles()
        .map(({ content }) => content.trimEnd())
        .join("\n---\n"),
    );
    return 0;
  }
  if (rest.length > 0 || verb !== "apply") {
    options.warn(CRDS_USAGE);
    return 2;
  }
  const objects = options.connect();
  try {
    return await apply(objects, options);
  } catch (error) {
    if (!(error instanceof Rejected || error instanceof Conflict || error instanceof NotServed)) throw error;
    options.warn(error.message);
    return 1;
  } finally {
    await objects.close();
  }
}

const KIND = "CustomResourceDefinition";

/** Nothing is applied before all have been looked at. */
async function apply(objects: ClusterObjects, options: CrdsOptions): Promise<ExitCode> {
  const { tell, warn, definitions = crds(), timeout = 30_000 } = options;
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
    const owner = stored && ownerOf(stored);
    return owner ? [`${name} ${owner}`] : [];
  });
  if (owned.length > 0) {
    for (const line of owned) warn(line);
    warn("nothing was applied: a cluster has its definitions in one way");
    return 4;
  }
  const losing = planned.filter(({ dropped }) => dropped.length > 0);
  for (const { name, dropped } of losing) {
    warn(`${name}: the cluster's definition has what this version does not know, and resources would lose it:`);
    for (const field of dropped) warn(`  ${field}`);
  }
  if (losing.length > 0) {
    warn("nothing was applied: use the version of Sluice that the definitions came with, or a later one");
    return 3;
  }
  for (const { name, ours, stored } of planned) {
    const { resourceVersion } = stored?.metadata ?? {};
    const metadata = { ...ours.metadata, ...(resourceVersion && { resourceVersion }) };
    const applied = await objects.apply(KIND, { ...ours, metadata }, { manager: CRD_MANAGER });
    tell(
      `${name} ${!stored ? "created" : applied.metadata.resourceVersion === resourceVersion ? "unchanged" : "changed"}`,
    );
  }
  const until = Date.now() + timeout;
  for (const { name } of planned) await served(objects, name, until);
  tell("all are served");
  return 0;
}

const plain = (definition: unknown): Definition => definition as Definition;

class NotServed extends Error {
  override readonly name = "NotServed";
}

interface CrdStatus {
  readonly conditions?: readonly { readonly type: string; readonly status: string; readonly message?: string }[];
}

/** Milliseconds between two looks. */
const PAUSE = 100;

async function served(objects: ClusterObjects, name: string, until: number): Promise<void> {
  for (;;) {
    const found = await objects.get(KIND, name);
    const { conditions = [] } = (found?.status ?? {}) as CrdStatus;
    const said = (type: string) => conditions.find((condition) => condition.type === type);
    if (said("Established")?.status === "True") return;
    const names = said("NamesAccepted");
    if (names?.status === "False") throw new NotServed(`${name}: its names are taken: ${names.message}`);
    if (Date.now() >= until) throw new NotServed(`${name}: the API server does not serve it yet`);
    await sleep(PAUSE);
  }
}

/** The objects of the chart and of the Pulumi program for the same values, in a form that can be compared. */
import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { runtime } from "@pulumi/pulumi";
import { parseAllDocuments } from "yaml";
import { Sluice } from "../../../pulumi/components/index.ts";
import { type ReleaseArgs, releaseOf } from "../../../pulumi/release.ts";
import { type RegisteredResource, registerInto } from "../../../pulumi/testing.ts";
import { temporaryFolder } from "../../../tools/process/index.ts";
import { obtainTool } from "../../../tools/programs/tool.ts";
import { GATEWAY_CLASS } from "./helm.ts";

const chart = resolve(import.meta.dirname, "../../../charts/sluice");

export type Objects = Readonly<Record<string, unknown>>;

interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly data?: Readonly<Record<string, unknown>>;
}

/** The objects that `helm install` would send. */
export async function helmObjects({
  name,
  namespace,
  values = {},
  hasGatewayApi = false,
}: ReleaseArgs): Promise<Objects> {
  const folder = temporaryFolder("same-objects");
  try {
    const file = join(folder.path, "values.json");
    writeFileSync(file, JSON.stringify(values));
    const args = ["template", name, chart, "--namespace", namespace, "--values", file];
    if (hasGatewayApi) args.push("--api-versions", GATEWAY_CLASS);
    const { stdout } = await promisify(execFile)(await obtainTool("helm"), args, { maxBuffer: 1 << 26 });
    // YAML 1.1, like Kubernetes' own readers: 0440 is an octal mode.
    const documents = parseAllDocuments(stdout, { version: "1.1" }).map((document) => document.toJS());
    return compared(documents.filter((object) => object !== null));
  } finally {
    folder.remove();
  }
}

/** The objects that the Pulumi program sends to the engine. */
export async function pulumiObjects(args: ReleaseArgs): Promise<Objects> {
  const registered: RegisteredResource[] = [];
  registerInto(registered);
  new Sluice(releaseOf(args));
  await runtime.disconnect();
  return compared(
    registered.filter(({ type }) => type.startsWith("kubernetes:")).map(({ inputs }) => inputs as KubernetesObject),
  );
}

/**
 * Returns the objects by their keys, without the parts that may differ between chart and Pulumi:
 * - the label that names the managing tool (`app.kubernetes.io/managed-by`);
 * - annotations that only Helm or only Pulumi reads (`helm.sh/…`, `pulumi.com/…`);
 * - the pod of `helm test` and its NetworkPolicy: Pulumi has no such command;
 * - the values of Secrets, which are random; the names of their entries must be equal.
 */
function compared(objects: readonly KubernetesObject[]): Objects {
  const kept = objects.filter(({ metadata }) => metadata.labels?.["app.kubernetes.io/component"] !== "test");
  return Object.fromEntries(
    kept.map((object) => [keyOf(object), normalized(object)] as const).toSorted(([a], [b]) => (a < b ? -1 : 1)),
  );
}

const keyOf = ({ apiVersion, kind, metadata }: KubernetesObject) =>
  `${apiVersion} ${kind} ${metadata.namespace ?? ""}/${metadata.name}`;

function normalized(object: KubernetesObject): unknown {
  const { annotations = {}, ...metadata } = object.metadata;
  const others = Object.entries(annotations).filter(([name]) => !/^(helm\.sh|pulumi\.com)\//.test(name));
  const entries = object.kind === "Secret" ? { data: Object.keys(object.data ?? {}).toSorted() } : {};
  return withoutManager({
    ...object,
    metadata: { ...metadata, ...(others.length === 0 ? {} : { annotations: Object.fromEntries(others) }) },
    ...entries,
  });
}

/** Removes the label `app.kubernetes.io/managed-by`, including from pod templates. */
function withoutManager(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutManager);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => name !== "app.kubernetes.io/managed-by")
      .map(([name, member]) => [name, withoutManager(member)]),
  );
}

/** The real Helm and the charts of this repository. */
import { execFile } from "node:child_process";
import { join, resolve } from "node:path";
import { parseAllDocuments } from "yaml";
import { temporaryFolder } from "../../../tools/process/index.ts";
import { obtainTool } from "../../../tools/programs/tool.ts";

const root = resolve(import.meta.dirname, "../../..");

export const charts = { sluice: join(root, "charts/sluice"), crds: join(root, "charts/sluice-crds") } as const;

/** The value of --api-versions for a cluster with the CRDs of the Gateway API. */
export const GATEWAY_CLASS = "gateway.networking.k8s.io/v1/GatewayClass";

export interface HelmAnswer {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A Kubernetes object of a rendered template. */
export interface RenderedChart {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly annotations?: object };
  readonly [member: string]: unknown;
}

/**
 * Runs Helm with its state in temporary folders. Resolves whatever its exit code is.
 *
 * @param kubeconfig Default: none, so that no cluster is reached by mistake.
 */
export async function runHelm(args: readonly string[], kubeconfig = "/dev/null"): Promise<HelmAnswer> {
  const program = await obtainTool("helm");
  const { path: home, remove } = temporaryFolder("helm");
  try {
    const env = { ...process.env, HOME: home, KUBECONFIG: kubeconfig, HELM_DRIVER: undefined };
    return await new Promise((done) => {
      execFile(program, args, { env, maxBuffer: 64 * 1024 * 1024, timeout: 300_000 }, (error, stdout, stderr) => {
        done({ code: error === null ? 0 : Number(error.code ?? 1) || 1, stdout, stderr });
      });
    });
  } finally {
    remove();
  }
}

/** The name of the release of the chart `sluice`, except in tests about names. */
export const release = "sluice";

export interface RenderOptions {
  /** Arguments with values: `--set …`, `-f …`; other options of `helm template`. */
  readonly values?: readonly string[];
  /** Default: sluice. */
  readonly namespace?: string;
}

/** The objects that `helm template` prints, in the same order. Rejects with Helm's own message if the command fails. */
export async function render({
  values = [],
  namespace = "sluice",
}: RenderOptions = {}): Promise<readonly RenderedChart[]> {
  const args = ["template", release, charts.sluice, "--namespace", namespace, ...values];
  const { code, stdout, stderr } = await runHelm(args);
  if (code !== 0) throw new Error(stderr);
  return objectsIn(stdout);
}

/** The objects of a stream of YAML documents. */
export function objectsIn(text: string): readonly RenderedChart[] {
  return parseAllDocuments(text).flatMap((document) => {
    const [fault] = document.errors;
    if (fault) throw fault;
    const object: RenderedChart | null = document.toJS();
    return object === null ? [] : [object];
  });
}

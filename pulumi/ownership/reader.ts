/**
 * Reads existing objects from the API server, because Pulumi's provider does not report objects that it did not create.
 */
import { existsSync, readFileSync } from "node:fs";
import { ApiException, KubeConfig, KubernetesObjectApi } from "@kubernetes/client-node";
import { Config, RunError } from "@pulumi/pulumi";

export interface ObjectIdentity {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

/** An object as the API server returns it. */
export interface ExistingObject {
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly managedFields?: readonly { readonly manager?: string; readonly subresource?: string }[];
  };
  readonly data?: Readonly<Record<string, string>>;
  readonly spec?: Readonly<Record<string, unknown>>;
}

/**
 * Resolves to null if the object does not exist, the cluster does not serve the kind, the server is unreachable or the
 * program may not read: the provider reports a missing cluster or permission itself, in a preview too. Rejects with a
 * RunError for other error responses and on timeout.
 */
export type ReadObject = (identity: ObjectIdentity) => Promise<ExistingObject | null>;

const gatewayClasses: ObjectIdentity = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "gatewayclasses.gateway.networking.k8s.io" },
};

/** Whether the cluster serves GatewayClasses of the version v1. */
export async function hasGatewayApi(read: ReadObject): Promise<boolean> {
  const versions = (await read(gatewayClasses))?.spec?.versions;
  return Array.isArray(versions) && versions.some(({ name, served }) => name === "v1" && served === true);
}

/** Milliseconds after which a request has timed out. */
const PATIENCE = 20_000;

/** Maximum number of concurrent requests; an API server answers 429 to too many. */
const AT_A_TIME = 8;

/**
 * Returns a function that reads from the cluster that the provider uses by default, set by the keys
 * `kubernetes:kubeconfig`, `:context` and `:cluster`, else by KUBECONFIG or `~/.kube/config`.
 */
export function createReader(config = new Config("kubernetes")): ReadObject {
  const api = connect(config);
  if (api === null) return async () => null;
  const lanes = Array.from({ length: AT_A_TIME }, () => Promise.resolve<unknown>(null));
  let asked = 0;
  return (identity) => {
    const lane = asked++ % AT_A_TIME;
    const answer = (lanes[lane] ?? Promise.resolve()).then(() => read(api, identity));
    lanes[lane] = answer.catch(() => null);
    return answer;
  };
}

async function read(
  api: KubernetesObjectApi,
  { apiVersion, kind, metadata }: ObjectIdentity,
): Promise<ExistingObject | null> {
  const { name, namespace } = metadata;
  const { promise: late, reject } = Promise.withResolvers<never>();
  const words = `the API server did not answer within ${PATIENCE / 1000} s when asked for ${kind} ${name}`;
  const timer = setTimeout(reject, PATIENCE, new RunError(words));
  try {
    return await Promise.race([
      api.read({ apiVersion, kind, metadata: { name, namespace } }) as Promise<ExistingObject>,
      late,
    ]);
  } catch (error) {
    if (error instanceof RunError) throw error;
    // Without a code the server is unreachable, or the cluster does not serve the kind.
    if (!(error instanceof ApiException) || [401, 403, 404].includes(error.code)) return null;
    throw new RunError(`the API server answered ${error.code} when asked for ${kind} ${name}: try again`);
  } finally {
    clearTimeout(timer);
  }
}

/** The name of a copy of the current context with another cluster. */
const OTHER = "sluice-other-cluster";

function connect(config: Config): KubernetesObjectApi | null {
  const cluster = new KubeConfig();
  try {
    const given = config.get("kubeconfig");
    if (given === undefined) cluster.loadFromDefault();
    else cluster.loadFromString(existsSync(given) ? readFileSync(given, "utf8") : given);
    const context = config.get("context");
    if (context !== undefined) cluster.setCurrentContext(context);
    const other = config.get("cluster");
    const current = cluster.getContextObject(cluster.getCurrentContext());
    if (other !== undefined && current !== null) {
      cluster.addContext({ ...current, name: OTHER, cluster: other });
      cluster.setCurrentContext(OTHER);
    }
    return KubernetesObjectApi.makeApiClient(cluster);
  } catch {
    return null;
  }
}

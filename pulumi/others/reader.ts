/** What the cluster has, asked of the API server: Pulumi's provider tells a program nothing of what it did not create. */
import { existsSync, readFileSync } from "node:fs";
import { ApiException, KubeConfig, KubernetesObjectApi } from "@kubernetes/client-node";
import { Config } from "@pulumi/pulumi";
import type { Found } from "./owner.ts";

/** What names an object. */
export interface Identity {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

/**
 * Null when there is none, and also where it cannot be asked for: who has no cluster, or may not read, is told so by the
 * provider, in a preview too.
 */
export type Reader = (identity: Identity) => Promise<Found | null>;

/** Milliseconds for one answer. */
const PATIENCE = 20_000;

/** Reads from the cluster that the provider uses by default: `kubernetes:kubeconfig` and `:context`, else KUBECONFIG. */
export function createReader(config = new Config("kubernetes")): Reader {
  const api = connect(config);
  if (api === null) return async () => null;
  return async ({ apiVersion, kind, metadata: { name, namespace } }) => {
    const { promise: late, resolve } = Promise.withResolvers<null>();
    const timer = setTimeout(resolve, PATIENCE, null);
    try {
      return await Promise.race([
        api.read({ apiVersion, kind, metadata: { name, namespace } }) as Promise<Found>,
        late,
      ]);
    } catch (error) {
      if (error instanceof ApiException && error.code >= 500) throw error;
      return null;
    } finally {
      clearTimeout(timer);
    }
  };
}

function connect(config: Config): KubernetesObjectApi | null {
  const cluster = new KubeConfig();
  try {
    const given = config.get("kubeconfig");
    if (given === undefined) cluster.loadFromDefault();
    else cluster.loadFromString(existsSync(given) ? readFileSync(given, "utf8") : given);
    const context = config.get("context");
    if (context !== undefined) cluster.setCurrentContext(context);
    return KubernetesObjectApi.makeApiClient(cluster);
  } catch {
    return null;
  }
}

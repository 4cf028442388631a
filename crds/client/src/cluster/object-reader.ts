/** Reads objects of any kind from a cluster, once. */
import type { ManifestObject } from "../directory/view/parse-objects.ts";
import type { KindNames } from "../kinds.ts";
import { ApiServerError } from "./api/api-server-error.ts";
import { connectToCluster } from "./api/connection.ts";
import type { KubeconfigOptions } from "./api/credentials.ts";
import { apiPath, findObject } from "./api/objects.ts";

export type ObjectKind = Pick<KindNames, "apiVersion" | "plural">;

export interface ObjectReader {
  /**
   * All objects of a kind, in all namespaces; none if the cluster does not serve the kind.
   *
   * @param labels A label selector.
   * @throws ApiServerError when the API server refuses the request.
   */
  list(kind: ObjectKind, labels?: string): Promise<readonly ManifestObject[]>;
  /** Null: there is no such object. */
  get(kind: ObjectKind, at: { readonly namespace: string; readonly name: string }): Promise<ManifestObject | null>;
  close(): Promise<void>;
}

const pageSize = 500;

interface Page {
  readonly kind: string;
  readonly metadata: { readonly continue?: string };
  readonly items: readonly Omit<ManifestObject, "apiVersion" | "kind">[];
}

/** @throws KubeconfigError when the kubeconfig cannot be read. */
export function createObjectReader(options: KubeconfigOptions): ObjectReader {
  const connection = connectToCluster(options);
  return {
    async list(kind, labels) {
      const objects: ManifestObject[] = [];
      let next: string | undefined;
      do {
        const query = { limit: pageSize, ...(labels && { labelSelector: labels }), ...(next && { continue: next }) };
        const page = (await connection
          .call({ method: "GET", path: apiPath(kind), query })
          .catch(nullIfUnknown)) as Page;
        if (page === null) return [];
        // Items of a list lack apiVersion and kind.
        const names = { apiVersion: kind.apiVersion, kind: page.kind.replace(/List$/, "") };
        objects.push(...page.items.map((item) => ({ ...item, ...names }) as ManifestObject));
        next = page.metadata.continue;
      } while (next);
      return objects;
    },
    get: (kind, at) => findObject<ManifestObject>(connection, apiPath(kind, at)),
    close: () => connection.close(),
  };
}

function nullIfUnknown(error: unknown): null {
  if (error instanceof ApiServerError && error.code === 404) return null;
  throw error;
}

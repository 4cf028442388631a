/**
 * Cluster-scoped objects: the CRDs of Sluice's kinds and the webhook configurations. They are plain data here, because
 * each caller reads different members.
 */
import { writeErrorOf } from "./api/api-server-error.ts";
import { connectToCluster } from "./api/connection.ts";
import type { KubeconfigOptions } from "./api/credentials.ts";
import { apiPath, findObject } from "./api/objects.ts";

const clusterKinds = {
  CustomResourceDefinition: { apiVersion: "apiextensions.k8s.io/v1", plural: "customresourcedefinitions" },
  ValidatingWebhookConfiguration: {
    apiVersion: "admissionregistration.k8s.io/v1",
    plural: "validatingwebhookconfigurations",
  },
} as const;

export type ClusterKind = keyof typeof clusterKinds;

export interface ClusterObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly uid?: string; readonly resourceVersion?: string };
  readonly [member: string]: unknown;
}

export interface ClusterObjects {
  /** Null: there is no object of that name. */
  get(kind: ClusterKind, name: string): Promise<ClusterObject | null>;
  /**
   * Server-side apply with force: the manager takes over fields from other managers. A `resourceVersion` in the
   * metadata makes the write conditional on that version.
   *
   * @throws Conflict when the version has changed; Rejected when the API server refuses the object or the permissions
   * are missing.
   */
  apply(kind: ClusterKind, object: ClusterObject, options: { readonly manager: string }): Promise<ClusterObject>;
  close(): Promise<void>;
}

/** @throws KubeconfigError when the kubeconfig cannot be read. */
export function createClusterObjects(options: KubeconfigOptions = {}): ClusterObjects {
  const connection = connectToCluster(options);
  return {
    get: (kind, name) => findObject<ClusterObject>(connection, apiPath(clusterKinds[kind], { name })),
    async apply(kind, object, { manager }) {
      try {
        return (await connection.call({
          method: "PATCH",
          path: apiPath(clusterKinds[kind], { name: object.metadata.name }),
          query: { fieldManager: manager, force: true },
          contentType: "application/apply-patch+yaml",
          body: object,
        })) as ClusterObject;
      } catch (error) {
        throw writeErrorOf(error, {});
      }
    },
    close: () => connection.close(),
  };
}

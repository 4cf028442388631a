/** Revisions as ControllerRevisions (apps/v1), the kind that Kubernetes has for immutable revisions. */
import { parseSummary, type RevisionStorage, type RevisionSummary, revisionsName } from "../revisions.ts";
import { ApiServerError } from "./api/api-server-error.ts";
import { connectToCluster } from "./api/connection.ts";
import type { KubeconfigOptions } from "./api/credentials.ts";
import { apiPath, createObject, findObject } from "./api/objects.ts";

export interface ClusterRevisionStorageOptions extends KubeconfigOptions {
  /** The home namespace. */
  readonly namespace: string;
  readonly class: string;
}

const controllerRevisions = { apiVersion: "apps/v1", plural: "controllerrevisions" };
/** The label of all revisions. Its value is the class of the installation. */
const LABEL = "sluice.dev/revisions-of";
/** Annotation with the summary as JSON. Lists are read as metadata only, which includes annotations. */
const SUMMARY = "sluice.dev/revision";

/** Lists of metadata only, see "Resource representations" in the reference of the Kubernetes API. */
const METADATA_ONLY = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

interface RevisionObject {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
  readonly data?: { readonly changes?: string };
}

/** @throws KubeconfigError when the kubeconfig cannot be read. */
export function createClusterRevisionStorage(options: ClusterRevisionStorageOptions): RevisionStorage {
  const { namespace, class: className } = options;
  const connection = connectToCluster(options);
  const folder = apiPath(controllerRevisions, { namespace });
  const nameOf = (number: number) => `${revisionsName(className)}-${number}`;
  const pathOf = (number: number) => apiPath(controllerRevisions, { namespace, name: nameOf(number) });
  return {
    async list() {
      const found: RevisionSummary[] = [];
      let page: string | undefined;
      do {
        const query = { labelSelector: `${LABEL}=${className}`, limit: 500, continue: page };
        const answer = (await connection.call({ method: "GET", path: folder, query, accept: METADATA_ONLY })) as {
          readonly metadata: { readonly continue?: string };
          readonly items: readonly RevisionObject[] | null;
        };
        found.push(
          ...(answer.items ?? []).flatMap(({ metadata }) => parseSummary(metadata.annotations?.[SUMMARY]) ?? []),
        );
        page = answer.metadata.continue || undefined;
      } while (page !== undefined);
      return found.sort((one, other) => one.number - other.number);
    },
    async content(number) {
      const found = await findObject<RevisionObject>(connection, pathOf(number));
      return found && Buffer.from(found.data?.changes ?? "", "base64");
    },
    async add(revision, content) {
      const labels = { [LABEL]: className, "app.kubernetes.io/managed-by": "sluice-operator" };
      const annotations = { [SUMMARY]: JSON.stringify(revision) };
      const metadata = { name: nameOf(revision.number), namespace, labels, annotations };
      const data = { changes: content.toString("base64") };
      const object = { apiVersion: "apps/v1", kind: "ControllerRevision", metadata, revision: revision.number, data };
      return (await createObject(connection, folder, object)) !== null;
    },
    async remove(number) {
      try {
        await connection.call({ method: "DELETE", path: pathOf(number) });
      } catch (error) {
        if (!(error instanceof ApiServerError && error.isObjectAbsent)) throw error;
      }
    },
    close: () => connection.close(),
  };
}

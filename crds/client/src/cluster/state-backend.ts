/** The operator's own state, as ConfigMaps in one namespace, and its encryption key in a Secret. */
import { randomBytes } from "node:crypto";
import { Conflict, type StateBackend } from "../resource.ts";
import { ApiServerError } from "./api/api-server-error.ts";
import { connectToCluster } from "./api/connection.ts";
import type { KubeconfigOptions } from "./api/credentials.ts";
import { apiPath, createObject, findObject, patchObject } from "./api/objects.ts";

export interface ClusterStateBackendOptions extends KubeconfigOptions {
  readonly namespace: string;
  /**
   * The Secret's namespace. Default: `namespace`. If another namespace is set and has no Secret yet, the data of a
   * Secret in `namespace` is copied there.
   */
  readonly keyNamespace?: string;
  /** The name of the Secret and of the manifest, and the prefix of the names of parts. */
  readonly name: string;
}

const configMaps = { apiVersion: "v1", plural: "configmaps" };
const secrets = { apiVersion: "v1", plural: "secrets" };
/** The label of all parts. Its value is the name of the state that the part belongs to. */
const LABEL = "sluice.dev/part-of";
const KEY_BYTES = 32;

interface StoredObject {
  readonly metadata: { readonly name: string; readonly resourceVersion: string };
  readonly data?: Readonly<Record<string, string>>;
  readonly binaryData?: Readonly<Record<string, string>>;
}

/** @throws KubeconfigError when the kubeconfig cannot be read. */
export function createClusterStateBackend(options: ClusterStateBackendOptions): StateBackend {
  const { namespace, keyNamespace = namespace, name } = options;
  const connection = connectToCluster(options);
  const prefix = `${name}-`;
  const folder = apiPath(configMaps, { namespace });
  const manifestPath = apiPath(configMaps, { namespace, name });
  const partPath = (part: string) => apiPath(configMaps, { namespace, name: prefix + part });
  const find = (path: string) => findObject<StoredObject>(connection, path);

  async function key(): Promise<Buffer> {
    const path = apiPath(secrets, { namespace: keyNamespace, name });
    let kept = await find(path);
    if (!kept) {
      const old = keyNamespace === namespace ? null : await find(apiPath(secrets, { namespace, name }));
      const data = old?.data ?? { key: randomBytes(KEY_BYTES).toString("base64") };
      const metadata = { namespace: keyNamespace, name };
      const secret = { apiVersion: "v1", kind: "Secret", metadata, data };
      const made = await createObject<StoredObject>(connection, apiPath(secrets, { namespace: keyNamespace }), secret);
      kept = made ?? (await find(path));
    }
    const bytes = Buffer.from(kept?.data?.key ?? "", "base64");
    if (bytes.length !== KEY_BYTES)
      throw new Error(
        `the Secret ${keyNamespace}/${name} does not hold a key of ${KEY_BYTES} bytes; remove it, and the operator creates a new one`,
      );
    return bytes;
  }

  return {
    key,
    async manifest() {
      const kept = await find(manifestPath);
      return kept && { text: kept.data?.manifest ?? "", version: kept.metadata.resourceVersion };
    },
    async putManifest(text, before) {
      const data = { manifest: text };
      if (before !== null) {
        const metadata = { resourceVersion: before };
        const put = await patchObject<StoredObject>(connection, manifestPath, { metadata, data });
        return put.metadata.resourceVersion;
      }
      const configMap = { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace, name }, data };
      const made = await createObject<StoredObject>(connection, folder, configMap);
      if (!made) throw new Conflict("exists", `the ConfigMap ${namespace}/${name} already exists`);
      return made.metadata.resourceVersion;
    },
    async parts() {
      const names: string[] = [];
      let page: string | undefined;
      do {
        const query = { labelSelector: `${LABEL}=${name}`, limit: 50, continue: page };
        const answer = (await connection.call({ method: "GET", path: folder, query })) as {
          readonly metadata: { readonly continue?: string };
          readonly items: readonly StoredObject[] | null;
        };
        names.push(...(answer.items ?? []).map(({ metadata }) => metadata.name.slice(prefix.length)));
        page = answer.metadata.continue || undefined;
      } while (page !== undefined);
      return names;
    },
    async part(part) {
      const content = (await find(partPath(part)))?.binaryData?.content;
      return content === undefined ? null : Buffer.from(content, "base64");
    },
    async putPart(part, content) {
      const metadata = { namespace, name: prefix + part, labels: { [LABEL]: name } };
      const binaryData = { content: content.toString("base64") };
      const configMap = { apiVersion: "v1", kind: "ConfigMap", metadata, binaryData, immutable: true };
      await createObject(connection, folder, configMap);
    },
    async removePart(part) {
      try {
        await connection.call({ method: "DELETE", path: partPath(part) });
      } catch (error) {
        if (!(error instanceof ApiServerError && error.isObjectAbsent)) throw error;
      }
    },
    close: () => connection.close(),
  };
}

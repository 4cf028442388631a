/** The operator's own state, as ConfigMaps in one namespace, and its encryption key in a Secret. */
import { randomBytes } from "node:crypto";
import { Conflict, type StateBackend } from "../resource.ts";
import { ApiServerError } from "./api/api-server-error.ts";
import { type Connection, createConnection } from "./api/connection.ts";
import { createCredentials, type KubeconfigOptions, loadKubeconfig } from "./api/credentials.ts";
import { apiPath } from "./watch/lister-watcher.ts";

export interface ClusterStateBackendOptions extends KubeconfigOptions {
  readonly namespace: string;
  /** The Secret's namespace, if different. A key found in `namespace` is copied to it. Default: `namespace`. */
  readonly keyNamespace?: string;
  /** The name of the Secret and of the manifest, and the prefix of the names of parts. */
  readonly name: string;
}

const configMaps = { apiVersion: "v1", plural: "configmaps" };
const secrets = { apiVersion: "v1", plural: "secrets" };
/** Its value is the name of the state that the part belongs to. */
const LABEL = "sluice.dev/part-of";
const KEY_BYTES = 32;

interface StoredObject {
  readonly metadata: { readonly name: string; readonly resourceVersion: string };
  readonly data?: Readonly<Record<string, string>>;
  readonly binaryData?: Readonly<Record<string, string>>;
}

interface NewObject {
  readonly metadata: { readonly namespace: string; readonly name: string };
  readonly [member: string]: unknown;
}

/** @throws KubeconfigError when the kubeconfig cannot be read. */
export function createClusterStateBackend({
  namespace,
  keyNamespace,
  name,
  ...options
}: ClusterStateBackendOptions): StateBackend {
  const place = { namespace, name, ...(keyNamespace !== undefined && { keyNamespace }) };
  return stateBackendOver(createConnection(createCredentials(loadKubeconfig(options))), place);
}

export function stateBackendOver(
  connection: Connection,
  {
    namespace,
    keyNamespace = namespace,
    name,
  }: Pick<ClusterStateBackendOptions, "namespace" | "keyNamespace" | "name">,
): StateBackend {
  const prefix = `${name}-`;
  const partPath = (part: string) => apiPath(configMaps, { namespace, name: prefix + part });

  async function find(path: string): Promise<StoredObject | null> {
    try {
      return (await connection.call({ method: "GET", path })) as StoredObject;
    } catch (error) {
      if (error instanceof ApiServerError && error.isObjectAbsent) return null;
      throw error;
    }
  }

  /** Null: the object exists already. */
  async function create(of: typeof configMaps, kind: string, object: NewObject): Promise<StoredObject | null> {
    try {
      const body = { apiVersion: "v1", kind, ...object };
      const path = apiPath(of, { namespace: object.metadata.namespace });
      return (await connection.call({ method: "POST", path, body })) as StoredObject;
    } catch (error) {
      if (error instanceof ApiServerError && error.status.reason === "AlreadyExists") return null;
      throw error;
    }
  }

  async function key(): Promise<Buffer> {
    const path = apiPath(secrets, { namespace: keyNamespace, name });
    let kept = await find(path);
    if (!kept) {
      const old = keyNamespace === namespace ? null : await find(apiPath(secrets, { namespace, name }));
      const data = old?.data ?? { key: randomBytes(KEY_BYTES).toString("base64") };
      const metadata = { namespace: keyNamespace, name };
      kept = (await create(secrets, "Secret", { metadata, data })) ?? (await find(path));
    }
    const bytes = Buffer.from(kept?.data?.key ?? "", "base64");
    if (bytes.length !== KEY_BYTES)
      throw new Error(
        `the Secret ${keyNamespace}/${name} holds no key of ${KEY_BYTES} bytes; remove it, and one is made`,
      );
    return bytes;
  }

  return {
    key,
    async manifest() {
      const kept = await find(apiPath(configMaps, { namespace, name }));
      return kept && { text: kept.data?.manifest ?? "", version: kept.metadata.resourceVersion };
    },
    async putManifest(text, before) {
      const data = { manifest: text };
      if (before === null) {
        const made = await create(configMaps, "ConfigMap", { metadata: { namespace, name }, data });
        if (!made) throw new Conflict("exists", `the ConfigMap ${namespace}/${name} is there already`);
        return made.metadata.resourceVersion;
      }
      try {
        const put = (await connection.call({
          method: "PATCH",
          path: apiPath(configMaps, { namespace, name }),
          contentType: "application/merge-patch+json",
          body: { metadata: { resourceVersion: before }, data },
        })) as StoredObject;
        return put.metadata.resourceVersion;
      } catch (error) {
        if (error instanceof ApiServerError && (error.code === 409 || error.isObjectAbsent))
          throw new Conflict("changed", error.message);
        throw error;
      }
    },
    async parts() {
      const names: string[] = [];
      let page: string | undefined;
      do {
        const query = { labelSelector: `${LABEL}=${name}`, limit: 50, continue: page };
        const answer = (await connection.call({ method: "GET", path: apiPath(configMaps, { namespace }), query })) as {
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
      await create(configMaps, "ConfigMap", { metadata, binaryData, immutable: true });
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

/** HTTP requests to a test cluster's API server, because kubectl would need a process for each. */
import { readFileSync } from "node:fs";
import { Agent, request } from "node:https";

export interface ApiAnswer {
  readonly status: number;
  readonly body: unknown;
  /** The warnings that kubectl would print after `Warning:`. */
  readonly warnings: readonly string[];
}

interface ApiRequest {
  readonly method?: "GET" | "POST" | "PATCH" | "DELETE";
  /** The path from the root, with its query. */
  readonly path: string;
  readonly body?: object;
  /** Default: application/json. */
  readonly contentType?: string;
  readonly accept?: string;
}

export interface ClusterApi {
  ask(request: ApiRequest): Promise<ApiAnswer>;
  close(): void;
}

/**
 * Makes a client of the API server, which sends requests as the user of the kubeconfig.
 *
 * @param kubeconfig Path of a file that `startControlPlane` has written: JSON, with a token or a client certificate.
 */
export function connectApi(kubeconfig: string): ClusterApi {
  const { clusters, users } = JSON.parse(readFileSync(kubeconfig, "utf8"));
  const { server, "certificate-authority-data": authority } = clusters[0].cluster;
  const { token, "client-certificate-data": certificate, "client-key-data": key } = users[0].user;
  const decode = (text: string | undefined) => (text === undefined ? undefined : Buffer.from(text, "base64"));
  const agent = new Agent({ keepAlive: true, ca: decode(authority), cert: decode(certificate), key: decode(key) });
  return {
    ask({ method = "GET", path, body, contentType = "application/json", accept = "application/json" }) {
      const headers = {
        accept,
        ...(token && { authorization: `Bearer ${token}` }),
        ...(body && { "content-type": contentType }),
      };
      return new Promise((resolve, reject) => {
        const call = request(`${server}${path}`, { method, headers, agent }, async (response) => {
          try {
            const text = (await response.setEncoding("utf8").toArray()).join("");
            const warnings = response.headersDistinct.warning ?? [];
            resolve({ status: response.statusCode ?? 0, body: JSON.parse(text), warnings: warnings.map(warningText) });
          } catch (error) {
            reject(error);
          }
        });
        call.on("error", reject).end(body && JSON.stringify(body));
      });
    },
    close: () => agent.destroy(),
  };
}

/**
 * A condition of a Route, as `status reason message`; empty when the Route does not have the condition.
 *
 * @param at `<namespace>/<name>`
 * @throws Error when the API server does not return the Route.
 */
export async function conditionOfRoute(api: ClusterApi, at: string, type: string): Promise<string> {
  const [namespace, name] = at.split("/");
  const path = `/apis/sluice.dev/v1alpha1/namespaces/${namespace}/routes/${name}`;
  const { status, body } = await api.ask({ path });
  if (status !== 200) throw new Error(`GET ${path} was answered ${status}`);
  const conditions: readonly Readonly<Record<string, string>>[] = Object(body).status?.conditions ?? [];
  const found = conditions.find((condition) => condition.type === type);
  return found === undefined ? "" : `${found.status} ${found.reason} ${found.message}`;
}

/** The text of the header `299 - "text"`, in which quotes and backslashes are escaped. */
const warningText = (header: string): string => header.replace(/^299 \S+ "(.*)"$/s, "$1").replace(/\\(["\\])/g, "$1");

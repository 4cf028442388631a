/** Whether a request may be answered: who may use the listener, and by what that is proved. */
import type { IncomingHttpHeaders } from "node:http";
import type { ClusterAccess, Right } from "@sluice/crds";
import { Unavailable } from "../../stores/store.ts";
import { forbidden, HttpError } from "../errors.ts";
import { rightsFor } from "./rights.ts";
import { tokenCheck, tokensIn } from "./token.ts";

export interface GateOptions {
  /** Null: no token opens the listener. */
  readonly token: string | null;
  /** A client certificate opens it. */
  readonly certificates: boolean;
  /** Null: no Kubernetes token opens it. */
  readonly cluster: ClusterAccess | null;
  readonly homeNamespace: string;
}

export interface Entering {
  readonly method: string;
  /** The route that answers; undefined: none does. */
  readonly url: string | undefined;
  readonly headers: IncomingHttpHeaders;
  /** The connection's client certificate was verified. */
  readonly certified: boolean;
}

/**
 * Whether the caller has proved who it is, or need not: false only where everybody is answered.
 *
 * @throws HttpError 401 or 403; Unavailable when the cluster cannot be asked.
 */
export type Gate = (entering: Entering) => Promise<boolean>;

/** Whether the listener lives, for those who restart it. */
const isOpen = ({ method, url }: Entering): boolean => (method === "GET" || method === "HEAD") && url === "/status";

export function createGate({ token, certificates, cluster, homeNamespace }: GateOptions): Gate {
  const opens = token === null ? () => false : tokenCheck(token);
  if (token === null && !certificates && !cluster) return async () => true;

  async function prove(entering: Entering): Promise<void> {
    if (certificates && entering.certified) return;
    const { bearer, all } = tokensIn(entering.headers);
    if (all.some(opens)) return;
    const caller = cluster && bearer !== undefined ? await answered(cluster.callerOf(bearer)) : null;
    if (!cluster || !caller) throw unauthorized();
    const wanted = rightsFor(entering.method, entering.url ?? "", homeNamespace);
    const allowed = await answered(Promise.all(wanted.map((right) => cluster.allows(caller, right))));
    const refused = wanted.find((_right, index) => !allowed[index]);
    if (refused)
      throw forbidden(`${caller.username} may not ${inWords(refused)}: RBAC of the cluster does not allow it`);
  }

  return async (entering) => {
    if (entering.method === "OPTIONS") return false;
    try {
      await prove(entering);
      return true;
    } catch (error) {
      if (isOpen(entering)) return false;
      throw error;
    }
  };
}

const unauthorized = () =>
  new HttpError(401, { message: "Unauthorized" }, { "WWW-Authenticate": 'Bearer realm="sluice-admin"' });

async function answered<Answer>(asked: Promise<Answer>): Promise<Answer> {
  try {
    return await asked;
  } catch (cause) {
    throw new Unavailable(
      "the cluster cannot be asked what the caller may do: the log of the admin listener says why",
      {
        cause,
      },
    );
  }
}

const inWords = ({ verb, group, resource, namespace }: Right): string =>
  `${verb} ${resource}${group === "" ? "" : `.${group}`} in ${namespace === undefined ? "all namespaces" : `the namespace ${namespace}`}`;

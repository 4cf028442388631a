/** Authorizes requests: by token, client certificate or Kubernetes token. */
import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import type { ClusterAuthorizer, ResourceAttributes } from "@sluice/crds";
import { StoreUnavailable } from "../../stores/store.ts";
import { forbidden, HttpError } from "../http/errors.ts";
import { probePaths } from "./browser-guard.ts";
import { requiredRights } from "./rights.ts";

export interface AuthorizerOptions {
  readonly token: string | null;
  /** Whether a verified client certificate authenticates a request. */
  readonly certificates: boolean;
  /** Null: Kubernetes tokens are not accepted. */
  readonly cluster: ClusterAuthorizer | null;
  readonly homeNamespace: string;
  /** The name of callers when no authentication is configured. Default: `anonymous`. */
  readonly anonymous?: string;
}

export interface AuthorizationRequest {
  readonly method: string;
  readonly url: string | undefined;
  readonly headers: IncomingHttpHeaders;
  /** The subject of the verified client certificate; null: there is none. */
  readonly certificate: string | null;
}

/**
 * Resolves to the caller's name, as the author of revisions, if the caller is authenticated and may make the request,
 * or if no authentication is configured. Otherwise resolves to null for GET or HEAD of /status, of the paths of probes
 * and of the console's files, and for OPTIONS, whose callers are not checked because preflights carry no credentials.
 *
 * @throws HttpError 401 or 403; StoreUnavailable when a request to the cluster fails.
 */
export type Authorizer = (entering: AuthorizationRequest) => Promise<string | null>;

/** The URLs of the web console, as the listener matches them. */
export const CONSOLE_URLS: readonly string[] = ["/console", "/console/*"];

/**
 * URLs that can be read without authentication: the paths of probes, Kong's /status, which probes use too, and the
 * console's files, which are read before the sign-in.
 */
const publicUrls: ReadonlySet<string | undefined> = new Set(["/status", ...probePaths, ...CONSOLE_URLS]);

const isPublic = ({ method, url }: AuthorizationRequest): boolean =>
  (method === "GET" || method === "HEAD") && publicUrls.has(url);

/** The name of every caller that sends the token: all callers share one token. */
const TOKEN_NAME = "admin token";

export function createAuthorizer(options: AuthorizerOptions): Authorizer {
  const { token, certificates, cluster, homeNamespace, anonymous = "anonymous" } = options;
  const opens = token === null ? () => false : tokenCheck(token);
  if (token === null && !certificates && !cluster) return async () => anonymous;

  async function authenticate(entering: AuthorizationRequest): Promise<string> {
    if (certificates && entering.certificate !== null) return `certificate ${entering.certificate}`;
    const { bearer, all } = readTokens(entering.headers);
    if (all.some(opens)) return TOKEN_NAME;
    const caller = cluster && bearer !== undefined ? await orUnavailable(cluster.authenticate(bearer)) : null;
    if (!cluster || !caller) throw unauthorized();
    const wanted = requiredRights(entering.method, entering.url ?? "", homeNamespace);
    const allowed = await orUnavailable(Promise.all(wanted.map((right) => cluster.isAllowed(caller, right))));
    const refused = wanted.find((_right, index) => !allowed[index]);
    if (refused)
      throw forbidden(`${caller.username} may not ${describeRight(refused)}: RBAC of the cluster does not allow it`);
    return `Kubernetes user ${caller.username}`;
  }

  return async (entering) => {
    if (entering.method === "OPTIONS") return null;
    try {
      return await authenticate(entering);
    } catch (error) {
      if (isPublic(entering)) return null;
      throw error;
    }
  };
}

const unauthorized = () =>
  new HttpError(401, { message: "Unauthorized" }, { "WWW-Authenticate": 'Bearer realm="sluice-admin"' });

async function orUnavailable<Answer>(asked: Promise<Answer>): Promise<Answer> {
  try {
    return await asked;
  } catch (cause) {
    throw new StoreUnavailable(
      "the cluster cannot be asked for the caller's permissions: the log of the admin listener has the reason",
      {
        cause,
      },
    );
  }
}

const describeRight = ({ verb, group, resource, namespace }: ResourceAttributes): string =>
  `${verb} ${resource}${group === "" ? "" : `.${group}`} in ${namespace === undefined ? "all namespaces" : `the namespace ${namespace}`}`;

interface SentTokens {
  readonly bearer: string | undefined;
  /** All tokens of the request: the bearer token and the token in Kong's header. */
  readonly all: readonly string[];
}

function readTokens(headers: IncomingHttpHeaders): SentTokens {
  const bearer = /^Bearer +(\S+) *$/i.exec(headers.authorization ?? "")?.[1];
  const own = headers["kong-admin-token"];
  return { bearer, all: [bearer, own].filter((token) => typeof token === "string") };
}

/** Returns the check of a given token. It compares hashes, which have equal length, in constant time. */
function tokenCheck(expected: string): (given: string) => boolean {
  const wanted = hashOf(expected);
  return (given) => timingSafeEqual(hashOf(given), wanted);
}

const hashOf = (text: string): Buffer => createHash("sha256").update(text).digest();

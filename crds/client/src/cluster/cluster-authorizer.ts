/**
 * Authenticates Kubernetes tokens and checks permissions with the API server (TokenReview and SubjectAccessReview), so
 * that the API server's authenticators and RBAC also apply here.
 */
import { createHash } from "node:crypto";
import { LruCache } from "@sluice/model";
import { connectToCluster } from "./api/connection.ts";
import type { KubeconfigOptions } from "./api/credentials.ts";

export interface UserInfo {
  readonly username: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** The action to authorize, in RBAC terms. */
export interface ResourceAttributes {
  readonly verb: "get" | "list" | "create" | "update" | "patch" | "delete";
  /** API group; empty for core resources. */
  readonly group: string;
  /** The plural, such as `services`. */
  readonly resource: string;
  /** Absent: all namespaces. */
  readonly namespace?: string;
}

/**
 * Results are up to ten seconds old. `authenticate` and `isAllowed` reject when the API server fails or too many
 * requests are pending.
 */
export interface ClusterAuthorizer {
  /** Null: the token is invalid or expired. */
  authenticate(token: string): Promise<UserInfo | null>;
  isAllowed(caller: UserInfo, right: ResourceAttributes): Promise<boolean>;
  close(): Promise<void>;
}

export interface ClusterAuthorizerOptions extends KubeconfigOptions {
  /** A clock in milliseconds. Default: the system's clock. */
  readonly now?: () => number;
}

const CACHE_TTL = 10_000;
const MAX_ANSWERS = 1024;
/** Any client can send tokens, and must not be able to flood the API server with reviews. */
const MAX_CONCURRENT_REVIEWS = 64;

/** @throws KubeconfigError when the kubeconfig cannot be read. */
export function createClusterAuthorizer(options: ClusterAuthorizerOptions = {}): ClusterAuthorizer {
  const { now = () => performance.now() } = options;
  const connection = connectToCluster(options);
  const callers = createAnswerCache<UserInfo | null>(now);
  const rights = createAnswerCache<boolean>(now);

  let concurrent = 0;
  async function review(group: string, kind: string, spec: object): Promise<unknown> {
    if (concurrent >= MAX_CONCURRENT_REVIEWS) throw new Error("too many requests to the API server are in progress");
    concurrent++;
    try {
      return await connection.call({
        method: "POST",
        path: `/apis/${group}/v1/${kind.toLowerCase()}s`,
        body: { apiVersion: `${group}/v1`, kind, spec },
      });
    } finally {
      concurrent--;
    }
  }

  return {
    authenticate: (token) =>
      callers(hashOf(token), async () => {
        const { status } = (await review("authentication.k8s.io", "TokenReview", { token })) as TokenReview;
        return status?.authenticated === true && status.user?.username ? (status.user as UserInfo) : null;
      }),
    isAllowed: (caller, right) =>
      rights(hashOf(JSON.stringify([caller, right])), async () => {
        const { username: user, uid, groups, extra } = caller;
        const spec = { user, uid, groups, extra, resourceAttributes: right };
        const { status } = (await review("authorization.k8s.io", "SubjectAccessReview", spec)) as SubjectAccessReview;
        return status?.allowed === true;
      }),
    close: () => connection.close(),
  };
}

interface TokenReview {
  readonly status?: { readonly authenticated?: boolean; readonly user?: Partial<UserInfo> };
}

interface SubjectAccessReview {
  readonly status?: { readonly allowed?: boolean };
}

/** Tokens are secrets: only their hashes are stored. */
const hashOf = (text: string): string => createHash("sha256").update(text).digest("base64");

/** Caches results for ten seconds; concurrent equal reviews share one request. A failed review is not cached. */
function createAnswerCache<Answer>(now: () => number) {
  const known = new LruCache<{ readonly answer: Promise<Answer>; readonly until: number }>(MAX_ANSWERS / 2);
  return (key: string, ask: () => Promise<Answer>): Promise<Answer> => {
    const before = known.get(key);
    if (before && before.until > now()) return before.answer;
    const asked = { answer: ask(), until: now() + CACHE_TTL };
    known.set(key, asked);
    asked.answer.catch(() => {
      if (known.get(key) === asked) known.delete(key);
    });
    return asked.answer;
  };
}

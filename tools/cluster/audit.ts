/** Reads the API server's audit log: the requests of each user, with their results. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export interface AuditedRequest {
  readonly user: string;
  readonly verb: string;
  /** As in an RBAC rule: `routes/status`. */
  readonly resource: string;
  readonly group: string;
  /** Empty: all namespaces, or a cluster-scoped resource. */
  readonly namespace: string;
  readonly name: string;
  /** The status of the response; 0: no response yet. */
  readonly status: number;
}

const policy = {
  apiVersion: "audit.k8s.io/v1",
  kind: "Policy",
  omitStages: ["RequestReceived"],
  rules: [{ level: "Metadata" }],
};

/** Writes the audit policy into a folder, and returns the flags with which an API server writes its audit log there. */
export function auditFlags(folder: string): readonly string[] {
  const file = join(folder, "audit-policy.json");
  writeFileSync(file, JSON.stringify(policy));
  return [`--audit-policy-file=${file}`, `--audit-log-path=${logIn(folder)}`, "--audit-log-mode=blocking-strict"];
}

const logIn = (folder: string) => join(folder, "audit.log");

interface Line {
  readonly verb: string;
  readonly user?: { readonly username?: string };
  readonly objectRef?: {
    readonly resource?: string;
    readonly subresource?: string;
    readonly apiGroup?: string;
    readonly namespace?: string;
    readonly name?: string;
  };
  readonly responseStatus?: { readonly code?: number };
}

/** The log's entries so far for requests for objects, in order. A watch has one when it starts and one when it ends. */
export function readAudit(folder: string): readonly AuditedRequest[] {
  return readFileSync(logIn(folder), "utf8")
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Line)
    .flatMap(({ verb, user, objectRef, responseStatus }) => {
      if (!objectRef?.resource) return [];
      const { resource, subresource, apiGroup: group = "", namespace = "", name = "" } = objectRef;
      return {
        user: user?.username ?? "",
        verb,
        resource: subresource ? `${resource}/${subresource}` : resource,
        group,
        namespace,
        name,
        status: responseStatus?.code ?? 0,
      };
    });
}

/** Compares the rights that roles grant with their use in the API server's audit log. */
import { readFileSync } from "node:fs";
import { parse } from "yaml";
import type { AuditedRequest } from "../../../tools/cluster/audit.ts";

/** A rule of a Role or a ClusterRole. */
export interface RbacRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

/** One verb for one resource. */
export interface Grant {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  /** Names of the objects. Absent: all. */
  readonly names?: readonly string[];
  /** Absent: wherever the role applies. */
  readonly namespace?: string;
}

/** Sections of the role files with rules for the home namespace. */
const ofHome = ["home", "dedicatedNodes", "push", "moved"];
/** Sections of the role files with rules for the namespace of the Secrets that only the operator reads. */
const ofPrivate = ["private", "privatePush", "privateAcme"];
const files = new URL("../../../charts/sluice/files/", import.meta.url);

/**
 * The grants of a component's rules.
 *
 * @param sections The sections of the role file whose rules the account has.
 * @param namespaces `home` is the home namespace, `own` the namespace of the Secrets that only the operator reads.
 */
export function grantsOf(
  part: "operator" | "admin",
  sections: readonly string[],
  { home, own }: { readonly home: string; readonly own: string },
): readonly Grant[] {
  const rules: Readonly<Record<string, readonly RbacRule[]>> = parse(
    readFileSync(new URL(`${part}-role.yaml`, files), "utf8"),
  );
  const placeOf = (section: string) => {
    if (ofPrivate.includes(section)) return own;
    return ofHome.includes(section) ? home : undefined;
  };
  return sections.flatMap((section) => grantsIn(rules[section] ?? [], placeOf(section)));
}

/** The grants of rules. `namespace` absent: wherever the role applies. */
export function grantsIn(rules: readonly RbacRule[], namespace?: string): readonly Grant[] {
  return rules.flatMap(({ apiGroups, resources, resourceNames: names, verbs }) =>
    apiGroups.flatMap((group) =>
      resources.flatMap((resource) =>
        verbs.map((verb) => ({ verb, group, resource, ...(names && { names }), ...(namespace && { namespace }) })),
      ),
    ),
  );
}

/** The verbs that a request needed: an apply that created its object needed the verb create too. */
const verbsOf = ({ verb, status }: AuditedRequest): readonly string[] =>
  verb === "patch" && status === 201 ? [verb, "create"] : [verb];

const isUse = (one: AuditedRequest, { verb, group, resource, names, namespace }: Grant): boolean =>
  verbsOf(one).includes(verb) &&
  one.group === group &&
  one.resource === resource &&
  (namespace === undefined || one.namespace === namespace) &&
  (names === undefined || names.includes(one.name));

const describeGrant = ({ verb, group, resource, names, namespace }: Grant): string =>
  [verb, group ? `${resource}.${group}` : resource, names?.join(" or "), namespace && `in ${namespace}`]
    .filter(Boolean)
    .join(" ");

/** Unused grants, one line each. */
export const unusedGrants = (grants: readonly Grant[], log: readonly AuditedRequest[]): readonly string[] =>
  grants.filter((grant) => !log.some((one) => isUse(one, grant))).map(describeGrant);

/** The different refused requests, one line each. */
export const refusedRequests = (log: readonly AuditedRequest[]): readonly string[] => [
  ...new Set(
    log
      .filter(({ status }) => status === 403)
      .map(({ verb, group, resource, name, namespace }) =>
        describeGrant({ verb, group, resource, names: [name], namespace }),
      ),
  ),
];

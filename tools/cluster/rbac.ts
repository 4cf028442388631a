/** The chart's RBAC rules of the operator and the admin listener, for users or service accounts of a test cluster. */
import { readFileSync } from "node:fs";
import { parse } from "yaml";

const files = new URL("../../charts/sluice/files/", import.meta.url);

/** The users of the kubeconfigs that the processes get. */
export const clusterUsers = { operator: "sluice-operator", admin: "sluice-admin" } as const;

interface Role {
  readonly cluster: readonly object[];
  readonly clusterOnly: readonly object[];
  // The optional rules are for the operator only.
  readonly webhook?: readonly object[];
  readonly push?: readonly object[];
  readonly private?: readonly object[];
  readonly privatePush?: readonly object[];
  readonly moved?: readonly object[];
  readonly dedicatedNodes?: readonly object[];
  readonly acme?: readonly object[];
  readonly privateAcme?: readonly object[];
  readonly home: readonly object[];
}

const roleOf = (file: string): Role => parse(readFileSync(new URL(`${file}-role.yaml`, files), "utf8"));

const list = (items: readonly object[]): string => JSON.stringify({ apiVersion: "v1", kind: "List", items });

/**
 * A List of roles and bindings, as JSON for `kubectl apply`: exactly the rules of the chart, except those of
 * `pushManifests`, `dedicatedNodesManifests` and `acmeManifests`.
 *
 * @param privateNamespace Namespace of the Secrets that only the operator reads. Default: the home namespace.
 */
export function roleManifests(homeNamespace: string, privateNamespace = homeNamespace): string {
  const items = Object.entries(clusterUsers).flatMap(([file, user]) => {
    const { cluster, clusterOnly, webhook = [], home, moved = [], private: secrets = [] } = roleOf(file);
    const subject = userNamed(user);
    const isApart = privateNamespace !== homeNamespace;
    const rules = [...home, ...(isApart ? moved : secrets)];
    return [
      ...granted({ name: user, subject, rules: [...cluster, ...clusterOnly, ...webhook], kind: "ClusterRole" }),
      ...granted({ name: user, subject, rules, kind: "Role", namespace: homeNamespace }),
      ...(isApart ? granted({ name: user, subject, rules: secrets, kind: "Role", namespace: privateNamespace }) : []),
    ];
  });
  return list(items);
}

/** The operator's rules for certificates that it issues, in addition to those of `roleManifests`. */
export function pushManifests(homeNamespace: string, privateNamespace = homeNamespace): string {
  const { push = [], privatePush = [] } = roleOf("operator");
  const grant = { subject: userNamed(clusterUsers.operator), kind: "Role" } as const;
  return list([
    ...granted({ ...grant, name: `${clusterUsers.operator}-push`, rules: push, namespace: homeNamespace }),
    ...granted({
      ...grant,
      name: `${clusterUsers.operator}-authority`,
      rules: privatePush,
      namespace: privateNamespace,
    }),
  ]);
}

/** The operator's rules for nodes of single Gateways, in addition to those of `roleManifests`. */
export function dedicatedNodesManifests(homeNamespace: string): string {
  const { dedicatedNodes = [] } = roleOf("operator");
  const name = `${clusterUsers.operator}-dedicated-nodes`;
  const subject = userNamed(clusterUsers.operator);
  return list(granted({ name, subject, rules: dedicatedNodes, kind: "Role", namespace: homeNamespace }));
}

/** The operator's rules for ordered certificates, in addition to those of `roleManifests`. */
export function acmeManifests(privateNamespace: string): string {
  const { acme = [], privateAcme = [] } = roleOf("operator");
  const name = `${clusterUsers.operator}-acme`;
  const subject = userNamed(clusterUsers.operator);
  return list([
    ...granted({ name, subject, rules: acme, kind: "ClusterRole" }),
    ...granted({ name, subject, rules: privateAcme, kind: "Role", namespace: privateNamespace }),
  ]);
}

export interface NamespacedOptions {
  readonly part: keyof typeof clusterUsers;
  /** The part's service account in the home namespace. */
  readonly account: string;
  readonly homeNamespace: string;
  /** Watched namespaces. */
  readonly namespaces: readonly string[];
}

/**
 * Roles of an operator or an admin listener without a ClusterRole, as in the chart with `namespaces`: the operator's
 * own Secrets are in the home namespace.
 */
export function namespacedManifests({ part, account, homeNamespace, namespaces }: NamespacedOptions): string {
  const { cluster, home, private: secrets = [] } = roleOf(part);
  const subject = { kind: "ServiceAccount", name: account, namespace: homeNamespace };
  return list([
    ...namespaces.flatMap((namespace) => granted({ name: account, subject, rules: cluster, kind: "Role", namespace })),
    ...granted({
      name: `${account}-home`,
      subject,
      rules: [...home, ...secrets],
      kind: "Role",
      namespace: homeNamespace,
    }),
  ]);
}

const apiGroup = "rbac.authorization.k8s.io";
const userNamed = (name: string) => ({ apiGroup, kind: "User", name });

function granted({ name, subject, rules, kind, namespace }: Grant): readonly object[] {
  const metadata = { name, ...(namespace ? { namespace } : {}) };
  return [
    { apiVersion: `${apiGroup}/v1`, kind, metadata, rules },
    {
      apiVersion: `${apiGroup}/v1`,
      kind: `${kind}Binding`,
      metadata,
      roleRef: { apiGroup, kind, name },
      subjects: [subject],
    },
  ];
}

interface Grant {
  readonly name: string;
  readonly subject: object;
  readonly rules: readonly object[];
  readonly kind: "ClusterRole" | "Role";
  readonly namespace?: string;
}

/** The chart's rules of the operator and the admin listener, granted to users of a test cluster. */
import { readFileSync } from "node:fs";
import { parse } from "yaml";

const files = new URL("../../charts/sluice/files/", import.meta.url);

/** The users of the kubeconfigs that the processes get. */
export const users = { operator: "sluice-operator", admin: "sluice-admin" } as const;

interface Role {
  readonly cluster: readonly object[];
  readonly home?: readonly object[];
}

/** A List of roles and bindings, as JSON for `kubectl apply`: exactly the rules of the chart, none of our own. */
export function roleManifests(homeNamespace: string): string {
  const items = Object.entries(users).flatMap(([file, user]) => {
    const { cluster, home }: Role = parse(readFileSync(new URL(`${file}-role.yaml`, files), "utf8"));
    return [
      ...granted({ user, rules: cluster, kind: "ClusterRole" }),
      ...(home ? granted({ user, rules: home, kind: "Role", namespace: homeNamespace }) : []),
    ];
  });
  return JSON.stringify({ apiVersion: "v1", kind: "List", items });
}

function granted({ user, rules, kind, namespace }: Grant): readonly object[] {
  const apiGroup = "rbac.authorization.k8s.io";
  const metadata = { name: user, ...(namespace ? { namespace } : {}) };
  return [
    { apiVersion: `${apiGroup}/v1`, kind, metadata, rules },
    {
      apiVersion: `${apiGroup}/v1`,
      kind: `${kind}Binding`,
      metadata,
      roleRef: { apiGroup, kind, name: user },
      subjects: [{ apiGroup, kind: "User", name: user }],
    },
  ];
}

interface Grant {
  readonly user: string;
  readonly rules: readonly object[];
  readonly kind: "ClusterRole" | "Role";
  readonly namespace?: string;
}

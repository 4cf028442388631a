/** The rights of the twin operator: it reads like an operator, and can neither lead nor write. */
import { readFileSync } from "node:fs";
import { parse } from "yaml";

interface Rule {
  readonly verbs: readonly string[];
  readonly resources: readonly string[];
}

const file = new URL("../../../charts/sluice/files/operator-role.yaml", import.meta.url);
const READS: readonly string[] = ["get", "list", "watch"];

/** A List for `kubectl apply`: the chart's rules without Leases and without write verbs, for the user `twin`. */
export function twinManifests(homeNamespace: string): string {
  const { cluster, clusterOnly, home } = parse(readFileSync(file, "utf8")) as Record<
    "cluster" | "clusterOnly" | "home",
    readonly Rule[]
  >;
  const reading = (rules: readonly Rule[]) =>
    rules
      .map((rule) => ({ ...rule, verbs: rule.verbs.filter((verb) => READS.includes(verb)) }))
      .filter(({ verbs }) => verbs.length > 0);
  const group = "rbac.authorization.k8s.io";
  const granted = (kind: "ClusterRole" | "Role", rules: readonly Rule[], namespace?: string) => [
    { apiVersion: `${group}/v1`, kind, metadata: { name: "twin", namespace }, rules },
    {
      apiVersion: `${group}/v1`,
      kind: `${kind}Binding`,
      metadata: { name: "twin", namespace },
      roleRef: { apiGroup: group, kind, name: "twin" },
      subjects: [{ apiGroup: group, kind: "User", name: "twin" }],
    },
  ];
  const withoutLease = home.filter(({ resources }) => !resources.includes("leases"));
  const items = [
    ...granted("ClusterRole", reading([...cluster, ...clusterOnly])),
    ...granted("Role", reading(withoutLease), homeNamespace),
  ];
  return JSON.stringify({ apiVersion: "v1", kind: "List", items });
}

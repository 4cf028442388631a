/** Permissions of operator and admin listener, from the rules in charts/sluice/files. */
import { readFileSync } from "node:fs";
import { parse } from "yaml";
import type { KubernetesObject } from "./create.ts";
import {
  labelsOf,
  metadataOf,
  namespacesOf,
  objectName,
  privateNamespace,
  pushSecret,
  type Release,
  wideName,
} from "./names.ts";

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

/** The last eight sections occur only in the operator's role file. */
type Section =
  | "cluster"
  | "clusterOnly"
  | "home"
  | "webhook"
  | "push"
  | "private"
  | "privatePush"
  | "moved"
  | "dedicatedNodes"
  | "acme"
  | "privateAcme";

const apiGroup = "rbac.authorization.k8s.io";
const apiVersion = `${apiGroup}/v1`;

/**
 * A service account with its roles: in the cluster (or in the namespaces that are read), in the home namespace and, for
 * the operator, in the private namespace.
 *
 * @param clusterScoped The sections of rules for cluster-scoped objects.
 */
export function rightsOf(
  release: Release,
  component: "operator" | "admin",
  clusterScoped: readonly ("clusterOnly" | "webhook")[],
): readonly KubernetesObject[] {
  const { values, namespace } = release;
  const rules = rulesOf(release, component);
  const metadata = metadataOf(release, component);
  const account = { kind: "ServiceAccount", name: objectName(release, component), namespace };
  const wide = { name: wideName(release, component), labels: labelsOf(release, component) };
  const orders = values.acme.enabled;
  const acme = orders ? rules("acme") : [];
  const everywhere = [...rules("cluster"), ...clusterScoped.flatMap(rules), ...acme];
  const makesPush = values.push.existingSecret === "";
  const push = makesPush ? rules("push") : [];
  const nodes = values.gatewayApi.dedicatedNodes.enabled ? rules("dedicatedNodes") : [];
  const own = [
    ...rules("private"),
    ...(makesPush ? rules("privatePush") : []),
    ...(orders ? rules("privateAcme") : []),
  ];
  const isApart = privateNamespace(release) !== namespace;
  return [
    { apiVersion: "v1", kind: "ServiceAccount", metadata, automountServiceAccountToken: false },
    ...(values.namespaces.length === 0
      ? granted("ClusterRole", { metadata: wide, rules: everywhere, account })
      : namespacesOf(release).flatMap((place) =>
          granted("Role", { metadata: { ...wide, namespace: place }, rules: [...rules("cluster"), ...acme], account }),
        )),
    ...granted("Role", {
      metadata,
      rules: [...rules("home"), ...nodes, ...push, ...(isApart ? rules("moved") : own)],
      account,
    }),
    ...(own.length > 0 && isApart
      ? granted("Role", { metadata: { ...wide, namespace: privateNamespace(release) }, rules: own, account })
      : []),
  ];
}

interface Grant {
  readonly metadata: KubernetesObject["metadata"];
  readonly rules: readonly Rule[];
  readonly account: object;
}

function granted(kind: "ClusterRole" | "Role", { metadata, rules, account }: Grant): readonly KubernetesObject[] {
  const roleRef = { apiGroup, kind, name: metadata.name };
  return [
    { apiVersion, kind, metadata, rules },
    { apiVersion, kind: `${kind}Binding`, metadata, roleRef, subjects: [account] },
  ];
}

/** Returns a function that returns a section's rules, in which this release's resource names replace the file's. */
function rulesOf(release: Release, component: string): (section: Section) => readonly Rule[] {
  const path = new URL(`../../charts/sluice/files/${component}-role.yaml`, import.meta.url);
  const file: Partial<Readonly<Record<Section, readonly Rule[]>>> = parse(readFileSync(path, "utf8"));
  const own = operatorName(release);
  const names: Readonly<Record<string, string>> = {
    "sluice-webhook": wideName(release, "webhook"),
    "sluice-operator": own,
    "sluice-operator-document": `${own}-document`,
    "sluice-push": pushSecret(release),
    "sluice-push-authority": `${pushSecret(release)}-authority`,
  };
  const renamed = ({ resourceNames, ...rule }: Rule): Rule =>
    resourceNames === undefined ? rule : { ...rule, resourceNames: resourceNames.map((name) => names[name] ?? name) };
  return (section) => (file[section] ?? []).map(renamed);
}

/** The operator's name for its own objects in the home namespace. */
const operatorName = ({ values }: Release): string =>
  values.class === "sluice" ? "sluice-operator" : `sluice-operator-${values.class}`;

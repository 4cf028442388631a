/** Generates the reference page of Ingresses from the table of annotations. */
import { type AnnotationFacts, annotationTable } from "@sluice/crds";
import { type GeneratedFile, generatedPage } from "../../../crds/model/src/generate/files.ts";

const intro = `# Ingresses

The operator serves every Ingress (\`networking.k8s.io/v1\`) of its class, together with Sluice's own resources. [Leave ingress-nginx](../how-to/leave-ingress-nginx.md) shows how to move Ingresses from another controller.

## Which Ingresses are served

An Ingress belongs to an installation if the IngressClass that it names has the \`spec.controller\` \`sluice.dev/ingress-controller\`, or \`sluice.dev/ingress-controller/<class>\` for an installation whose [class](settings.md) is not \`sluice\`. If no such IngressClass exists, or if the operator may not read IngressClasses because it is limited to namespaces, the name itself must be the installation's class. The annotation \`kubernetes.io/ingress.class\` takes precedence over \`spec.ingressClassName\`; ingress-nginx reads the annotation only if this field is unset. An Ingress without a class is served if the default IngressClass is Sluice's. The Ingresses of a deleted IngressClass are served for 30 seconds more, so that it can be replaced. \`SLUICE_INGRESS_CONTROLLERS\` names further controllers whose Ingresses are served.

## Rules

| field | behavior |
|---|---|
| \`pathType: Exact\` | the path matches only itself |
| \`pathType: Prefix\` | whole elements of the path match: \`/foo\` and \`/foo/\` match \`/foo\`, \`/foo/\` and \`/foo/bar\`, and not \`/foobar\` |
| \`pathType: ImplementationSpecific\` | the same as \`Prefix\` |
| order | exact paths come before prefixes, longer prefixes before shorter ones. Of equal paths, the one of the oldest Ingress is served, and the other Ingresses get an Event |
| \`host\` | an exact host comes before a wildcard, a longer wildcard before a shorter one. A wildcard stands for one or more labels; Kubernetes and ingress-nginx define it as one label. Paths that match no rule of their host are served by a rule for a wildcard that matches the host, or by one without a host |
| \`defaultBackend\` | serves the requests for hosts of the Ingress that match none of its paths; in an Ingress without rules, all requests |
| \`backend.service\` | requests are sent to the endpoints of the Service, with the Host of the client and the full path. If the Service or the port does not exist, requests are answered with 503 |
| \`backend.resource\` | not supported: requests are answered with 503, and the Ingress gets an Event |
| \`tls\` | the certificate of the Secret (type \`kubernetes.io/tls\`) is presented for the hosts. Plain http requests for these hosts, including those that match rules of other Ingresses, are redirected with 308, except below \`/.well-known/acme-challenge\` |

## Status and Events

\`status.loadBalancer\` gets the addresses of the gateway (\`SLUICE_PUBLISH_SERVICE\` or \`SLUICE_PUBLISH_ADDRESSES\`) as soon as every ready node serves the Ingress. \`kubectl wait --for=jsonpath='{.status.loadBalancer.ingress}' ingress/NAME\` waits for that. Problems are Events of the Ingress, with the path of the field: \`kubectl describe ingress NAME\` shows them. Kubernetes deletes Events after an hour; the operator records them again when it starts.

Each path becomes a Route, and each backend a Service, that exist only in the gateway: they have names such as \`ingress~web~example.com~prefix~api\` in metrics, logs and explanations, and the admin API does not list them.

## Plugins

A Plugin acts on all requests for an Ingress if its \`targetRefs\` names the Ingress: see [Attach plugins to Ingresses and to routes of the Gateway API](../how-to/attach-plugins.md).

## Annotations

The operator reads the annotations of ingress-nginx (\`nginx.ingress.kubernetes.io/\`) under their own names. If an annotation is unknown or invalid, the Ingress gets an Event. If such an annotation may protect the upstream, all requests for the Ingress are answered with 503, because they could otherwise reach the upstream unprotected. The column "protects" marks the annotations that may protect the upstream. An annotation that is not in the table counts as one of them if its name begins with \`auth\`, \`limit\`, \`whitelist\`, \`allowlist\`, \`denylist\`, \`global-rate-limit\`, \`satisfy\`, \`modsecurity\`, \`enable-modsecurity\`, \`enable-global-auth\`, \`proxy-ssl\` or \`ssl-passthrough\`, or ends with \`-snippet\`.

If an annotation has no effect, every value is accepted.

Redirects are answered before all other annotations are applied, except those for CORS and \`proxy-body-size\`, as in ingress-nginx. The other checks have the order of ingress-nginx too: client certificates, sizes of bodies, limits of requests, addresses, passwords, and the auth server. So failed logins count for the limits.`;

const cell = ({ effect, ignored = false, instead, canBeOff = false }: AnnotationFacts): string => {
  if (ignored) return `No effect. ${effect}`;
  if (canBeOff) return `${effect} \`false\` is accepted.`;
  return instead === undefined ? effect : `${effect} Instead, ${instead}.`;
};

export function ingressPage(): GeneratedFile {
  const rows = Object.entries(annotationTable)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, facts]) => `| \`${name}\` | ${cell(facts)} | ${facts.protects ? "yes" : ""} |`);
  const table = ["| annotation | effect | protects |", "|---|---|---|", ...rows].join("\n");
  return generatedPage(
    "docs/reference/ingress.md",
    [intro, table].join("\n\n"),
    "crds/client/src/derive/ingress/annotations/table.ts",
  );
}

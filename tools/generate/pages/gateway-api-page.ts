/** Generates the reference page of the Gateway API from the tables of members. */
import {
  gatewayClassMembers,
  gatewayMembers,
  grpcRouteMembers,
  httpRouteMembers,
  type MemberTable,
  referenceGrantMembers,
  supportedFeatures,
} from "@sluice/crds";
import { type GeneratedFile, markdown } from "../../../crds/model/src/generate/files.ts";

const intro = `# Gateway API

The operator serves GatewayClasses, Gateways, HTTPRoutes, GRPCRoutes and ReferenceGrants of the Gateway API (\`gateway.networking.k8s.io\`, version 1.6), together with Sluice's own resources and Ingresses. The CRDs come from the Gateway API project; the operator works without them, and serves the resources when the CRDs are installed. Until the operator has the rights of the current chart or stack, it ignores these kinds, and its log names the missing rights.

## Which Gateways are served

A Gateway belongs to an installation if its GatewayClass has the \`spec.controllerName\` \`sluice.dev/gateway-controller\`, or \`sluice.dev/gateway-controller/<class>\` for an installation whose [class](settings.md) is not \`sluice\`. If no such GatewayClass exists, or if the operator may not read GatewayClasses because it is limited to namespaces, the name itself must be the installation's class.

## How requests are routed

The listener of a request is the one of its port whose hostname is the most specific for the Host: an exact host, then the longest wildcard, then a listener without a hostname. Only the routes that are attached to this listener are used. Among them, the most specific host comes first, then the path, then a method, the number of headers and the number of query parameters. Of equal matches, the one of the oldest route is used, then the one of the route whose namespace and name sort first, then the first in the route.

Requests that match no route are answered with 404. The nodes send requests to the endpoints of the core Service with the Host of the client. A core Service without ready endpoints answers 503.

Each match becomes a Route, and each rule a Service, that exist only in the gateway: they have names such as \`http-route~web~000~001~example.com\` (rule 0, match 1 of an HTTPRoute) in metrics, logs and explanations, and the admin API does not list them.

## Status

| resource | condition | meaning |
|---|---|---|
| GatewayClass | \`Accepted\` | the installation serves its Gateways; \`supportedFeatures\` lists what it serves |
| Gateway | \`Accepted\` | at least one listener can be served |
| Gateway, listener | \`Programmed\` | every ready node serves the current version; \`kubectl wait --for=condition=Programmed gateway/NAME\` waits for it |
| listener | \`Conflicted\` | another listener of the Gateway has the same port with another protocol, or the same port and hostname; neither is served. If nodes open the ports of Gateways themselves (the operator's \`SLUICE_NODE_SERVICE\` is not set), also: an older Gateway has such a listener; that one is served |
| listener | \`ResolvedRefs\` | certificates and kinds of routes are valid |
| route, for each Gateway | \`Accepted\` | the route has attached to a listener, and everything in it is supported |
| route, for each Gateway | \`ResolvedRefs\` | all backends can be used |

The gateway never opens what it cannot serve as it is meant: a rule with a field that is not supported is answered with 500.

## Supported features

The names are those of the conformance tests: ${supportedFeatures.map((name) => `\`${name}\``).join(", ")}.`;

const tableOf = (kind: string, members: MemberTable): string =>
  [
    `## ${kind}`,
    "",
    "| field of `spec` | served | effect |",
    "|---|---|---|",
    ...Object.entries(members).map(
      ([path, { effect, isServed = true }]) => `| \`${path}\` | ${isServed ? "yes" : "no"} | ${effect} |`,
    ),
  ].join("\n");

export function gatewayApiPage(): GeneratedFile {
  const tables = Object.entries({
    GatewayClass: gatewayClassMembers,
    Gateway: gatewayMembers,
    HTTPRoute: httpRouteMembers,
    GRPCRoute: grpcRouteMembers,
    ReferenceGrant: referenceGrantMembers,
  }).map(([kind, members]) => tableOf(kind, members));
  return markdown(
    "docs/reference/gateway-api.md",
    [intro, ...tables].join("\n\n"),
    "crds/client/src/derive/gateway/member-table.ts",
  );
}

/** Generates the reference page of the Gateway API from the tables of members. */
import {
  backendTlsPolicyMembers,
  gatewayClassMembers,
  gatewayMembers,
  grpcRouteMembers,
  httpRouteMembers,
  listenerSetMembers,
  type MemberTable,
  referenceGrantMembers,
  supportedFeatures,
  tlsRouteMembers,
} from "@sluice/crds";
import { type GeneratedFile, generatedPage } from "../../../crds/model/src/generate/files.ts";

const intro = `# Gateway API

The operator serves GatewayClasses, Gateways, ListenerSets, HTTPRoutes, GRPCRoutes, TLSRoutes, BackendTLSPolicies and ReferenceGrants of the Gateway API (\`gateway.networking.k8s.io\`, version 1.6), together with Sluice's own resources and Ingresses. The CRDs come from the Gateway API project, and Sluice neither installs nor deletes them: \`kubectl apply --server-side -f https://github.com/kubernetes-sigs/gateway-api/releases/download/v1.6.3/standard-install.yaml\`. The operator works without them, and serves the resources when the CRDs are installed. Until the operator has the rights that the current chart or Pulumi stack gives it, it ignores these kinds, and its log names the missing rights.

## Which Gateways are served

A Gateway belongs to an installation if its GatewayClass has the \`spec.controllerName\` \`sluice.dev/gateway-controller\`, or \`sluice.dev/gateway-controller/<class>\` for an installation whose [class](settings.md) is not \`sluice\`. By default, the chart and the Pulumi program create two such GatewayClasses: one with the name of the class, whose Gateways have nodes of their own, and one with the suffix \`-shared\`, whose Gateways share the nodes of the release ([how](../how-to/install-with-helm.md#for-production)). If no such GatewayClass exists, or if the operator may not read GatewayClasses because it is limited to namespaces, the name itself must be the installation's class.

## ListenerSets

A ListenerSet adds listeners to a Gateway whose \`spec.allowedListeners\` allows its namespace. Of two listeners that exclude each other, the one of the Gateway is served, then the one of the older ListenerSet, then the one of the ListenerSet whose namespace and name sort first. Routes attach to a ListenerSet with a \`parentRefs\` entry of the kind \`ListenerSet\`. A Plugin whose target is the Gateway acts on the routes of its ListenerSets too.

## How requests are routed

Of the listeners of a port, a request goes to the one whose hostname is the most specific for the Host: an exact host, then the longest wildcard, then a listener without a hostname. Only the routes that are attached to this listener are used. Among them, the most specific host comes first, then the path, then a method, the number of headers and the number of query parameters. If several matches are equally specific, the match of the oldest route is used, then that of the route whose namespace and name sort first. Within a route, the first match is used.

An HTTPRoute and a GRPCRoute with a common hostname on one listener exclude each other: the older is served there, and if the younger has no other listener, its condition \`Accepted\` has the reason \`HostnameConflict\`.

Requests that match no route are answered with 404. The nodes send requests to the endpoints of the core Service with the Host of the client. A core Service without ready endpoints answers 503.

Each match becomes a Route, and each rule a Service, that exist only in the gateway: they have names such as \`http-route~web~000~001~example.com\` (rule 0, match 1 of an HTTPRoute) in metrics, logs and explanations, and the admin API does not list them.

## How TLS connections are routed

A listener with the protocol \`TLS\` forwards whole connections, not requests. The nodes read the server name (SNI) of the ClientHello, which must arrive within 10 seconds and in at most 32 kB. The listener is chosen as for requests, with the server name in place of the Host, and so is the TLSRoute. If several TLSRoutes have the same hostname, the oldest is used.

The gateway opens a connection to an endpoint of a core Service, and passes the bytes of each connection to the other. If an endpoint cannot be reached, another one is tried. Neither side can send faster than the other one reads, and either side may stop sending first. The connection ends when both sides have ended, after 60 seconds without data in either direction, and at the end of a shutdown's drain time. It has one line in the access log, with \`protocol\`, \`server_name\`, the bytes and the target; a connection that the gateway closes has the \`status\` that a request would get, such as 404 without a route. The reason is in the node's log.

[These plugins](../how-to/forward-tcp-and-tls.md#plugins-and-logs) act on connections; all others act on HTTP only. If another protecting plugin, such as key-auth, is attached to the Gateway, connections of the Gateway's TLSRoutes are therefore closed. Global plugins do not act on TLSRoutes, as in Kong, unless \`protocols\` of the plugin contains \`tcp\`, \`tls\` or \`tls_passthrough\`: then those that protect and cannot act on connections close these routes as well. A global ip-restriction acts on TLSRoutes with its default \`protocols\` too.

## Status

| resource | condition | meaning |
|---|---|---|
| GatewayClass | \`Accepted\` | the installation serves its Gateways, and the parameters of the class are valid (otherwise \`InvalidParameters\`). \`supportedFeatures\` lists what the installation serves |
| Gateway | \`Accepted\` | at least one listener can be served, and the parameters of the Gateway and of its class are valid (otherwise \`InvalidParameters\`) |
| ListenerSet | \`Accepted\` | the Gateway allows the ListenerSet (otherwise \`NotAllowed\`), and at least one listener can be served (otherwise \`ListenersNotValid\`). A listener in conflict is not accepted |
| Gateway, ListenerSet, listener | \`Programmed\` | every ready node serves the current version; \`kubectl wait --for=condition=Programmed gateway/NAME\` waits for it. If a certificate of a listener had expired when the status was written, or expires within 14 days, the message of the listener names it; [metrics](metrics.md) and alerts report it at any time |
| listener | \`Conflicted\` | another listener of the Gateway has the same port with another protocol (\`HTTPS\` and \`TLS\` may share a port), or the same port and hostname; neither is served. If nodes open the ports of Gateways themselves (the operator's \`SLUICE_NODE_SERVICE\` is not set), the condition is also true if an older Gateway has such a listener; the older Gateway's listener is served |
| listener | \`ResolvedRefs\` | certificates, CA certificates for clients, and kinds of routes are valid |
| Gateway with \`spec.tls.backend\` | \`ResolvedRefs\` | the client certificate for backends can be used |
| Gateway | \`InsecureFrontendValidationMode\` | \`True\` if \`spec.tls.frontend\` admits clients without a valid certificate; otherwise absent |
| route, for each Gateway or ListenerSet | \`Accepted\` | the route has attached to a listener, and everything in it is supported |
| route, for each Gateway or ListenerSet | \`ResolvedRefs\` | all backends can be used |
| BackendTLSPolicy, for each Gateway whose routes use a target | \`Accepted\` | the policy applies to its targets: no older policy does, and its certificate authorities are known |
| BackendTLSPolicy, for each Gateway whose routes use a target | \`ResolvedRefs\` | all \`caCertificateRefs\` can be used |

The gateway never serves a rule in part: a rule with a field that is not supported is answered with 500, and connections of a TLSRoute that cannot be served are closed.

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
    ListenerSet: listenerSetMembers,
    HTTPRoute: httpRouteMembers,
    GRPCRoute: grpcRouteMembers,
    TLSRoute: tlsRouteMembers,
    BackendTLSPolicy: backendTlsPolicyMembers,
    ReferenceGrant: referenceGrantMembers,
  }).map(([kind, members]) => tableOf(kind, members));
  return generatedPage(
    "docs/reference/gateway-api.md",
    [intro, ...tables].join("\n\n"),
    "crds/client/src/derive/gateway/member-table.ts",
  );
}

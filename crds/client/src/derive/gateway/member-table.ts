/** What Sluice does with each member of Gateway API resources; the reference page shows this table. */

export interface MemberFacts {
  readonly effect: string;
  /** Whether the member is served. Default true. */
  readonly isServed?: boolean;
}

/** By the path of the member. An entry also stands for the members below it that have no entry of their own. */
export type MemberTable = Readonly<Record<string, MemberFacts>>;

export const gatewayClassMembers: MemberTable = {
  controllerName: { effect: "Decides whether the GatewayClass belongs to the installation." },
  description: { effect: "No effect on requests: the field is documentation." },
  parametersRef: {
    effect:
      "A GatewayParameters ([fields](resources.md#gatewayparameters)) with the defaults for the Gateways of the " +
      "class. `namespace` is required. While the GatewayParameters does not exist or is invalid, neither the " +
      "GatewayClass nor its Gateways are accepted (`InvalidParameters`).",
  },
};

/** The members of the listeners of Gateways and ListenerSets. */
const listenerMembers: MemberTable = {
  listeners: { effect: "Each listener has a name, a port and a protocol." },
  "listeners[].hostname": { effect: "A host, or a wildcard for one or more labels." },
  "listeners[].protocol": {
    effect:
      "`HTTP`, `HTTPS` or `TLS`. Others are not accepted (`UnsupportedProtocol`). HTTP/2 is served by `HTTP` and `HTTPS`. " +
      "`HTTPS` and `TLS` may share a port, with different hostnames.",
  },
  "listeners[].tls.mode": {
    effect:
      "`Terminate`. For TLS also `Passthrough`: the backend gets the connection as it is, and the gateway reads only the " +
      "server name. Listeners with both modes may share a port.",
  },
  "listeners[].tls.certificateRefs": {
    effect:
      "Secrets of the type `kubernetes.io/tls`, in other namespaces with a ReferenceGrant. A listener is served if one of " +
      "its certificates is valid.",
  },
  "listeners[].tls.options": { effect: "No effect: Sluice defines none.", isServed: false },
  "listeners[].allowedRoutes.kinds": {
    effect: "`HTTPRoute` and `GRPCRoute`; for a listener with the protocol TLS, `TLSRoute`.",
  },
  "listeners[].allowedRoutes.namespaces": {
    effect:
      "`Same`, `All`, `None`, or a selector of namespace labels. An operator that is limited to namespaces cannot read " +
      "labels; a selector then selects nothing.",
  },
};

export const gatewayMembers: MemberTable = {
  gatewayClassName: { effect: "Decides whether the Gateway belongs to the installation." },
  ...listenerMembers,
  addresses: {
    effect:
      "`IPAddress` or `Hostname`; others are not accepted (`UnsupportedAddress`). If the list " +
      "is a single IP address, a Service of the type LoadBalancer requests it (`loadBalancerIP`). Without all " +
      "requested addresses, the Gateway is not programmed (`AddressNotUsable`); the status shows only requested " +
      "addresses.",
  },
  "infrastructure.annotations": { effect: "Annotations of the Service that the operator creates for the Gateway." },
  "infrastructure.labels": { effect: "Labels of the Service that the operator creates for the Gateway." },
  "infrastructure.parametersRef": {
    effect:
      "A GatewayParameters ([fields](resources.md#gatewayparameters)) of the same namespace: whether the Gateway has " +
      "nodes of its own, how many, and the type of its Service ([how](../how-to/give-a-gateway-its-own-nodes.md)). Its " +
      "fields replace those of the GatewayClass. While it does not exist or is invalid, the Gateway is not accepted " +
      "(`InvalidParameters`); a Gateway that is served already stays as it is.",
  },
  "allowedListeners.namespaces": {
    effect:
      "The namespaces of ListenerSets that may attach: `None` (the default), `Same`, `All`, or a selector of labels.",
  },
  "tls.backend.clientCertificateRef": {
    effect:
      "A Secret of the type `kubernetes.io/tls`, in other namespaces with a ReferenceGrant. The nodes show its certificate " +
      "to backends with a BackendTLSPolicy. If it cannot be used, the condition `ResolvedRefs` of the Gateway is False, " +
      "and backends get no certificate.",
  },
  "tls.frontend": {
    effect:
      "HTTPS listeners, and TLS listeners with the mode `Terminate`, serve only clients with a certificate of an authority " +
      "in `ca.crt` of a ConfigMap or Secret; other connections are closed. With `AllowInsecureFallback`, all clients are " +
      "served. A listener without a valid CA certificate is not opened (`NoValidCACertificate`). A change applies to new " +
      "connections.",
  },
};

export const listenerSetMembers: MemberTable = {
  parentRef: {
    effect:
      "A Gateway, in any namespace that its `allowedListeners` allows. ReferenceGrants for certificates name the kind " +
      "`ListenerSet`.",
  },
  ...listenerMembers,
};

const parentRefs: MemberFacts = {
  effect:
    "Gateways and ListenerSets, with `sectionName` and `port`. A route of a Gateway does not attach to its ListenerSets. " +
    "Parents of other kinds are ignored.",
};

/** The members that routes for HTTP have. */
const commonRouteMembers: MemberTable = {
  parentRefs,
  hostnames: {
    effect:
      "The route is served on those of its hosts that the listener's hostname covers. A wildcard stands for one or " +
      "more labels.",
  },
  "rules[].name": { effect: "No effect on requests: the name identifies the rule for people." },
  "rules[].filters[].type": {
    effect:
      "A rule with a filter that is not supported is answered with 500, and the route is not accepted (`UnsupportedValue`).",
  },
  "rules[].filters[].requestHeaderModifier": { effect: "Values are used as they are." },
  "rules[].filters[].responseHeaderModifier": { effect: "Values are used as they are." },
  "rules[].filters[].requestMirror": {
    effect:
      "The mirror gets the request as it is forwarded, and its response is ignored. Requests with bodies of more than " +
      "1 MiB, and requests for a WebSocket, are not mirrored ([request-mirror](plugins/request-mirror.md)). A mirror that " +
      "cannot be resolved gets no requests.",
  },
  "rules[].filters[].extensionRef": {
    effect:
      "A Plugin of `sluice.dev` in the namespace of the route applies to the rule. Set `enabled: false` in the " +
      "Plugin, so that it applies nowhere else. If the Plugin does not exist, or if two filters of the rule use the same " +
      "plugin (`IncompatibleFilters`), the rule is answered with 500.",
  },
  "rules[].backendRefs": {
    effect:
      "Core Services, in other namespaces with a ReferenceGrant. Requests for a backend that cannot be used are answered " +
      "with 500, in proportion to the weights. HTTPRoutes use HTTP/2 for ports with the appProtocol `kubernetes.io/h2c`; " +
      "ports with `kubernetes.io/wss` need a BackendTLSPolicy (`UnsupportedProtocol`).",
  },
  "rules[].backendRefs[].filters": {
    effect:
      "The same filters as those of a rule, for the requests of the backend. Requests are divided between backends with " +
      "filters at random.",
  },
};

export const httpRouteMembers: MemberTable = {
  ...commonRouteMembers,
  "rules[].matches[].path": {
    effect:
      "`Exact`, `PathPrefix` by whole elements, and `RegularExpression` for the whole path. Exact paths come first, then " +
      "regular expressions, then prefixes, the longer first. Expressions run in linear time: look-ahead and " +
      "back-references are not supported.",
  },
  "rules[].matches[].headers": { effect: "`Exact`, and `RegularExpression` for the whole value." },
  "rules[].matches[].queryParams": {
    effect: "`Exact`, and `RegularExpression` for the whole value; of a repeated parameter, the first value counts.",
  },
  "rules[].matches[].method": { effect: "The method." },
  "rules[].filters[].requestRedirect": { effect: "The query of the request is kept." },
  "rules[].filters[].urlRewrite": { effect: "The query of the request is kept." },
  "rules[].filters[].cors": {
    effect: "Preflight requests are answered by the gateway. Without `allowOrigins`, the filter has no effect.",
  },
  "rules[].timeouts.request": {
    effect:
      "The maximum time of a request with all its attempts, from its beginning to the end of the response. A request " +
      "whose response has not begun is answered with 504; otherwise, the response is broken off. A connection that was " +
      "upgraded, such as a WebSocket, is not limited.",
  },
  "rules[].timeouts.backendRequest": {
    effect: "The maximum time of each attempt, until the end of the response. The rest is as with `request`.",
  },
  "rules[].retry.codes": {
    effect:
      "Statuses of responses after which the request is sent again, whatever its method, to another endpoint if there is " +
      "one. Requests with a body of more than 64 KiB are not sent again. If no attempt is left, or `timeouts.request` " +
      "leaves no time for one, the client gets the response. Only the CRDs of the experimental channel have `retry`.",
  },
  "rules[].retry.attempts": {
    effect:
      "The maximum number of attempts after the first. Default 2. A request is also sent again after a failed " +
      "connection, and if there is no response within `timeouts.backendRequest`; if the request may have reached the " +
      "backend, only with an idempotent method (GET, HEAD, OPTIONS, TRACE, PUT, DELETE). Without `retry`, up to 5 " +
      "further attempts follow a failed connection.",
  },
  "rules[].retry.backoff": {
    effect:
      "The minimum time before the second attempt. Default 25 ms. It doubles before each further attempt, up to 10 times " +
      "the first, and up to a quarter is added at random.",
  },
};

export const grpcRouteMembers: MemberTable = {
  ...commonRouteMembers,
  "rules[].matches[].method": {
    effect:
      "Service and method, `Exact` or `RegularExpression` for the whole name. The longer service comes first, then the " +
      "longer method, then the number of headers. The upstream is called with HTTP/2 without TLS.",
  },
  "rules[].matches[].headers": { effect: "`Exact`, and `RegularExpression` for the whole value." },
};

export const backendTlsPolicyMembers: MemberTable = {
  targetRefs: {
    effect:
      "Core Services that are backends of routes; with `sectionName`, one of their ports. Of several policies for a " +
      "target, the oldest applies, and the others are not accepted (`Conflicted`). Without a policy, requests are sent " +
      "without TLS.",
  },
  "validation.caCertificateRefs": {
    effect:
      "ConfigMaps or Secrets with certificates in PEM in the entry `ca.crt`, together at most 256 KiB. A reference that " +
      "cannot be used is left out (`ResolvedRefs` is False). If none is left, requests for the backend are answered " +
      "with 500.",
  },
  "validation.wellKnownCACertificates": {
    effect: "`System`: the certificate authorities that the machines of the nodes trust.",
  },
  "validation.hostname": {
    effect: "The server name (SNI). The certificate must be valid for it, unless `subjectAltNames` is set.",
  },
  "validation.subjectAltNames": {
    effect:
      "The certificate must have one of these names. A hostname that begins with `*.` stands for all names below it; a URI " +
      "must be equal.",
  },
  options: { effect: "No effect: Sluice defines none.", isServed: false },
};

export const tlsRouteMembers: MemberTable = {
  parentRefs,
  hostnames: {
    effect:
      "Server names (SNI). The route gets connections for those that the listener's hostname covers. A wildcard stands " +
      "for one or more labels; the most specific one is used. A connection with another server name, or without one, " +
      "is closed.",
  },
  "rules[].name": { effect: "No effect on requests: the name identifies the rule for people." },
  "rules[].backendRefs": {
    effect:
      "Core Services, in other namespaces with a ReferenceGrant. If the mode of the listener is `Terminate`, the backend " +
      "gets the bytes without TLS, or with TLS if it has a BackendTLSPolicy. Connections for a backend that cannot be used are closed, in proportion to the weights.",
  },
};

export const referenceGrantMembers: MemberTable = {
  from: { effect: "Gateways, ListenerSets and routes, and kinds of `sluice.dev`." },
  to: { effect: "Secrets, core Services, and kinds of `sluice.dev`." },
};

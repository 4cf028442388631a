/** What Sluice does with each member of Gateway API resources; the reference page shows this table. */

export interface MemberFacts {
  readonly effect: string;
  /** Whether the member is served. Default true. */
  readonly isServed?: boolean;
}

/** By the path of the member. An entry also stands for the members below it that have no entry of their own. */
export type MemberTable = Readonly<Record<string, MemberFacts>>;

const refused = (effect: string): MemberFacts => ({ effect, isServed: false });

export const gatewayClassMembers: MemberTable = {
  controllerName: { effect: "Decides whether the GatewayClass belongs to the installation." },
  description: { effect: "No effect on requests: the field is documentation." },
  parametersRef: refused("The GatewayClass is not accepted (`InvalidParameters`)."),
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
  addresses: refused("A Gateway with a `value` is not accepted (`UnsupportedAddress`); an empty one has no effect."),
  "infrastructure.annotations": { effect: "Annotations of the Service that the operator creates for the Gateway." },
  "infrastructure.labels": { effect: "Labels of the Service that the operator creates for the Gateway." },
  "infrastructure.parametersRef": refused("The Gateway is not accepted (`InvalidParameters`)."),
  "allowedListeners.namespaces": {
    effect:
      "The namespaces of ListenerSets that may attach: `None` (the default), `Same`, `All`, or a selector of labels.",
  },
  "tls.backend": refused("The Gateway is not accepted (`Invalid`)."),
  "tls.frontend": {
    effect:
      "HTTPS listeners, and TLS listeners with the mode `Terminate`, serve only clients with a certificate of an authority " +
      "in `ca.crt` of a ConfigMap or Secret; other connections are closed. With `AllowInsecureFallback`, all clients are " +
      "served. A listener without a valid CA certificate is not opened (`NoValidCACertificate`).",
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
  "rules[].filters[].requestMirror": refused("See `type`."),
  "rules[].filters[].extensionRef": {
    effect:
      "A Plugin of `sluice.dev` in the namespace of the route applies to the rule. Set `enabled: false` in the " +
      "Plugin, so that it applies nowhere else. If the Plugin does not exist, the rule is answered with 500.",
  },
  "rules[].backendRefs": {
    effect:
      "Core Services, in other namespaces with a ReferenceGrant. Requests for a backend that cannot be used are answered " +
      "with 500, in proportion to the weights.",
  },
  "rules[].backendRefs[].filters": {
    effect: "Served for the only backend of a rule. With several backends, the rule is answered with 500.",
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
  "rules[].timeouts": {
    effect:
      "The upstream may be silent for at most the shorter of the two timeouts, before the response and between its " +
      "parts. With `request`, failed requests are not repeated.",
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
      "gets the bytes without TLS. Connections for a backend that cannot be used are closed, in proportion to the weights.",
  },
};

export const referenceGrantMembers: MemberTable = {
  from: { effect: "Gateways, ListenerSets and routes, and kinds of `sluice.dev`." },
  to: { effect: "Secrets, core Services, and kinds of `sluice.dev`." },
};

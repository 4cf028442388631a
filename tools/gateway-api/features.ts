/** The features of the Gateway API that the conformance suite tests, and which of them Sluice has. */

/** Groups of features whose tests run. A profile's core features are always tested; the features below extend them. */
export const profiles = ["GATEWAY-HTTP", "GATEWAY-GRPC", "GATEWAY-TLS"] as const;

/** Extended features that are tested. */
export const supportedFeatures = [
  "GatewayPort8080",
  "GatewayHTTPListenerIsolation",
  "GatewayAddressEmpty",
  "GRPCRouteNamedRouteRule",
  "HTTPRouteBackendProtocolWebSocket",
  "HTTPRouteBackendRequestHeaderModification",
  "HTTPRouteBackendTimeout",
  "HTTPRouteCORS",
  "HTTPRouteDestinationPortMatching",
  "HTTPRouteHostRewrite",
  "HTTPRouteMethodMatching",
  "HTTPRouteNamedRouteRule",
  "HTTPRouteParentRefPort",
  "HTTPRoutePathRedirect",
  "HTTPRoutePathRewrite",
  "HTTPRoutePortRedirect",
  "HTTPRouteQueryParamMatching",
  "HTTPRouteRequestTimeout",
  "HTTPRouteResponseHeaderModification",
  "HTTPRouteSchemeRedirect",
  "HTTPRoute303RedirectStatusCode",
  "HTTPRoute307RedirectStatusCode",
  "HTTPRoute308RedirectStatusCode",
] as const;

/** The reason why an extended feature is not supported. */
export const unsupportedFeatures: Readonly<Record<string, string>> = {
  BackendTLSPolicy: "not implemented yet; a Service resource of Sluice verifies its upstream",
  BackendTLSPolicySANValidation: "see BackendTLSPolicy",
  GatewayBackendClientCertificate: "see BackendTLSPolicy",
  GatewayFrontendClientCertificateValidation: "not implemented yet; the plugin mtls-auth verifies clients",
  GatewayFrontendClientCertificateValidationInsecureFallback: "see GatewayFrontendClientCertificateValidation",
  GatewayHTTPSListenerDetectMisdirectedRequests: "not implemented yet",
  GatewayInfrastructure: "not implemented yet",
  GatewayStaticAddresses: "the address of a Gateway is that of its Service, which Kubernetes chooses",
  HTTPRouteBackendProtocolH2C: "not implemented yet: of HTTP/2, upstreams get only gRPC",
  HTTPRouteRequestMirror: "not implemented yet",
  HTTPRouteRequestMultipleMirrors: "see HTTPRouteRequestMirror",
  HTTPRouteRequestPercentageMirror: "see HTTPRouteRequestMirror",
  HTTPRouteRetry: "not implemented yet: Sluice retries only failed connections",
  HTTPRouteRetryBackendTimeout: "see HTTPRouteRetry",
  HTTPRouteRetryConnectionError: "see HTTPRouteRetry",
  ListenerSet: "not implemented yet",
  TLSRouteModeMixed: "not implemented yet",
  TLSRouteModeTerminate: "not implemented yet",
};

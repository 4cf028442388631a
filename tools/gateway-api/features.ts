/** What the conformance suite of the Gateway API tests. The supported features are those of the GatewayClass. */

/** Groups of features whose tests run. A profile's core features are always tested; the features below extend them. */
export const testedProfiles = ["GATEWAY-HTTP", "GATEWAY-GRPC", "GATEWAY-TLS"] as const;

/** The reason why the other profiles for Gateways are not tested. */
export const unsupportedProfiles: Readonly<Record<string, string>> = {
  "GATEWAY-TCP":
    "Sluice routes HTTP requests, and TLS connections by their server name; it has no routes for other TCP connections",
  "GATEWAY-UDP": "Sluice routes HTTP requests, and TLS connections by their server name; it has no routes for UDP",
};

const RETRY = "served, but the suite runs with the CRDs of the standard channel, which lack the field `retry`";

/** The reason why an extended feature is not supported. */
export const unsupportedFeatures: Readonly<Record<string, string>> = {
  GatewayInfrastructure:
    "served, but the suite looks for the Service in the namespace of the Gateway, and Sluice creates it in the namespace of the nodes",
  GatewayStaticAddresses:
    "a Service of the type LoadBalancer asks for the address; the suite runs on a cluster without load balancers",
  HTTPRouteRetry: RETRY,
  HTTPRouteRetryBackendTimeout: RETRY,
  HTTPRouteRetryConnectionError: RETRY,
};

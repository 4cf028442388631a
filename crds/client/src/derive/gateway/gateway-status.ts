/** The statuses of Gateway API resources. Pure; times of transitions are added when a status is written. */
import { isDeepStrictEqual } from "node:util";
import { gatewayController } from "@sluice/model";
import type { Condition, Resource } from "../../resource.ts";
import type { DerivedGateway } from "./derive-gateway.ts";
import {
  type ConditionFinding,
  falseFinding,
  GATEWAY_API,
  type ParentReference,
  requestedAddresses,
  trueFinding,
} from "./gateway-api.ts";
import { isInsecure } from "./listeners/client-validation.ts";
import type { DerivedListenerSet } from "./listeners/derive-listener-set.ts";
import type { GatewayListener } from "./listeners/derive-listeners.ts";
import { validityProblems } from "./listeners/listener-certificates.ts";
import type { DerivedRoute } from "./routes/derive-route.ts";

export interface GatewayAddressStatus {
  readonly type: "IPAddress" | "Hostname";
  readonly value: string;
}

/** What is known about the nodes and about other resources. */
export interface GatewayProgress extends ListenerProgress {
  readonly addresses: readonly GatewayAddressStatus[];
}

interface ListenerProgress {
  /** Whether every ready node serves the current version of a listener, by its name in the document. */
  readonly isProgrammed: (listener: string) => boolean;
  /** Why nodes cannot open listeners, by the name in the document. */
  readonly failedListeners: ReadonlyMap<string, string>;
  /** The number of attached routes, by the name in the document. */
  readonly attachedRoutes: (listener: string) => number;
  /** Milliseconds since 1970, by which certificates have expired. */
  readonly now: number;
}

export const conditionOf = (
  { metadata }: Resource,
  type: string,
  { status, reason, message }: ConditionFinding,
): Condition => ({
  type,
  status,
  reason,
  message,
  observedGeneration: metadata.generation ?? 0,
});

export function gatewayStatus(derived: DerivedGateway, progress: GatewayProgress) {
  const { gateway, accepted, listeners, listenerSets, backendCertificate } = derived;
  const requested = requestedAddresses(gateway);
  const addresses = progress.addresses.filter(({ value }) => requested.length === 0 || requested.includes(value));
  const missing = requested.filter((value) => !addresses.some((one) => one.value === value));
  const programmed = listeners.map((one) => listenerProgrammed(one, progress));
  return {
    addresses,
    attachedListenerSets: listenerSets.filter((set) => set.accepted.status === "True").length,
    conditions: [
      conditionOf(gateway, "Accepted", accepted),
      ...(backendCertificate ? [conditionOf(gateway, "ResolvedRefs", backendCertificate.resolvedRefs)] : []),
      conditionOf(gateway, "Programmed", gatewayProgrammed(accepted, programmed, { addresses, missing })),
      ...(isInsecure(gateway) ? [conditionOf(gateway, "InsecureFrontendValidationMode", INSECURE)] : []),
    ],
    listeners: listenerStatuses(gateway, listeners, progress),
  };
}

const INSECURE = trueFinding(
  "ConfigurationChanged",
  "spec.tls.frontend admits clients without a valid certificate (AllowInsecureFallback)",
);

export function listenerSetStatus({ listenerSet, accepted, listeners }: DerivedListenerSet, progress: GatewayProgress) {
  const programmed = listeners.map((one) => listenerProgrammed(one, progress));
  const pending = programmed.find(({ status, reason }) => status === "False" && reason === "Pending");
  return {
    conditions: [
      conditionOf(listenerSet, "Accepted", accepted),
      conditionOf(listenerSet, "Programmed", listenerSetProgrammed()),
    ],
    listeners: listenerStatuses(listenerSet, listeners, progress),
  };

  function listenerSetProgrammed(): ConditionFinding {
    const { status, reason, message } = accepted;
    if (status === "False")
      return falseFinding(reason === "ParentNotAccepted" ? "ParentNotProgrammed" : reason, message);
    if (pending) return pending;
    if (progress.addresses.length === 0)
      return falseFinding("ParentNotProgrammed", "the Gateway has no address yet; see its status");
    return trueFinding("Programmed");
  }
}

/** The members `status.listeners` of a Gateway or ListenerSet. */
const listenerStatuses = (owner: Resource, listeners: readonly GatewayListener[], progress: ListenerProgress) =>
  listeners.map((one) => ({
    name: one.listener.name,
    supportedKinds: one.kinds.map((kind) => ({ group: GATEWAY_API, kind })),
    attachedRoutes: progress.attachedRoutes(one.id),
    conditions: [
      conditionOf(owner, "Accepted", one.accepted),
      conditionOf(owner, "Conflicted", one.conflicted),
      conditionOf(owner, "ResolvedRefs", one.resolvedRefs),
      conditionOf(owner, "Programmed", listenerProgrammed(one, progress)),
    ],
  }));

const PENDING = falseFinding("Pending", "not every node serves this version yet");

function listenerProgrammed(
  { id, accepted, conflicted, resolvedRefs, certificates, isUsable, served }: GatewayListener,
  { isProgrammed, failedListeners, now }: ListenerProgress,
): ConditionFinding {
  if (!isUsable) {
    const refusal = [accepted, resolvedRefs].find(({ status }) => status === "False");
    // A listener of a ListenerSet is not accepted because of a conflict, and keeps its reason.
    const reason = accepted.reason === conflicted.reason ? conflicted.reason : "Invalid";
    return falseFinding(reason, refusal?.message ?? conflicted.message);
  }
  if (!served) return falseFinding("Pending", "no port of the nodes is allotted yet");
  const failure = failedListeners.get(id);
  if (failure !== undefined)
    return falseFinding("Pending", `the port ${served.port} is not open on all nodes: ${failure}`);
  return isProgrammed(id) ? trueFinding("Programmed", validityProblems(certificates, now)) : PENDING;
}

function gatewayProgrammed(
  accepted: ConditionFinding,
  listeners: readonly ConditionFinding[],
  { addresses, missing }: { readonly addresses: GatewayProgress["addresses"]; readonly missing: readonly string[] },
): ConditionFinding {
  if (accepted.status === "False") return falseFinding("Invalid", accepted.message);
  const valid = listeners.filter(({ reason }) => reason !== "Invalid");
  if (valid.length === 0) return falseFinding("Invalid", "no listener can be served; see the status of the listeners");
  const pending = valid.find(({ status }) => status === "False");
  if (pending) return pending;
  if (missing.length > 0)
    return falseFinding(
      "AddressNotUsable",
      `the Gateway does not have the address ${missing.join(", ")} of spec.addresses`,
    );
  if (addresses.length === 0)
    return falseFinding("AddressNotAssigned", "the Service of the Gateway has no address yet; see its status");
  return trueFinding("Programmed");
}

/** The features of the conformance tests that are served, sorted. */
export const supportedFeatures = [
  "BackendTLSPolicy",
  "BackendTLSPolicySANValidation",
  "GRPCRoute",
  "GRPCRouteNamedRouteRule",
  "Gateway",
  "GatewayAddressEmpty",
  "GatewayBackendClientCertificate",
  "GatewayFrontendClientCertificateValidation",
  "GatewayFrontendClientCertificateValidationInsecureFallback",
  "GatewayHTTPListenerIsolation",
  "GatewayHTTPSListenerDetectMisdirectedRequests",
  "GatewayPort8080",
  "HTTPRoute",
  "HTTPRoute303RedirectStatusCode",
  "HTTPRoute307RedirectStatusCode",
  "HTTPRoute308RedirectStatusCode",
  "HTTPRouteBackendProtocolH2C",
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
  "HTTPRouteRequestMirror",
  "HTTPRouteRequestMultipleMirrors",
  "HTTPRouteRequestPercentageMirror",
  "HTTPRouteRequestTimeout",
  "HTTPRouteResponseHeaderModification",
  "HTTPRouteSchemeRedirect",
  "ListenerSet",
  "ReferenceGrant",
  "TLSRoute",
  "TLSRouteModeMixed",
  "TLSRouteModeTerminate",
] as const;

/** @param fault What is wrong with the parameters of the GatewayClass; undefined: they are valid. */
export const gatewayClassStatus = (gatewayClass: Resource, fault: string | undefined) => ({
  conditions: [
    conditionOf(
      gatewayClass,
      "Accepted",
      fault === undefined ? trueFinding("Accepted") : falseFinding("InvalidParameters", fault),
    ),
  ],
  supportedFeatures: supportedFeatures.map((name) => ({ name })),
});

interface ParentStatus {
  readonly parentRef: ParentReference;
  readonly controllerName: string;
  readonly conditions: readonly Condition[];
}

/** The entries of `status.parents`, of all controllers. */
function parentsIn({ status }: Resource): readonly ParentStatus[] {
  return Array.isArray(status?.parents) ? status.parents : [];
}

export interface RouteStatusFacts {
  /** The class of the installation. */
  readonly class: string;
  /** The problems of the resources that are derived from the route. */
  readonly problems: readonly (Pick<ConditionFinding, "reason" | "message"> & { readonly condition: string })[];
}

/** The entries of other controllers stay as they are. */
export function routeStatus(
  { route, parents }: DerivedRoute,
  current: Resource,
  { class: className, problems }: RouteStatusFacts,
) {
  const withProblems = (type: "Accepted" | "ResolvedRefs", derived: ConditionFinding): Condition => {
    const found = problems.find((one) => one.condition === type);
    const finding = derived.status === "True" && found ? falseFinding(found.reason, found.message) : derived;
    return conditionOf(route, type, finding);
  };
  const controllerName = gatewayController(className);
  const own = parents.map(
    ({ ref, accepted, resolvedRefs }): ParentStatus => ({
      parentRef: ref,
      controllerName,
      conditions: [withProblems("Accepted", accepted), withProblems("ResolvedRefs", resolvedRefs)],
    }),
  );
  return { parents: withOwnEntries(parentsIn(current), own, controllerName) };
}

/**
 * Replaces the entries of one controller in a list of a status that several controllers share. The other entries and
 * the order stay: two controllers that each enforced an order of their own would overwrite each other's statuses
 * endlessly.
 */
export function withOwnEntries<Entry extends { readonly controllerName: string }>(
  present: readonly Entry[],
  own: readonly Entry[],
  controllerName: string,
): readonly Entry[] {
  const added = [...own];
  const kept = present.flatMap((entry) => {
    if (entry.controllerName !== controllerName) return entry;
    const index = added.findIndex((one) => isSameApartFromConditions(one, entry));
    return index < 0 ? [] : added.splice(index, 1);
  });
  return [...kept, ...added];
}

const isSameApartFromConditions = (one: object, other: object): boolean =>
  isDeepStrictEqual({ ...one, conditions: undefined }, { ...other, conditions: undefined });

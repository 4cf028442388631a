/**
 * Derives the listeners of the document and their certificates from a Gateway, and finds out which of its listeners can
 * be served. Pure.
 */
import type { DocumentListener } from "@sluice/model";
import { namespacedName, resourceKey } from "../../keys.ts";
import type { Resource } from "../../resource.ts";
import type { TranslateOptions } from "../../translate/translation.ts";
import { type DerivedResource, derivedName, derivedResource } from "../derived-resource.ts";
import {
  type Finding,
  fails,
  GATEWAY_API,
  gatewaySpecOf,
  type Listener,
  type RouteKind,
  routeKinds,
  streamOf,
  succeeds,
} from "./gateway-api.ts";
import { certificatesOf, type SecretName } from "./listener-certificates.ts";
import { conflictOf, isConflict } from "./listener-conflicts.ts";

/** Facts about other resources. */
export interface DeriveGatewayOptions extends Pick<TranslateOptions, "read" | "isReferenceAllowed"> {
  /** The class of the installation. */
  readonly class: string;
  /** The port that nodes open for a port of the Gateway; undefined: none is allotted yet. */
  readonly nodePortOf: (port: number) => number | undefined;
  /** The condition Conflicted of a listener that gives way to one of an older Gateway; undefined: it need not. */
  readonly overlapOf: (wanted: DocumentListener) => Finding | undefined;
}

export interface GatewayListener {
  readonly listener: Listener;
  /** The name in the document. */
  readonly id: string;
  /** The kinds of routes that may attach. */
  readonly kinds: readonly RouteKind[];
  readonly accepted: Finding;
  readonly conflicted: Finding;
  readonly resolvedRefs: Finding;
  /** Like `served`, but true even if the listener gives way to one of an older Gateway. */
  readonly wanted: DocumentListener | undefined;
  /** The listener of the document; undefined: it cannot be served, or no port of the nodes is allotted yet. */
  readonly served: DocumentListener | undefined;
}

export interface DerivedGateway {
  readonly gateway: Resource;
  readonly accepted: Finding;
  readonly listeners: readonly GatewayListener[];
  /** The Certificates of the listeners. */
  readonly resources: readonly Resource[];
}

const protocols: Readonly<Record<string, DocumentListener["protocol"]>> = { HTTP: "http", HTTPS: "https" };

const protocolOf = (listener: Listener): DocumentListener["protocol"] | undefined =>
  streamOf(listener) ?? protocols[listener.protocol];

/** Whether TLS ends at the gateway. */
const needsCertificate = (protocol: DocumentListener["protocol"] | undefined): boolean =>
  protocol === "https" || protocol === "tls";

export function deriveGateway(gateway: Resource, options: DeriveGatewayOptions): DerivedGateway {
  const { listeners } = gatewaySpecOf(gateway);
  const fault = gatewayFault(gateway);
  const users = new Map<string, SecretName & { readonly listeners: string[] }>();
  const derived = listeners.map((listener): GatewayListener => {
    const id = `${resourceKey(gateway)}/${listener.name}`;
    const protocol = protocolOf(listener);
    const conflict = conflictOf(listener, listeners);
    const { kinds, resolved } = allowedKinds(listener);
    const accepted = fault ?? listenerFault(gateway, listener) ?? succeeds("Accepted");
    const certificates = needsCertificate(protocol) ? certificatesOf(gateway, listener, options) : undefined;
    const resolvedRefs = certificates?.resolved.status === "False" ? certificates.resolved : resolved;
    const port = options.nodePortOf(listener.port);
    const isUsable =
      accepted.status === "True" && !isConflict(conflict) && certificates?.secrets.length !== 0 && kinds.length > 0;
    const hostname = listener.hostname?.toLowerCase();
    const wanted =
      isUsable && protocol !== undefined && port !== undefined
        ? { name: id, port, public_port: listener.port, protocol, ...(hostname && { hostname }) }
        : undefined;
    const conflicted = (wanted && options.overlapOf(wanted)) ?? conflict;
    const served = isConflict(conflicted) ? undefined : wanted;
    if (served) for (const secret of certificates?.secrets ?? []) addUser(secret, id);
    return { listener, id, kinds, accepted, conflicted, resolvedRefs, wanted, served };
  });
  return { gateway, accepted: fault ?? gatewayFinding(derived), listeners: derived, resources: certificates() };

  function addUser(secret: SecretName, listener: string): void {
    const key = namespacedName(secret.namespace, secret.name);
    const known = users.get(key) ?? { ...secret, listeners: [] };
    known.listeners.push(listener);
    users.set(key, known);
  }

  function certificates(): readonly DerivedResource[] {
    return [...users.values()].map(({ namespace, name, listeners: ids }) =>
      derivedResource(gateway, {
        kind: "Certificate",
        name: derivedName("gateway", gateway.metadata.name, "certificate", namespace, name),
        spec: { secretRef: { namespace, name }, class: options.class },
        derived: {
          extras: { listeners: ids.toSorted() },
          checkedReferences: ["Secret"],
          sourcePaths: { spec: "spec.listeners" },
        },
      }),
    );
  }
}

/** Why the whole Gateway is refused. */
function gatewayFault(gateway: Resource): Finding | undefined {
  const { addresses = [], infrastructure, tls } = gatewaySpecOf(gateway);
  if (addresses.some(({ value = "" }) => value !== ""))
    return fails(
      "UnsupportedAddress",
      "spec.addresses is not supported: the Gateway gets the addresses of its Service",
    );
  if (infrastructure?.parametersRef)
    return fails("InvalidParameters", "spec.infrastructure.parametersRef is not supported: remove it");
  if (tls?.backend)
    return fails("Invalid", "spec.tls.backend is not supported: a Service of sluice.dev can have a client certificate");
  return undefined;
}

/** Why a listener is refused, apart from conflicts and references. */
function listenerFault(gateway: Resource, listener: Listener): Finding | undefined {
  const { protocol, tls } = listener;
  if (protocolOf(listener) === undefined)
    return fails("UnsupportedProtocol", `the protocol ${protocol} is not supported: use HTTP, HTTPS or TLS`);
  if (protocol !== "HTTPS") return undefined;
  if (tls?.mode !== undefined && tls.mode !== "Terminate")
    return fails("UnsupportedValue", `tls.mode ${tls.mode} is not supported for HTTPS: use Terminate`);
  // Without the check of client certificates, the listener would be open to everyone.
  if (gatewaySpecOf(gateway).tls?.frontend)
    return fails(
      "UnsupportedValue",
      "spec.tls.frontend is not supported: the plugin mtls-auth checks certificates of clients",
    );
  return undefined;
}

/** The kinds of routes that can attach to a listener. */
function kindsFor(listener: Listener): readonly RouteKind[] {
  if (protocolOf(listener) === undefined) return [];
  const isStream = streamOf(listener) !== undefined;
  return routeKinds.filter((kind) => (kind === "TLSRoute") === isStream);
}

function allowedKinds(listener: Listener): { readonly kinds: readonly RouteKind[]; readonly resolved: Finding } {
  const possible = kindsFor(listener);
  const given = listener.allowedRoutes?.kinds ?? [];
  if (given.length === 0 || possible.length === 0) return { kinds: possible, resolved: succeeds("ResolvedRefs") };
  const isKnown = ({ group = GATEWAY_API, kind }: (typeof given)[number]): boolean =>
    group === GATEWAY_API && possible.some((known) => known === kind);
  const unknown = given.find((one) => !isKnown(one));
  return {
    kinds: possible.filter((kind) => given.some((one) => isKnown(one) && one.kind === kind)),
    resolved: unknown
      ? fails(
          "InvalidRouteKinds",
          `the kind ${unknown.kind} cannot attach to this listener: use ${possible.join(" or ")}`,
        )
      : succeeds("ResolvedRefs"),
  };
}

/** The condition Accepted of a Gateway that is not refused as a whole. */
function gatewayFinding(listeners: readonly GatewayListener[]): Finding {
  const faulty = listeners.filter(({ accepted, conflicted }) => accepted.status === "False" || isConflict(conflicted));
  if (faulty.length === 0) return succeeds("Accepted");
  const message = `refused: ${faulty.map(({ listener }) => listener.name).join(", ")}; see the status of the listeners`;
  return { status: faulty.length < listeners.length ? "True" : "False", reason: "ListenersNotValid", message };
}

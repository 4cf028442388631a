/** Finds out which listeners of a Gateway or ListenerSet can be served, and derives their Certificates. Pure. */
import { isDeepStrictEqual } from "node:util";
import { type DocumentListener, SHARED_FLEET } from "@sluice/model";
import { namespacedName, resourceKey } from "../../../keys.ts";
import type { Resource } from "../../../resource.ts";
import type { TranslateOptions } from "../../../translate/translation.ts";
import { type DerivedResource, derivedName, derivedResource } from "../../derived-resource.ts";
import {
  type ConditionFinding,
  documentProtocolOf,
  falseFinding,
  GATEWAY_API,
  type Listener,
  type ListenerOwnerKind,
  type RouteKind,
  routeKinds,
  streamOf,
  trueFinding,
} from "../gateway-api.ts";
import type { DerivedClientValidation } from "./client-validation.ts";
import { certificatesOf, type ListenerCertificate, type SecretName } from "./listener-certificates.ts";
import { isConflict } from "./listener-conflicts.ts";

/** Facts about other resources. */
export interface DeriveListenersOptions extends Pick<TranslateOptions, "read" | "isReferenceAllowed"> {
  /** The class of the installation. */
  readonly class: string;
  /** The port that nodes open for a port of the Gateway; undefined: none is allotted yet. */
  readonly nodePortOf: (port: number) => number | undefined;
  /** The fleets whose nodes open the ports. Default: the nodes of the release. */
  readonly fleets?: readonly string[];
  /** The condition Conflicted of a listener that gives way to one of an older Gateway; undefined: it need not. */
  readonly overlapOf: (wanted: DocumentListener) => ConditionFinding | undefined;
  /** The check of clients' certificates at a port of the Gateway; undefined: none is asked for. */
  readonly validationAt: (port: number) => DerivedClientValidation | undefined;
}

export interface GatewayListener {
  readonly listener: Listener;
  /** The name in the document. */
  readonly id: string;
  /** The kinds of routes that may attach. */
  readonly kinds: readonly RouteKind[];
  readonly accepted: ConditionFinding;
  readonly conflicted: ConditionFinding;
  readonly resolvedRefs: ConditionFinding;
  readonly certificates: readonly ListenerCertificate[];
  /** Whether the listener can be served. Some of its references may be broken. */
  readonly isUsable: boolean;
  /** Like `served`, but true even if the listener gives way to one of an older Gateway. */
  readonly wanted: DocumentListener | undefined;
  /** The listener of the document; undefined: it cannot be served, or no port of the nodes is allotted yet. */
  readonly served: DocumentListener | undefined;
}

export interface ListenersRequest {
  readonly gateway: Resource;
  /** The Gateway, or one of its ListenerSets. */
  readonly owner: Resource;
  readonly listeners: readonly Listener[];
  /** Why the whole Gateway is refused; undefined: it is not. */
  readonly fault: ConditionFinding | undefined;
  /** The condition Conflicted. Called once for each listener, in their order. */
  readonly conflictOf: (listener: Listener) => ConditionFinding;
}

export interface DerivedListeners {
  readonly listeners: readonly GatewayListener[];
  /** The Certificates of the listeners. */
  readonly resources: readonly Resource[];
}

/**
 * The name of a listener in the document: `<namespace>/<gateway>/<listener>`, or
 * `<namespace>/<gateway>/<namespace>/<listenerset>/<listener>`.
 */
export const listenerId = (gateway: Resource, owner: Resource, name: string): string =>
  [resourceKey(gateway), ...(owner === gateway ? [] : [resourceKey(owner)]), name].join("/");

export interface ListenerOwners {
  /** The Gateway (`namespace/name`). */
  readonly gateway: string;
  /** The ListenerSet (`namespace/name`); undefined: the listener is one of the Gateway. */
  readonly listenerSet: string | undefined;
}

/** The resources to which a listener belongs, by its name in the document. */
export function ownersOfListener(id: string): ListenerOwners {
  const parts = id.split("/");
  return {
    gateway: parts.slice(0, 2).join("/"),
    listenerSet: parts.length > 3 ? parts.slice(2, 4).join("/") : undefined,
  };
}

/** The `refKey` of the resource that has the listener. */
export function ownerOfListener(id: string): string {
  const { gateway, listenerSet } = ownersOfListener(id);
  return listenerSet === undefined ? `Gateway/${gateway}` : `ListenerSet/${listenerSet}`;
}

export function deriveListeners(request: ListenersRequest, options: DeriveListenersOptions): DerivedListeners {
  const { gateway, owner, fault } = request;
  const fleets = isDeepStrictEqual(options.fleets, [SHARED_FLEET]) ? undefined : options.fleets;
  const users = new Map<string, SecretName & { readonly listeners: string[] }>();
  const listeners = request.listeners.map((listener): GatewayListener => {
    const id = listenerId(gateway, owner, listener.name);
    const protocol = documentProtocolOf(listener);
    const conflict = request.conflictOf(listener);
    const { kinds, resolved } = allowedKinds(listener);
    const found = needsCertificate(protocol) ? certificatesOf(owner, listener, options) : undefined;
    const certificates = found?.certificates ?? [];
    const clients = needsCertificate(protocol) ? options.validationAt(listener.port) : undefined;
    const accepted = fault ?? listenerFault(listener) ?? validationFault(clients) ?? trueFinding("Accepted");
    const [resolvedRefs = resolved] = [found?.resolved, clients?.fault].filter((one) => one?.status === "False");
    const port = options.nodePortOf(listener.port);
    const isValid =
      accepted.status === "True" &&
      !isConflict(conflict) &&
      (found === undefined || certificates.length > 0) &&
      kinds.length > 0;
    const hostname = listener.hostname?.toLowerCase();
    const wanted =
      isValid && protocol !== undefined && port !== undefined
        ? {
            ...{ name: id, port, public_port: listener.port, protocol },
            ...(hostname && { hostname }),
            ...(clients?.validation && { client_validation: clients.validation }),
            ...(fleets && { fleets }),
          }
        : undefined;
    const conflicted = (wanted && options.overlapOf(wanted)) ?? conflict;
    const isUsable = isValid && !isConflict(conflicted);
    const served = isUsable ? wanted : undefined;
    if (served) for (const { namespace, name } of certificates) addUser({ namespace, name }, id);
    return { listener, id, kinds, accepted, conflicted, resolvedRefs, certificates, isUsable, wanted, served };
  });
  return { listeners, resources: certificateResources() };

  function addUser(secret: SecretName, listener: string): void {
    const key = namespacedName(secret.namespace, secret.name);
    const known = users.get(key) ?? { ...secret, listeners: [] };
    known.listeners.push(listener);
    users.set(key, known);
  }

  function certificateResources(): readonly DerivedResource[] {
    const prefix = prefixes[owner.kind as ListenerOwnerKind];
    return [...users.values()].map(({ namespace, name, listeners: ids }) =>
      derivedResource(owner, {
        kind: "Certificate",
        name: derivedName(prefix, owner.metadata.name, "certificate", namespace, name),
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

const prefixes = { Gateway: "gateway", ListenerSet: "listener-set" } as const;

/** Whether TLS ends at the gateway. */
const needsCertificate = (protocol: DocumentListener["protocol"] | undefined): boolean =>
  protocol === "https" || protocol === "tls";

/** Why a listener is refused, apart from conflicts and references. */
function listenerFault(listener: Listener): ConditionFinding | undefined {
  const { protocol, tls } = listener;
  if (documentProtocolOf(listener) === undefined)
    return falseFinding("UnsupportedProtocol", `the protocol ${protocol} is not supported: use HTTP, HTTPS or TLS`);
  if (protocol === "HTTPS" && tls?.mode !== undefined && tls.mode !== "Terminate")
    return falseFinding("UnsupportedValue", `tls.mode ${tls.mode} is not supported for HTTPS: use Terminate`);
  return undefined;
}

/** Without the check of clients' certificates, the listener would be open to everyone. */
const validationFault = (clients: DerivedClientValidation | undefined): ConditionFinding | undefined =>
  clients && !clients.validation
    ? falseFinding("NoValidCACertificate", clients.fault?.message ?? "no certificate can be trusted")
    : undefined;

/** The kinds of routes that can attach to a listener. */
function kindsFor(listener: Listener): readonly RouteKind[] {
  if (documentProtocolOf(listener) === undefined) return [];
  const isStream = streamOf(listener) !== undefined;
  return routeKinds.filter((kind) => (kind === "TLSRoute") === isStream);
}

function allowedKinds(listener: Listener): {
  readonly kinds: readonly RouteKind[];
  readonly resolved: ConditionFinding;
} {
  const possible = kindsFor(listener);
  const given = listener.allowedRoutes?.kinds ?? [];
  if (given.length === 0 || possible.length === 0) return { kinds: possible, resolved: trueFinding("ResolvedRefs") };
  const isKnown = ({ group = GATEWAY_API, kind }: (typeof given)[number]): boolean =>
    group === GATEWAY_API && possible.some((known) => known === kind);
  const unknown = given.find((one) => !isKnown(one));
  return {
    kinds: possible.filter((kind) => given.some((one) => isKnown(one) && one.kind === kind)),
    resolved: unknown
      ? falseFinding(
          "InvalidRouteKinds",
          `the kind ${unknown.kind} cannot attach to this listener: use ${possible.join(" or ")}`,
        )
      : trueFinding("ResolvedRefs"),
  };
}

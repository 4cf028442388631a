/** Decides to which listeners a route attaches, and for which hosts (Gateway API, "AllowedRoutes" and "Hostname"). */
import type { StreamProtocol } from "@sluice/model";
import type { Resource } from "../../../resource.ts";
import type { CertificateName } from "../backends/backend-certificate.ts";
import {
  type ConditionFinding,
  falseFinding,
  GATEWAY_API,
  type Listener,
  type ParentReference,
  type RouteKind,
  streamOf,
  trueFinding,
  withArticle,
} from "../gateway-api.ts";
import { allowsNamespace, type NamespaceFacts, UNKNOWN_LABELS } from "../listeners/allowed-namespaces.ts";
import type { GatewayListener } from "../listeners/derive-listeners.ts";

export interface AttachedListener {
  /** The name in the document. */
  readonly id: string;
  /** The port that clients use. */
  readonly port: number;
  /** The protocol of a listener that is not for HTTP; undefined: it is for HTTP. */
  readonly stream: StreamProtocol | undefined;
  /** The hosts of the route on this listener; undefined: any host. */
  readonly hosts: readonly (string | undefined)[];
  /** The client certificate for backends with TLS; undefined: none. */
  readonly certificate?: CertificateName | undefined;
}

export interface Attachment {
  readonly accepted: ConditionFinding;
  readonly listeners: readonly AttachedListener[];
}

export interface AttachingRoute extends NamespaceFacts {
  readonly kind: RouteKind;
  readonly hostnames: readonly string[];
}

/** The parts of a listener that decide which routes attach to it, and for which hosts. */
export interface AttachableListener extends Pick<GatewayListener, "id" | "kinds"> {
  readonly listener: Pick<Listener, "name" | "port" | "hostname" | "protocol" | "allowedRoutes"> & {
    readonly tls?: Pick<NonNullable<Listener["tls"]>, "mode">;
  };
}

/** Values that are deeply equal if the same routes attach to both listeners, for the same hosts. */
export const attachmentFactsOf = ({ id, kinds, listener }: AttachableListener): readonly unknown[] => {
  const { name, port, hostname, protocol, allowedRoutes, tls } = listener;
  return [id, kinds, name, port, hostname, protocol, allowedRoutes, tls?.mode];
};

/** A Gateway or ListenerSet to which routes may attach. */
export interface ListenerOwner {
  readonly owner: Resource;
  /** The Gateway to which the listeners belong, by `namespace/name`. */
  readonly gateway: string;
  /** The client certificate for backends with TLS; undefined: none. */
  readonly certificate?: CertificateName | undefined;
  readonly listeners: readonly AttachableListener[];
  /** Why it has no listeners that can be served; undefined: it has, or they have reasons of their own. */
  readonly refused?: ConditionFinding | undefined;
}

/** The kind of a parent with listeners; undefined: the parent is of another kind. */
export const ownerKindOf = ({ group = GATEWAY_API, kind = "Gateway" }: ParentReference) =>
  group === GATEWAY_API && (kind === "Gateway" || kind === "ListenerSet") ? kind : undefined;

/** The result of attaching a route to the Gateway or ListenerSet that a parent reference names. */
export function attachToParent(
  route: AttachingRoute,
  { sectionName, port }: ParentReference,
  { owner, listeners, refused: refusal, certificate }: ListenerOwner,
): Attachment {
  if (refusal) return refused("NoMatchingParent", `the ${owner.kind} is not accepted: ${refusal.message}`);
  const named = listeners.filter(
    ({ listener }) =>
      (sectionName === undefined || listener.name === sectionName) && (port === undefined || listener.port === port),
  );
  if (named.length === 0) return refused("NoMatchingParent", `no listener has ${describe({ sectionName, port })}`);
  const open = named.filter((one) => one.kinds.includes(route.kind) && allowsRoute(one, owner, route));
  if (open.length === 0)
    return refused(
      "NotAllowedByListeners",
      `allowedRoutes of ${namesOf(named)} does not allow ${withArticle(route.kind)} of the namespace ${route.namespace}` +
        (named.some((one) => needsLabels(one)) && !route.namespaceLabels() ? UNKNOWN_LABELS : ""),
    );
  const attached = open.flatMap(({ id, listener }): readonly AttachedListener[] => {
    const hosts = commonHosts(listener.hostname?.toLowerCase(), route.hostnames);
    if (hosts.length === 0) return [];
    return [{ id, hosts, port: listener.port, stream: streamOf(listener), certificate }];
  });
  if (attached.length === 0)
    return refused("NoMatchingListenerHostname", `no host in spec.hostnames matches the hostname of ${namesOf(open)}`);
  return { accepted: trueFinding("Accepted"), listeners: attached };
}

const refused = (reason: string, message: string): Attachment => ({
  accepted: falseFinding(reason, message),
  listeners: [],
});

const describe = ({ sectionName, port }: Pick<ParentReference, "sectionName" | "port">): string =>
  [sectionName !== undefined && `the name ${sectionName}`, port !== undefined && `the port ${port}`]
    .filter((part) => part !== false)
    .join(" and ");

const namesOf = (listeners: readonly AttachableListener[]): string =>
  `the ${listeners.length === 1 ? "listener" : "listeners"} ${listeners.map(({ listener }) => listener.name).join(", ")}`;

const needsLabels = ({ listener }: AttachableListener): boolean =>
  listener.allowedRoutes?.namespaces?.from === "Selector";

function allowsRoute({ listener }: AttachableListener, owner: Resource, route: AttachingRoute): boolean {
  const { from = "Same", selector } = listener.allowedRoutes?.namespaces ?? {};
  return allowsNamespace({ from, ...(selector && { selector }) }, owner.metadata.namespace, route);
}

/** The hosts that both a listener and a route have; of a wildcard and a host that it covers, the more specific one. */
function commonHosts(listener: string | undefined, route: readonly string[]): readonly (string | undefined)[] {
  if (route.length === 0) return [listener];
  const hosts = route.map((host) => host.toLowerCase());
  if (listener === undefined) return [...new Set(hosts)];
  return [...new Set(hosts.flatMap((host) => commonHost(listener, host) ?? []))];
}

function commonHost(one: string, other: string): string | undefined {
  if (one === other || covers(one, other)) return other;
  return covers(other, one) ? one : undefined;
}

/** `*.example.com` covers `a.example.com`, `a.b.example.com` and `*.b.example.com`, and not `example.com`. */
const covers = (wildcard: string, host: string): boolean =>
  wildcard.startsWith("*.") && host.endsWith(wildcard.slice(1)) && host !== wildcard;

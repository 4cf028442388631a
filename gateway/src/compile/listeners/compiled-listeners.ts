/**
 * The listeners of the document in their compiled form: a router for each listener, its certificates, and its routes
 * for connections that are not HTTP. Routes without listeners are not here, but in the router of the node's own
 * listeners.
 */
import {
  BucketMap,
  certificateDetails,
  coverageFault,
  type Difference,
  type DocumentListener,
  emptySnapshot,
  hashOfText,
  type IssuedCertificate,
  isIssued,
  type Snapshot,
  type SnapshotCertificate,
  type SnapshotRoute,
} from "@sluice/model/serving";
import { Router } from "../router/router.ts";
import type { ListenerIndex, ListenerStream, RequestDestination } from "../runtime.ts";
import { emptyListenerTable, type ListenerTable, listenerTableOf } from "./listener-table.ts";
import { isStreamRoute, StreamRoutes } from "./stream-routes.ts";

interface ListenerRoutes {
  readonly routers: BucketMap<Router>;
  readonly streams: StreamRoutes;
}

type Sections = Pick<Snapshot, "listeners" | "certificates">;
type ListenerCertificate = IssuedCertificate<SnapshotCertificate>;

export class CompiledListeners implements ListenerIndex {
  readonly table: ListenerTable;
  readonly #sections: Sections;
  /** By the name of a listener, whether or not the document has this listener. */
  readonly #routers: BucketMap<Router>;
  readonly #streams: StreamRoutes;
  /** By the name of a listener, the oldest first. Built at the first handshake. */
  #certificates: ReadonlyMap<string, readonly ListenerCertificate[]> | null = null;

  private constructor(sections: Sections, table: ListenerTable, routes: ListenerRoutes) {
    this.#sections = sections;
    this.table = table;
    this.#routers = routes.routers;
    this.#streams = routes.streams;
  }

  static readonly empty = new CompiledListeners(emptySnapshot, emptyListenerTable, {
    routers: new BucketMap(hashOfText),
    streams: StreamRoutes.empty,
  });

  /** Returns the same object when nothing changes for listeners. */
  with({ listeners, certificates }: Sections, routes: readonly Difference<SnapshotRoute>[]): CompiledListeners {
    const before = this.#sections;
    const routers = routersAfter(this.#routers, routes);
    const streams = this.#streams.with(routes);
    const hasSameRoutes = routers === this.#routers && streams === this.#streams;
    if (before.listeners === listeners && before.certificates === certificates && hasSameRoutes) return this;
    const table = before.listeners === listeners ? this.table : listenerTableOf(listeners);
    const next = new CompiledListeners({ listeners, certificates }, table, { routers, streams });
    if (before.certificates === certificates) next.#certificates = this.#certificates;
    return next;
  }

  /**
   * The router of the listener that a request on a port of the document reached; null: no listener serves its host, or
   * the request is misdirected.
   */
  routerFor(request: RequestDestination): Router | null {
    const listener = this.listenerFor(request);
    if (listener === null || this.isMisdirected(request)) return null;
    return this.#routers.get(listener.name) ?? Router.empty;
  }

  isMisdirected(request: RequestDestination): boolean {
    const ports = this.#portOf(request);
    if (ports?.protocol !== "https") return false;
    const listener = ports.find(request.host);
    return listener !== null && listener !== ports.find(request.serverName ?? "");
  }

  listenerFor(request: RequestDestination): DocumentListener | null {
    return this.#portOf(request)?.find(request.host) ?? null;
  }

  streamAt(port: number, serverName: string | null): ListenerStream | null {
    const name = serverName?.toLowerCase() ?? "";
    const listener = this.table.ports.get(port)?.find(name);
    if (!listener || listener.protocol === "http" || listener.protocol === "https") return null;
    const route = name === "" ? null : this.#streams.find(listener, name);
    return { protocol: listener.protocol, listener: listener.name, route };
  }

  certificate(port: number, serverName: string | null): ListenerCertificate | undefined {
    const listener = this.atHandshake(port, serverName);
    if (!listener) return undefined;
    this.#certificates ??= certificatesByListener(this.#sections);
    const own = this.#certificates.get(listener.name) ?? [];
    if (own.length < 2 || serverName === null) return own[0];
    return own.find((certificate) => covers(certificate, serverName)) ?? own[0];
  }

  atHandshake(port: number, serverName: string | null): DocumentListener | null {
    return this.table.ports.get(port)?.find(serverName?.toLowerCase() ?? "") ?? null;
  }

  #portOf({ documentPort }: RequestDestination) {
    return documentPort === null ? undefined : this.table.ports.get(documentPort);
  }
}

/** The names of a route's listeners; undefined: it is served on the node's own listeners. */
export const listenersOf = ({ _sluice }: SnapshotRoute): readonly string[] | undefined => _sluice?.listeners;

function routersAfter(routers: BucketMap<Router>, routes: readonly Difference<SnapshotRoute>[]): BucketMap<Router> {
  const changes = new Map<string, { readonly removed: SnapshotRoute[]; readonly added: SnapshotRoute[] }>();
  const changeOf = (name: string) => changes.getOrInsertComputed(name, () => ({ removed: [], added: [] }));
  for (const { before, after } of routes) {
    if (before && !isStreamRoute(before))
      for (const name of new Set(listenersOf(before))) changeOf(name).removed.push(before);
    if (after && !isStreamRoute(after))
      for (const name of new Set(listenersOf(after))) changeOf(name).added.push(after);
  }
  if (changes.size === 0) return routers;
  return routers.with(
    Array.from(changes, ([name, change]) => {
      const router = (routers.get(name) ?? Router.empty).with(change);
      return [name, router.isEmpty ? undefined : router] as const;
    }),
  );
}

function certificatesByListener({ certificates }: Sections): ReadonlyMap<string, readonly ListenerCertificate[]> {
  const byListener = new Map<string, ListenerCertificate[]>();
  const scoped = [...certificates.values()].filter(isIssued).filter(({ _sluice }) => _sluice?.listeners !== undefined);
  for (const certificate of scoped.sort((one, other) => one.created_at - other.created_at || order(one.id, other.id)))
    for (const name of new Set(certificate._sluice?.listeners))
      byListener.getOrInsertComputed(name, () => []).push(certificate);
  return byListener;
}

const order = (one: string, other: string): number => (one < other ? -1 : 1);

/** The names that a certificate covers. Each certificate is parsed once; its entry is dropped with the entity. */
const namesOf = new WeakMap<ListenerCertificate, readonly string[]>();

function covers(certificate: ListenerCertificate, serverName: string): boolean {
  const names = namesOf.getOrInsertComputed(
    certificate,
    () => certificateDetails(certificate.cert)?.alternative_names ?? [],
  );
  return coverageFault(serverName, { alternative_names: names }) === null;
}

/**
 * Which TLS handshakes request a certificate of the client. The route is not known during a handshake, so the server
 * name decides, as in Kong. A handshake requests a certificate if a plugin that needs one applies to a route with this
 * server name in `snis`, or to a route without `snis`, which requests with any server name may match.
 */
import type { X509Certificate } from "node:crypto";
import {
  type Difference,
  emptySnapshot,
  type Snapshot,
  type SnapshotPlugin,
  type SnapshotRoute,
} from "@sluice/model/serving";
import type { PluginDefinition } from "@sluice/plugin-sdk";
import { GroupIndex } from "./identities/group-index.ts";
import { isStreamRoute } from "./listeners/stream-routes.ts";

/** Stays the same object until its content changes, because TLS contexts are cached by this object. */
export interface CertificateRequest {
  /** CA certificates (PEM) whose names the request lists, for clients to select a certificate. Empty: no names. */
  readonly authorities: readonly string[];
  /**
   * Why a client that sent these certificates may not connect; null: it may. Absent: all clients may, and plugins decide
   * about their requests.
   */
  readonly faultOf?: (sent: readonly X509Certificate[]) => string | null;
}

interface Sources {
  /** Enabled plugins that need certificates of clients, under the key `REQUESTING`. */
  readonly plugins: GroupIndex<SnapshotPlugin>;
  /** Empty if there are no such plugins, so that no earlier snapshot stays in memory. */
  readonly snapshot: Pick<Snapshot, "routes" | "ca_certificates">;
}

const REQUESTING = "requesting";

/** The key of requests in all handshakes, with any server name or without one. */
const ANY = "*";

type Definitions = ReadonlyMap<string, PluginDefinition>;

const authoritiesOf = ({ name, config }: SnapshotPlugin, definitions: Definitions): readonly string[] =>
  definitions.get(name)?.certificateAuthorities?.(config) ?? [];

function requestsCertificates({ name, enabled, _sluice }: SnapshotPlugin, definitions: Definitions): boolean {
  const isAvailable = enabled && _sluice?.unavailable === undefined;
  return isAvailable && definitions.get(name)?.certificateAuthorities !== undefined;
}

export class CertificateRequests {
  readonly #sources: Sources;
  readonly #definitions: Definitions;
  /** The certificate requests of this object and of the previous one, by the PEM of their authorities. */
  readonly #known: Map<string, CertificateRequest>;
  /** Built at the first handshake, in one pass over the routes. */
  #byName: ReadonlyMap<string, CertificateRequest> | null = null;

  private constructor(sources: Sources, definitions: Definitions, known: Map<string, CertificateRequest>) {
    this.#sources = sources;
    this.#definitions = definitions;
    this.#known = known;
  }

  /** Returns the previous object if nothing that certificate requests depend on has changed. */
  static of(
    snapshot: Snapshot,
    options: {
      readonly previous: CertificateRequests | null;
      /** The plugins in which the snapshot differs from the previous one. */
      readonly plugins: readonly Difference<SnapshotPlugin>[];
      readonly definitions: Definitions;
    },
  ): CertificateRequests {
    const { previous, definitions } = options;
    const index = previous === null ? emptyIndex(definitions) : previous.#sources.plugins;
    const plugins = index.with(options.plugins);
    const { routes, ca_certificates } = plugins.isEmpty ? emptySnapshot : snapshot;
    const sources: Sources = { plugins, snapshot: { routes, ca_certificates } };
    if (previous !== null && isEqual(previous.#sources, sources)) return previous;
    const used = previous === null ? null : previous.#byName;
    const known = [...(used?.values() ?? [])].map((request) => [keyOf(request.authorities), request] as const);
    return new CertificateRequests(sources, definitions, new Map(known));
  }

  /**
   * The certificate request in a handshake with this server name (null: without a server name). Returns null if the
   * handshake requests no certificate.
   */
  find(serverName: string | null): CertificateRequest | null {
    if (this.#sources.plugins.isEmpty) return null;
    this.#byName ??= this.#requestsByName();
    return this.#byName.get(serverName?.toLowerCase() ?? ANY) ?? this.#byName.get(ANY) ?? null;
  }

  #requestsByName(): ReadonlyMap<string, CertificateRequest> {
    const pluginsByName = new Map<string, SnapshotPlugin[]>();
    const add = (plugin: SnapshotPlugin, names: readonly string[]) => {
      for (const name of names) pluginsByName.getOrInsertComputed(name, () => []).push(plugin);
    };
    const { plugins, snapshot } = this.#sources;
    const ofServices: SnapshotPlugin[] = [];
    for (const plugin of plugins.of(REQUESTING)) {
      if (plugin.route !== null) add(plugin, serverNamesOf(snapshot.routes.get(plugin.route.id)));
      else if (plugin.service !== null) ofServices.push(plugin);
      else add(plugin, [ANY]);
    }
    if (ofServices.length > 0) {
      const byService = Map.groupBy(ofServices, ({ service }) => service?.id);
      for (const route of snapshot.routes.values()) {
        for (const plugin of byService.get(route.service?.id) ?? []) add(plugin, serverNamesOf(route));
      }
    }
    const ofAny = pluginsByName.get(ANY) ?? [];
    return new Map(
      [...pluginsByName].map(([name, own]) => [name, this.#requestOf(name === ANY ? own : [...own, ...ofAny])]),
    );
  }

  /**
   * The request names authorities only if every plugin names some: otherwise a client without a certificate of the
   * named authorities would send none.
   */
  #requestOf(plugins: readonly SnapshotPlugin[]): CertificateRequest {
    const lists = plugins.map((plugin) => authoritiesOf(plugin, this.#definitions));
    const ids = lists.some((list) => list.length === 0) ? [] : [...new Set(lists.flat())].sort();
    const authorities = ids.flatMap((id) => this.#sources.snapshot.ca_certificates.get(id)?.cert ?? []);
    return this.#known.getOrInsertComputed(keyOf(authorities), () => ({ authorities }));
  }
}

const emptyIndex = (definitions: Definitions): GroupIndex<SnapshotPlugin> =>
  new GroupIndex((plugin) => (requestsCertificates(plugin, definitions) ? REQUESTING : undefined));

const isEqual = (one: Sources, other: Sources): boolean =>
  one.plugins === other.plugins &&
  one.snapshot.routes === other.snapshot.routes &&
  one.snapshot.ca_certificates === other.snapshot.ca_certificates;

const keyOf = (authorities: readonly string[]): string => authorities.join("\n");

/** Routes of connections have none: plugins do not see the certificates of their clients. */
function serverNamesOf(route: SnapshotRoute | undefined): readonly string[] {
  if (route === undefined || isStreamRoute(route)) return [];
  return route.snis?.length ? route.snis.map((name) => name.toLowerCase()) : [ANY];
}

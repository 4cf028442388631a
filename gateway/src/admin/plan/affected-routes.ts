/** The routes and consumers whose requests planned writes may affect. */
import {
  type Certificate,
  type Collection,
  type Entity,
  type GraphqlDocuments,
  type Plugin,
  referencedId,
  type Snapshot,
  type Vault,
} from "@sluice/model";
import type { Effect } from "../../stores/store.ts";

/** The combined effect of several writes on one entity. */
export type EntityPair = Pick<Effect, "collection" | "before" | "after">;

export interface AffectedParts {
  /** Ids of routes; null: all routes. */
  readonly routes: ReadonlySet<string> | null;
  /** Whether requests may get another route. */
  readonly reroutes: boolean;
  /** Ids of consumers whose requests are affected on every route that identifies them. */
  readonly consumers: ReadonlySet<string>;
  /** Server names whose certificate may differ. */
  readonly serverNames: ReadonlySet<string>;
}

/** @param snapshots Before and after the writes */
export function affectedParts(pairs: readonly EntityPair[], snapshots: readonly Snapshot[]): AffectedParts {
  const parts = new AffectedEntities(snapshots);
  for (const { collection, before, after } of pairs)
    for (const entity of [before, after]) if (entity !== null) parts.add(collection, entity);
  parts.addRoutesOfAnonymous();
  const reroutes = pairs.some(({ collection }) => collection === "routes" || collection === "services");
  const { consumers, serverNames } = parts;
  return { routes: parts.routes(), reroutes, consumers, serverNames };
}

/** The id or username of the consumer to which the plugin attributes requests without credentials; null: none. */
export function anonymousConsumerOf({ config }: Pick<Plugin, "config">): string | null {
  const { anonymous } = config as { readonly anonymous?: unknown };
  return typeof anonymous === "string" ? anonymous : null;
}

class AffectedEntities {
  readonly consumers = new Set<string>();
  readonly serverNames = new Set<string>();
  readonly #routes = new Set<string>();
  readonly #services = new Set<string>();
  readonly #snapshots: readonly Snapshot[];
  #areAll = false;

  constructor(snapshots: readonly Snapshot[]) {
    this.#snapshots = snapshots;
  }

  /** Ids of routes; null: all routes. */
  routes(): ReadonlySet<string> | null {
    if (this.#areAll) return null;
    const own = this.#each((snapshot) => snapshot.routes).filter(({ service }) =>
      this.#services.has(service?.id ?? ""),
    );
    return new Set([...this.#routes, ...own.map(({ id }) => id)]);
  }

  add(collection: Collection, entity: Entity): void {
    const consumer = collection === "consumers" ? entity.id : referencedId(entity, "consumer");
    if (consumer !== undefined) this.consumers.add(consumer);
    this.#byCollection[collection]?.(entity);
  }

  /** If an affected consumer is the anonymous one of a plugin, the plugin's requests without credentials are affected. */
  addRoutesOfAnonymous(): void {
    const affected = this.#each((snapshot) => snapshot.consumers).filter(({ id }) => this.consumers.has(id));
    const names = new Set(affected.flatMap(({ id, username }) => [id, username]));
    for (const plugin of this.#each((snapshot) => snapshot.plugins)) {
      const anonymous = anonymousConsumerOf(plugin);
      if (anonymous !== null && names.has(anonymous)) this.#addPlugin(plugin);
    }
  }

  readonly #byCollection: { readonly [Name in Collection]?: (entity: Entity) => void } = {
    routes: ({ id }) => void this.#routes.add(id),
    services: ({ id }) => void this.#services.add(id),
    plugins: (plugin) => this.#addPlugin(plugin as Plugin),
    upstreams: ({ id }) => this.#addUpstream(id),
    targets: (target) => this.#addUpstream(referencedId(target, "upstream")),
    certificates: (certificate) => this.#addCertificate(certificate as Certificate),
    snis: (sni) => this.#addServerName((sni as Entity & { readonly name: string }).name),
    ca_certificates: ({ id }) => {
      for (const service of this.#each((snapshot) => snapshot.services))
        if (service.ca_certificates?.includes(id)) this.#services.add(service.id);
      this.#addPluginsWith(id);
    },
    graphql_documents: (documents) => {
      for (const key of [documents.id, (documents as GraphqlDocuments).name]) this.#addPluginsWith(JSON.stringify(key));
    },
    vaults: (vault) => this.#addPluginsWith(`{vault://${(vault as Vault).prefix}/`),
  };

  #each<Each>(of: (snapshot: Snapshot) => ReadonlyMap<string, Each>): readonly Each[] {
    return this.#snapshots.flatMap((snapshot) => [...of(snapshot).values()]);
  }

  /** Plugins of consumers and of their groups affect only requests with credentials. */
  #addPlugin({ route, service, consumer, consumer_group }: Plugin): void {
    if (consumer_group !== null) this.#addMembers(consumer_group.id);
    if (consumer !== null || consumer_group !== null) return;
    if (route !== null) this.#routes.add(route.id);
    else if (service !== null) this.#services.add(service.id);
    else this.#areAll = true;
  }

  #addMembers(group: string): void {
    for (const membership of this.#each((snapshot) => snapshot.consumer_group_consumers))
      if (membership.consumer_group.id === group) this.consumers.add(membership.consumer.id);
  }

  #addPluginsWith(text: string): void {
    for (const plugin of this.#each((snapshot) => snapshot.plugins))
      if (JSON.stringify(plugin.config).includes(text)) this.#addPlugin(plugin);
  }

  #addUpstream(id: string | undefined): void {
    const named = this.#each((snapshot) => snapshot.upstreams).filter((upstream) => upstream.id === id);
    const names = new Set(named.map(({ name }) => name));
    for (const service of this.#each((snapshot) => snapshot.services))
      if (names.has(service.host)) this.#services.add(service.id);
  }

  #addCertificate({ id }: Certificate): void {
    for (const service of this.#each((snapshot) => snapshot.services))
      if (service.client_certificate?.id === id) this.#services.add(service.id);
    for (const upstream of this.#each((snapshot) => snapshot.upstreams))
      if (upstream.client_certificate?.id === id) this.#addUpstream(upstream.id);
    for (const { name, certificate } of this.#each((snapshot) => snapshot.snis))
      if (certificate.id === id) this.#addServerName(name);
  }

  #addServerName(name: string): void {
    this.serverNames.add(name.replace("*", "sample"));
  }
}

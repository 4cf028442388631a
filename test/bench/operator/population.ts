/** The resources that exist before measurements begin. */
import { kindOf, type Resource, type ResourceClient, type SluiceKind } from "@sluice/crds";

export interface PopulationSize {
  readonly routes: number;
  readonly services: number;
  readonly consumers: number;
}

export const NAMESPACE = "default";
/** Field manager of the bench's writes. */
export const BENCH_MANAGER = "bench";
const AT_ONCE = 32;

export const populationResource = (kind: SluiceKind, name: string, spec: Resource["spec"]): Resource => ({
  apiVersion: "sluice.dev/v1alpha1",
  kind,
  metadata: { name, namespace: NAMESPACE },
  spec,
});

export const populationRouteName = (at: number): string => `route-${at}`;

/** A Route of the population. Each has its own Service if there are enough; otherwise several share one. */
export const populationRoute = (at: number, services: number, paths: readonly string[] = [`/route-${at}`]): Resource =>
  populationResource("Route", populationRouteName(at), { serviceRef: { name: `service-${at % services}` }, paths });

/** Writes the resources like `kubectl apply --server-side`, many at a time. */
export async function populateCluster(client: ResourceClient, size: PopulationSize, url: string): Promise<void> {
  function* all(): Generator<Resource> {
    for (let at = 0; at < size.services; at++) yield populationResource("Service", `service-${at}`, { url });
    for (let at = 0; at < size.routes; at++) yield populationRoute(at, size.services);
    for (let at = 0; at < size.consumers; at++)
      yield populationResource("Consumer", `consumer-${at}`, { username: `consumer-${at}` });
  }
  await writeResourcesInParallel(client, all(), size.services + size.routes + size.consumers);
}

/** @param total The number of resources, for the progress. */
export async function writeResourcesInParallel(
  client: ResourceClient,
  all: Generator<Resource>,
  total: number,
): Promise<void> {
  let written = 0;
  const write = async () => {
    for (const one of all) {
      const kind = kindOf(one.apiVersion, one.kind);
      if (kind === undefined) throw new Error(`unknown kind ${one.kind} of ${one.apiVersion}`);
      await client.apply(kind, one, { manager: BENCH_MANAGER });
      if (++written % 5000 === 0) console.log(`${written} of ${total} resources written`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, write));
}

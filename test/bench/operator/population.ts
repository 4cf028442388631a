/** The resources that exist before measurements begin. */
import { kindOf, type Resource, type ResourceClient, type SluiceKind } from "@sluice/crds";

export interface Size {
  readonly routes: number;
  readonly services: number;
  readonly consumers: number;
}

export const NAMESPACE = "default";
/** Field manager of the bench's writes. */
export const MANAGER = "bench";
const AT_ONCE = 32;

export const resource = (kind: SluiceKind, name: string, spec: Resource["spec"]): Resource => ({
  apiVersion: "sluice.dev/v1alpha1",
  kind,
  metadata: { name, namespace: NAMESPACE },
  spec,
});

export const routeName = (at: number): string => `route-${at}`;

/** A Route of the population. Each has its own Service if there are enough; otherwise several share one. */
export const route = (at: number, services: number, paths: readonly string[] = [`/route-${at}`]): Resource =>
  resource("Route", routeName(at), { serviceRef: { name: `service-${at % services}` }, paths });

/** Writes the resources like `kubectl apply --server-side`, many at a time. */
export async function populate(client: ResourceClient, size: Size, url: string): Promise<void> {
  function* all(): Generator<Resource> {
    for (let at = 0; at < size.services; at++) yield resource("Service", `service-${at}`, { url });
    for (let at = 0; at < size.routes; at++) yield route(at, size.services);
    for (let at = 0; at < size.consumers; at++)
      yield resource("Consumer", `consumer-${at}`, { username: `consumer-${at}` });
  }
  await writeAll(client, all(), size.services + size.routes + size.consumers);
}

/** @param total The number of resources, for the progress. */
export async function writeAll(client: ResourceClient, all: Generator<Resource>, total: number): Promise<void> {
  let written = 0;
  const write = async () => {
    for (const one of all) {
      const kind = kindOf(one.apiVersion, one.kind);
      if (kind === undefined) throw new Error(`unknown kind ${one.kind} of ${one.apiVersion}`);
      await client.apply(kind, one, { manager: MANAGER });
      if (++written % 5000 === 0) console.log(`${written} of ${total} resources written`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, write));
}

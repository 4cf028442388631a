/** Where the requests of a Service go that stands for a core Service. */
import { type Backend, clusterAddressOf, endpointsOf, keyOf } from "@sluice/crds";
import type { Endpoint } from "@sluice/model";
import type { World } from "../world/world.ts";
import type { Slices } from "./slices.ts";

interface Places {
  readonly world: Pick<World, "CoreService">;
  readonly slices: Slices;
}

/** With the core Service's own address at the end, unless there is nothing else. */
export function addressesOf({ namespace, name, port }: Backend, { world, slices }: Places): readonly Endpoint[] {
  const key = keyOf(namespace, name);
  const service = world.CoreService.get(key);
  const ports: unknown = service?.spec?.ports;
  // Nobody checks the core Services in a folder of files.
  const found = (Array.isArray(ports) ? ports : []).find((candidate) => Object(candidate).port === port);
  const endpoints = endpointsOf(slices.of(key), found?.name);
  const cluster = service && found && endpoints.length > 0 ? clusterAddressOf(service, port) : null;
  return cluster ? [...endpoints, cluster] : endpoints;
}

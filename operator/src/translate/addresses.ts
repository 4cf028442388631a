/** Where the requests of a Service go that stands for a core Service. */
import { type Backend, endpointsOf, keyOf } from "@sluice/crds";
import type { Endpoint } from "@sluice/model";
import type { World } from "../world/world.ts";
import type { Slices } from "./slices.ts";

interface Places {
  readonly world: Pick<World, "CoreService">;
  readonly slices: Slices;
}

export function addressesOf({ namespace, name, port }: Backend, { world, slices }: Places): readonly Endpoint[] {
  const key = keyOf(namespace, name);
  const ports: unknown = world.CoreService.get(key)?.spec?.ports;
  // Nobody checks the core Services in a folder of files.
  const found = (Array.isArray(ports) ? ports : []).find((candidate) => Object(candidate).port === port);
  return endpointsOf(slices.of(key), found?.name);
}

/** All URLs of entities and of what is derived from them. */
import type { Store } from "../stores/store.ts";
import { batchRoutes } from "./batch/index.ts";
import { entityRoutes, type Route } from "./handlers.ts";
import { type HealthOptions, healthRoutes } from "./health.ts";
import { missingRoutes } from "./missing.ts";
import { tagRoutes } from "./tags.ts";

export type RoutesOptions = HealthOptions & { readonly store: Store };

export const routesOf = (options: RoutesOptions): readonly Route[] => [
  ...entityRoutes(options.store),
  ...tagRoutes(options.store),
  ...healthRoutes(options),
  ...batchRoutes(options.store),
  ...missingRoutes,
];

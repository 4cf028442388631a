/** All URLs of entities and of what is derived from them. */
import type { Store } from "../stores/store.ts";
import { batchRoutes } from "./batch/index.ts";
import { entityRoutes, type Route } from "./handlers.ts";
import { type HealthOptions, healthRoutes } from "./health.ts";
import { missingRoutes } from "./missing.ts";
import { tagRoutes } from "./tags.ts";
import type { WarningHeaders } from "./warnings.ts";

export interface RoutesOptions extends HealthOptions {
  readonly store: Store;
  readonly warnings: WarningHeaders;
}

export const routesOf = (options: RoutesOptions): readonly Route[] => [
  ...entityRoutes(options),
  ...tagRoutes(options.store),
  ...healthRoutes(options),
  ...batchRoutes(options),
  ...missingRoutes,
];

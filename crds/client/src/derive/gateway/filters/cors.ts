/** CORS: the config of the plugin cors. */
import { escapeRegex } from "@sluice/model";

interface CorsFilter {
  readonly allowOrigins?: readonly string[];
  readonly allowCredentials?: boolean;
  readonly allowMethods?: readonly string[];
  readonly allowHeaders?: readonly string[];
  readonly exposeHeaders?: readonly string[];
  readonly maxAge?: number;
}

/** Seconds, the default of the API. */
const MAX_AGE = 5;

export function corsConfig(filter: unknown): object {
  const {
    allowOrigins = [],
    allowCredentials = false,
    allowMethods = [],
    allowHeaders = [],
    ...more
  } = Object(filter) as CorsFilter;
  const { exposeHeaders = [], maxAge = MAX_AGE } = more;
  const isAll = (list: readonly string[]): boolean => list.includes("*");
  return {
    origins: allowOrigins.map(originOf),
    ...(!isAll(allowMethods) && { methods: allowMethods }),
    // Without a list, the headers are allowed for which the browser asks.
    ...(!isAll(allowHeaders) && { headers: allowHeaders }),
    ...(exposeHeaders.length > 0 && { exposed_headers: exposeHeaders }),
    credentials: allowCredentials,
    max_age: maxAge,
    allow_origin_absent: false,
  };
}

/** An origin; one with a wildcard as a regular expression. */
function originOf(origin: string): string {
  if (origin === "*" || !origin.includes("*")) return origin;
  return `^${origin.split("*").map(escapeRegex).join(".+")}$`;
}

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

/** Browsers send these without asking (Fetch standard, CORS-safelisted methods and request headers). */
const SAFE_METHODS = ["GET", "HEAD", "POST"];
const SAFE_HEADERS = ["Accept"];

/** Undefined: no origin is allowed, and the responses of the upstream stay as they are. */
export function corsConfig(filter: unknown): object | undefined {
  const { allowOrigins = [], allowMethods = [], allowHeaders = [], ...more } = Object(filter) as CorsFilter;
  const { allowCredentials = false, exposeHeaders = [], maxAge = MAX_AGE } = more;
  if (allowOrigins.length === 0) return undefined;
  return {
    origins: allowOrigins.map(originOf),
    methods: allowMethods.length > 0 ? allowMethods : SAFE_METHODS,
    // Without a list, the headers for which the browser asks are allowed.
    ...(!allowHeaders.includes("*") && { headers: allowHeaders.length > 0 ? allowHeaders : SAFE_HEADERS }),
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

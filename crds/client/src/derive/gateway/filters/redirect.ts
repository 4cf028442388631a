/** RequestRedirect: a response that redirects to another URL. */
import { type PathModifier, pathModifierOf } from "./path-modifier.ts";

export interface RedirectFilter {
  readonly source: string;
  /** Whether the port of the redirect is that of the listener. */
  readonly usesListenerPort: boolean;
  /**
   * The config of request-redirect for one route.
   *
   * @param route The prefix that the route matches, and the port of its listeners.
   */
  config(route: { readonly prefix: string | undefined; readonly port: number | undefined }): object;
}

export function redirectOf(filter: unknown, source: string): RedirectFilter {
  const {
    scheme,
    hostname,
    port,
    path,
    statusCode = 302,
  } = Object(filter) as {
    readonly scheme?: string;
    readonly hostname?: string;
    readonly port?: number;
    readonly path?: unknown;
    readonly statusCode?: number;
  };
  const modifier: PathModifier = pathModifierOf(path);
  const usesListenerPort = scheme === undefined && port === undefined;
  return {
    source,
    usesListenerPort,
    config: ({ prefix, port: listenerPort }) => ({
      status_code: statusCode,
      ...(scheme !== undefined && { scheme }),
      ...(hostname !== undefined && { host: hostname }),
      ...(port !== undefined && { port }),
      ...(usesListenerPort && listenerPort !== undefined && { port: listenerPort }),
      ...(modifier.fullPath !== undefined && { path: modifier.fullPath }),
      ...(modifier.prefix !== undefined &&
        prefix !== undefined && { strip_prefix: prefix || "/", add_prefix: modifier.prefix }),
    }),
  };
}

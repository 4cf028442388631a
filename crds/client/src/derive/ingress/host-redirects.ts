/** Redirects of a whole host: the annotations `app-root` and `from-to-www-redirect`. */
import type { PluginEffect } from "./annotations/effects.ts";
import { EXACT_PATH_PRIORITY } from "./ingress-path.ts";
import { wwwCounterpart } from "./ingress-spec.ts";

/** A route that answers with a redirect. */
export interface RedirectRoute {
  readonly host: string;
  /** The last part of the name of the Route. */
  readonly part: string;
  readonly paths: readonly string[];
  readonly priority: number;
  readonly redirect: PluginEffect;
}

/** Requests for exactly `/` are redirected before all other paths. The query is not kept. */
export const appRootRoute = (host: string, appRoot: string): RedirectRoute => ({
  host,
  part: "app-root",
  paths: ["~/$"],
  priority: 2 * EXACT_PATH_PRIORITY,
  redirect: { plugin: "redirect", config: { status_code: 302, location: appRoot }, annotation: "app-root" },
});

/** Requests for the counterpart of a host are redirected to the host, with their path and query. */
export const wwwRoute = (host: string, scheme: "http" | "https"): RedirectRoute => ({
  host: wwwCounterpart(host),
  part: "www",
  paths: ["/"],
  priority: 0,
  redirect: {
    plugin: "redirect",
    config: { status_code: 308, location: `${scheme}://${host}/`, keep_incoming_path: true },
    annotation: "from-to-www-redirect",
  },
});

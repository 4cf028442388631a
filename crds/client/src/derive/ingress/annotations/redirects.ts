/** Annotations that redirect clients. */
import type { Annotations } from "./annotations.ts";
import type { IngressEffects, PluginEffect } from "./effects.ts";

type RedirectEffects = Pick<IngressEffects, "redirect" | "redirectsToHttps" | "appRoot" | "redirectsWww">;

export function redirectEffects(annotations: Annotations): RedirectEffects {
  const isForced = annotations.flag("force-ssl-redirect") ?? false;
  const isUnwanted = annotations.flag("ssl-redirect") === false;
  const permanent = redirectTo(annotations, { name: "permanent-redirect", status: 301, statuses: [300, 308] });
  const temporal = redirectTo(annotations, { name: "temporal-redirect", status: 302, statuses: [300, 307] });
  const appRoot = annotations.text("app-root");
  if (appRoot !== undefined && !appRoot.startsWith("/"))
    annotations.reject("app-root", `expected a path, not '${appRoot}'`);
  return {
    appRoot: appRoot?.startsWith("/") ? appRoot : null,
    redirectsWww: annotations.flag("from-to-www-redirect") ?? false,
    redirect: temporal ?? permanent,
    redirectsToHttps: isForced ? true : isUnwanted ? false : null,
  };
}

interface RedirectAnnotation {
  readonly name: string;
  /** The status without an annotation for the status. */
  readonly status: number;
  /** The lowest and the highest allowed status. */
  readonly statuses: readonly [number, number];
}

/** An origin with nginx' variable for the path and query of the request. */
const WITH_PATH = /^(https?:\/\/[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?(?::\d{1,5})?)\/?\$\{?request_uri\}?$/i;

/** Unless the location ends with the variable, it is used as it is. */
function redirectTo(annotations: Annotations, { name, status, statuses }: RedirectAnnotation): PluginEffect | null {
  const [minimum, maximum] = statuses;
  const code = annotations.integer(`${name}-code`, { minimum, maximum }) ?? status;
  const location = annotations.text(name);
  if (location === undefined) return null;
  const [, origin] = WITH_PATH.exec(location) ?? [];
  if (origin !== undefined) {
    const config = { status_code: code, location: `${origin}/`, keep_incoming_path: true };
    return { plugin: "redirect", config, annotation: name };
  }
  if (location.includes("$"))
    annotations.reject(name, `variables of nginx are not supported, except in https://HOST$request_uri: '${location}'`);
  return { plugin: "redirect", config: { status_code: code, location }, annotation: name };
}

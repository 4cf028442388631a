/** The annotations for copies of requests. */
import type { Annotations } from "../annotations.ts";
import type { MirrorEffect } from "../effects.ts";

const TARGET = "mirror-target";
const HOST = "mirror-host";

/** A URL of a host; nginx' variable stands for the path and query of the request. */
const URL = /^(https?):\/\/([a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?)(?::(\d{1,5}))?\/?\$request_uri$/i;
const AUTHORITY = /^[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?(?::\d{1,5})?$/i;

export function mirrorEffectOf(annotations: Annotations): MirrorEffect | null {
  const target = annotations.text(TARGET);
  const named = annotations.text(HOST);
  if (annotations.word("mirror-request-body", ["on", "off"]) === "off")
    annotations.reject("mirror-request-body", "copies always have the body of the request");
  if (target === undefined) return null;
  const [, scheme = "", host = "", given] = URL.exec(target) ?? [];
  const port = Number(given ?? (scheme.toLowerCase() === "https" ? 443 : 80));
  const isValid = host !== "" && port >= 1 && port <= 65_535;
  const isNamed = named === undefined || AUTHORITY.test(named);
  if (!isValid) annotations.reject(TARGET, `expected https://HOST$request_uri, not '${target}'`);
  if (!isNamed) annotations.reject(HOST, `expected a host, not '${named}'`);
  if (!isValid || !isNamed) return null;
  return { protocol: scheme.toLowerCase() === "https" ? "https" : "http", host, port, hostHeader: named ?? host };
}

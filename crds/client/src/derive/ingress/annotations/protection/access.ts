/** Annotations that accept or refuse requests by the client's address, and by the size of the body. */
import type { Annotations } from "../annotations.ts";
import type { PluginEffect } from "../effects.ts";

export function accessEffects(annotations: Annotations): readonly PluginEffect[] {
  return [...addressEffects(annotations), ...bodySizeEffects(annotations)];
}

/** `whitelist-source-range` is the older name of `allowlist-source-range`. */
const ALLOW = ["allowlist-source-range", "whitelist-source-range"] as const;
const DENY = "denylist-source-range";

function addressEffects(annotations: Annotations): readonly PluginEffect[] {
  for (const name of [...ALLOW, DENY])
    if (annotations.text(name) !== undefined && !annotations.list(name))
      annotations.reject(name, "expected addresses or CIDR blocks, separated by commas");
  const allowName = ALLOW.find((name) => annotations.list(name));
  const allow = allowName && annotations.list(allowName);
  const deny = annotations.list(DENY);
  if (!allow && !deny) return [];
  const config = { ...(allow && { allow }), ...(deny && { deny }) };
  return [{ plugin: "ip-restriction", config, annotation: allowName ?? DENY }];
}

const units: Readonly<Record<string, number>> = { "": 1, b: 1, k: 2 ** 10, m: 2 ** 20, g: 2 ** 30 };
const MEGABYTE = 2 ** 20;
const MAX_SIZE = 2 ** 31 - 1;

/** A number with an optional unit of nginx: `8m`. The value 0 means no limit. */
function bodySizeEffects(annotations: Annotations): readonly PluginEffect[] {
  const name = "proxy-body-size";
  const text = annotations.text(name);
  if (text === undefined) return [];
  const [, digits, unit = ""] = /^(\d{1,12})([bkmg]?)$/i.exec(text) ?? [];
  const bytes = Number(digits) * (units[unit.toLowerCase()] ?? Number.NaN);
  if (Number.isNaN(bytes)) {
    annotations.reject(name, `expected a size such as 8m, not '${text}'`);
    return [];
  }
  if (bytes === 0) return [];
  const size =
    bytes <= MAX_SIZE
      ? { allowed_payload_size: bytes, size_unit: "bytes" }
      : { allowed_payload_size: Math.min(Math.ceil(bytes / MEGABYTE), MAX_SIZE), size_unit: "megabytes" };
  return [{ plugin: "request-size-limiting", config: size, annotation: name }];
}

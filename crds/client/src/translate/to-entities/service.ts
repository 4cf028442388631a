/** The address and the headers of a Service. */
import type { ServiceSpec, UpstreamHeader } from "@sluice/model";
import { readSecret } from "../secrets.ts";
import type { BackendService, Path, ResourceViolation } from "../translation.ts";
import { backendHost, backendViolation } from "./backends.ts";
import { type EntityPart, invalidField, type TranslatorInput } from "./entity-part.ts";

export function serviceParts(input: TranslatorInput): readonly EntityPart[] {
  const { url, backendRef } = input.own as ServiceSpec;
  const path = ["spec", "url"];
  const urlPart: EntityPart = {
    members: { url },
    sourcePaths: { protocol: path, host: path, port: path, path },
  };
  return [
    { violations: sourceViolations(input) },
    ...(url === undefined ? [] : [urlPart]),
    headersPart(input),
    ...(backendRef ? [backendPart({ namespace: input.from.namespace, ...backendRef }, input)] : []),
  ];
}

/** The CRD has the same rules, but no API server validates resources in a directory. */
function sourceViolations({ members, resource: { spec = {} } }: TranslatorInput): readonly ResourceViolation[] {
  const given = ["url", "host", "backendRef"].filter((member) => (spec[member] ?? null) !== null);
  const doubled = (member: string, by: string) =>
    (members[member] ?? null) === null || !given.includes(by)
      ? []
      : [invalidField(["spec", member], `${by} already sets the ${member}: remove spec.${member}`)];
  return [
    ...(given.length === 1 ? [] : [invalidField(["spec"], "set exactly one of url, host and backendRef")]),
    ...["protocol", "port", "path"].flatMap((member) => doubled(member, "url")),
    ...doubled("port", "backendRef"),
  ];
}

function backendPart({ namespace, name, port }: BackendService, input: TranslatorInput): EntityPart {
  const path = ["spec", "backendRef"];
  const backend = { namespace, name, port };
  const fault = input.options.audience === "nodes" ? backendViolation(backend, path, input) : undefined;
  return {
    backends: [backend],
    members: { host: backendHost(backend), port },
    sourcePaths: { host: [...path, "name"], port: [...path, "port"] },
    ...(fault && { violations: [fault] }),
  };
}

/** Replaces a missing value, so that headers keep their indices; a violation keeps the Service from being served. */
const UNKNOWN = "unknown";

/** For the admin listener, headers with values from Secrets are omitted. */
function headersPart({ own, from, options }: TranslatorInput): EntityPart {
  const { upstreamHeaders: entries } = own as ServiceSpec;
  const secretPaths: Path[] = [];
  const violations: ResourceViolation[] = [];
  const value = entries?.flatMap(({ name, value, secretRef }, index): UpstreamHeader[] => {
    const path = ["spec", "upstreamHeaders", index];
    if ((value === undefined) === (secretRef === undefined)) {
      violations.push(invalidField(path, "set exactly one of value and secretRef"));
    }
    if (secretRef === undefined) return [{ name, value: value ?? UNKNOWN }];
    if (options.audience === "admin") return [];
    secretPaths.push(["upstream_headers", index, "value"]);
    const found = readSecret(secretRef, { from, path: [...path, "secretRef"] }, options);
    if ("value" in found) return [{ name, value: found.value }];
    violations.push(found);
    return [{ name, value: UNKNOWN }];
  });
  return { members: value && { upstream_headers: value }, secretPaths, violations };
}

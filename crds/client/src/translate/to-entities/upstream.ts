/** Upstream -> upstream and its targets. */
import { derivedIdOf, kinds, uuidV5, withPort } from "@sluice/model";
import type { ResourceViolation, TranslatedEntity, TranslateOptions } from "../translation.ts";
import { type NestedEntry, nestedEntriesOf, nestedTimesOf, parentViolations } from "./nested-entries.ts";
import { clientCertificate, entityName } from "./shared-members.ts";
import type { TranslatorInput } from "./translator-input.ts";

/** An invalid target is a violation of its own item only: the upstream and its other targets are served. */
export function upstreamEntities(reading: TranslatorInput, options: TranslateOptions): readonly TranslatedEntity[] {
  const { identity, times, members } = reading;
  const name = entityName(reading, options);
  const certificate = clientCertificate(reading, options);
  const upstream: TranslatedEntity = {
    collection: "upstreams",
    item: { ...times, ...members, ...name.member, ...certificate.member, id: identity.id },
    basePath: ["spec"],
    sourcePaths: { ...name.places, ...certificate.places },
    violations: [
      ...parentViolations(reading, "targets"),
      ...certificate.violations,
      ...nameViolations(reading, options),
    ],
    references: certificate.references,
  };
  const entries = nestedEntriesOf(reading, "targets", kinds.Upstream.spec.properties?.targets);
  return [upstream, ...entries.map((entry) => target(reading, entry))];
}

/**
 * Services of all namespaces send requests to the upstream whose name equals their host. Therefore only upstreams in
 * the home namespace may have arbitrary names.
 */
function nameViolations(
  { own, namespace }: TranslatorInput,
  { homeNamespace }: TranslateOptions,
): readonly ResourceViolation[] {
  const { name } = own;
  if (namespace === homeNamespace || typeof name !== "string" || name.startsWith(`${namespace}.`)) return [];
  const message = `must begin with ${namespace}. - other names are allowed only in the namespace ${homeNamespace}`;
  return [{ path: ["spec", "name"], message, condition: "Accepted", reason: "NotAllowed" }];
}

function target(reading: TranslatorInput, { own, members, base, index, violations }: NestedEntry): TranslatedEntity {
  const upstream = { id: reading.identity.id };
  const id = typeof own.id === "string" ? own.id.toLowerCase() : derivedId(upstream.id, members.target, index);
  return {
    collection: "targets",
    item: { ...nestedTimesOf(reading, id), ...members, id, upstream },
    basePath: base,
    sourcePaths: { upstream: ["spec"] },
    violations,
  };
}

const derivedId = (upstreamId: string, target: unknown, index: number): string =>
  typeof target === "string"
    ? derivedIdOf("targets", { upstream: { id: upstreamId }, target: withPort(target) })
    : uuidV5(upstreamId, `targets/${index}`);

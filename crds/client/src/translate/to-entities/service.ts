/** Service -> service. */
import type { ServiceSpec } from "@sluice/model";
import { crossNamespaceViolation } from "../resolve-reference.ts";
import type { BackendService, ResourceViolation, TranslatedEntity, TranslateOptions } from "../translation.ts";
import { clientCertificate, entityName } from "./shared-members.ts";
import { invalidField, type TranslatorInput } from "./translator-input.ts";
import { headersWithSecrets } from "./upstream-headers.ts";

export function serviceEntity(reading: TranslatorInput, options: TranslateOptions): TranslatedEntity {
  const { identity, times, members, namespace } = reading;
  const { url, backendRef } = reading.own as ServiceSpec;
  const backend: BackendService | undefined = backendRef && {
    namespace: backendRef.namespace ?? namespace,
    name: backendRef.name,
    port: backendRef.port,
  };
  const name = entityName(reading, options);
  const certificate = clientCertificate(reading, options);
  const headers = headersWithSecrets(reading, options);
  const urlPlace = ["spec", "url"];
  return {
    collection: "services",
    item: {
      ...times,
      ...members,
      ...name.member,
      ...certificate.member,
      id: identity.id,
      ...(url !== undefined && { url }),
      ...(headers.value && { upstream_headers: headers.value }),
      ...(backend && { host: `${backend.name}.${backend.namespace}.svc`, port: backend.port }),
    },
    basePath: ["spec"],
    sourcePaths: {
      ...name.places,
      ...certificate.places,
      ...(url !== undefined && { protocol: urlPlace, host: urlPlace, port: urlPlace, path: urlPlace }),
      ...(backend && { host: ["spec", "backendRef", "name"], port: ["spec", "backendRef", "port"] }),
    },
    violations: [
      ...reading.violations,
      ...sourceViolations(reading),
      ...certificate.violations,
      ...headers.violations,
      ...(backend && options.audience === "nodes" ? backendViolations(backend, reading, options) : []),
    ],
    references: certificate.references,
    ...(backend && { backend }),
    ...(headers.secretPaths.length > 0 && { secretPaths: headers.secretPaths }),
  };
}

/** The CRD has the same rules, but no API server validates resources in a directory. */
function sourceViolations({ members, resource: { spec = {} } }: TranslatorInput): readonly ResourceViolation[] {
  const given = ["url", "host", "backendRef"].filter((member) => (spec[member] ?? null) !== null);
  const doubled = (member: string, by: string) =>
    (members[member] ?? null) === null || !given.includes(by)
      ? []
      : [invalidField(["spec", member], `${by} contains the ${member}: remove it`)];
  return [
    ...(given.length === 1 ? [] : [invalidField(["spec"], "set exactly one of url, host and backendRef")]),
    ...["protocol", "port", "path"].flatMap((member) => doubled(member, "url")),
    ...doubled("port", "backendRef"),
  ];
}

function backendViolations(
  { namespace, name, port }: BackendService,
  { identity, namespace: own }: TranslatorInput,
  { read, isReferenceAllowed }: TranslateOptions,
): readonly ResourceViolation[] {
  const place = { from: { kind: identity.kind, namespace: own }, path: ["spec", "backendRef"] };
  const refused = crossNamespaceViolation({ kind: "CoreService", namespace, name }, place, { isReferenceAllowed });
  if (refused) return [refused];
  const fault = (member: "name" | "port", message: string): readonly ResourceViolation[] => [
    { path: ["spec", "backendRef", member], message, condition: "ResolvedRefs", reason: "BackendNotFound" },
  ];
  const service = read("CoreService", namespace, name);
  if (!service) return fault("name", `there is no core Service ${name} in the namespace ${namespace}`);
  const ports = service.spec?.ports;
  if (Array.isArray(ports) && ports.some((entry) => Object(entry).port === port)) return [];
  return fault("port", `the core Service ${name} has no port ${port}`);
}

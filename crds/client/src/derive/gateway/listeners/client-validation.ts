/** The check of clients' certificates that `spec.tls.frontend` of a Gateway asks for (GEP-91). */
import { type ListenerClientValidation, MAX_TRUSTED_CERTIFICATES, trustedCertificatesIn } from "@sluice/model";
import type { Resource } from "../../../resource.ts";
import { crossNamespaceViolation } from "../../../translate/resolve-reference.ts";
import { entryOf } from "../../../translate/secrets.ts";
import type { TranslateOptions } from "../../../translate/translation.ts";
import { type ConditionFinding, falseFinding, gatewaySpecOf, type ObjectReference } from "../gateway-api.ts";

export interface ClientValidationLookups extends Pick<TranslateOptions, "isReferenceAllowed"> {
  /** An object of a kind whose objects are not all read. Undefined: it does not exist. */
  readonly readNamed: (kind: "ConfigMap" | "Secret", namespace: string, name: string) => Resource | undefined;
}

export interface DerivedClientValidation {
  /** Undefined: no certificate can be trusted, and the listener must not be opened. */
  readonly validation: ListenerClientValidation | undefined;
  /** The condition ResolvedRefs, if a reference cannot be resolved. */
  readonly fault: ConditionFinding | undefined;
}

/** The key of CA certificates in ConfigMaps and Secrets. */
const ENTRY = "ca.crt";

/**
 * The validation for the listeners of a port at which TLS ends; undefined: none is asked for. The Gateway API speaks of
 * HTTPS only, but other listeners of such a Gateway should not be open to everyone either.
 */
export function clientValidationOf(
  gateway: Resource,
  port: number,
  lookups: ClientValidationLookups,
): DerivedClientValidation | undefined {
  const { frontend } = gatewaySpecOf(gateway).tls ?? {};
  const ofPort = frontend?.perPort?.findIndex((one) => one.port === port) ?? -1;
  const config = ofPort >= 0 ? frontend?.perPort?.[ofPort]?.tls : frontend?.default;
  if (!config?.validation) return undefined;
  const path = ofPort >= 0 ? `spec.tls.frontend.perPort[${ofPort}].tls` : "spec.tls.frontend.default";
  const { mode, caCertificateRefs } = config.validation;
  const found = caCertificateRefs.map((ref, index) =>
    readAuthorities(gateway, ref, { path: `${path}.validation.caCertificateRefs[${index}]`, lookups }),
  );
  const texts = found.filter((one) => typeof one === "string");
  const [fault = sizeFault(texts, path)] = found.filter((one) => typeof one !== "string");
  const trusted_certificates = texts.join("\n");
  const isUsable = texts.length > 0 && trusted_certificates.length <= MAX_TRUSTED_CERTIFICATES;
  return {
    validation: isUsable ? { mode: mode === INSECURE ? "optional" : "required", trusted_certificates } : undefined,
    fault,
  };
}

const INSECURE = "AllowInsecureFallback";

/** Whether a port of the Gateway admits clients without a valid certificate although certificates are asked for. */
export function isInsecure(gateway: Resource): boolean {
  const { frontend } = gatewaySpecOf(gateway).tls ?? {};
  const configs = [frontend?.default, ...(frontend?.perPort ?? []).map(({ tls }) => tls)];
  return configs.some((config) => config?.validation?.mode === INSECURE);
}

function sizeFault(texts: readonly string[], path: string): ConditionFinding | undefined {
  if (texts.join("\n").length <= MAX_TRUSTED_CERTIFICATES) return undefined;
  return falseFinding(
    "InvalidCACertificateRef",
    `${path}.validation.caCertificateRefs: the certificates have more than ${MAX_TRUSTED_CERTIFICATES} characters`,
  );
}

/** The certificates of a ConfigMap or Secret, in PEM. */
function readAuthorities(
  gateway: Resource,
  { group = "", kind = "ConfigMap", namespace: given, name }: ObjectReference,
  { path, lookups }: { readonly path: string; readonly lookups: ClientValidationLookups },
): string | ConditionFinding {
  const { namespace: own } = gateway.metadata;
  const namespace = given ?? own;
  if (group !== "" || (kind !== "ConfigMap" && kind !== "Secret"))
    return falseFinding(
      "InvalidCACertificateKind",
      `${path}: the kind ${kind} of ${group || "v1"} is not supported: name a ConfigMap or a Secret`,
    );
  const place = { from: { kind: "Gateway", namespace: own }, path: [path] } as const;
  const refused = crossNamespaceViolation({ kind, namespace, name }, place, lookups);
  if (refused) return falseFinding("RefNotPermitted", `${path}: ${refused.message}`);
  const invalid = (message: string) => falseFinding("InvalidCACertificateRef", `${path}: ${message}`);
  const object = lookups.readNamed(kind, namespace, name);
  if (!object) return invalid(`there is no ${kind} ${name} in the namespace ${namespace}`);
  const text = kind === "Secret" ? entryOf(object, ENTRY) : (object.data as Readonly<Record<string, string>>)?.[ENTRY];
  if (!text) return invalid(`the ${kind} ${name} has no entry ${ENTRY} in its data`);
  return trustedCertificatesIn(text) ?? invalid(`the entry ${ENTRY} of the ${kind} ${name} has no certificates in PEM`);
}

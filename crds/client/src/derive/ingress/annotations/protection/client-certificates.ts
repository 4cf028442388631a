/**
 * Annotations that require certificates of clients. In ingress-nginx they belong to a host: they apply to
 * the paths of all Ingresses with the host. If several Ingresses have them, those of the oldest Ingress are used.
 */
import { namespacedName } from "../../../../keys.ts";
import type { Resource } from "../../../../resource.ts";
import { entryOf } from "../../../../translate/secrets.ts";
import { type Annotations, annotationPath, annotationsOf } from "../annotations.ts";
import type { PluginEffect } from "../effects.ts";
import { type AnnotationLookups, namedObject } from "../lookups.ts";

/** What the annotations of an Ingress require for all requests of its hosts. */
export interface ClientCertificates {
  /** The Ingress with the annotations, as `namespace/name`. */
  readonly source: string;
  /** Undefined if all requests are answered with 503. */
  readonly plugin: PluginEffect | undefined;
  /** Why all requests are answered with 503; undefined: they are served. */
  readonly closed: string | undefined;
}

/** Whether an Ingress may require certificates of clients. */
export const requiresCertificates = (ingress: Resource): boolean =>
  annotationsOf(ingress).has("auth-tls-secret") &&
  annotationsOf(ingress).text("auth-tls-verify-client")?.toLowerCase() !== "off";

/** For an Ingress that requires certificates. */
export function clientCertificatesOf(ingress: Resource, read: AnnotationLookups["read"]): ClientCertificates {
  const annotations = annotationsOf(ingress);
  const { namespace, name } = ingress.metadata;
  const plugin = clientCertificateEffect(annotations, { namespace, read });
  const [fault] = annotations.faults;
  const source = namespacedName(namespace, name);
  const closed = fault && `${annotationPath(fault.name)} of the Ingress ${source}: ${fault.message}`;
  return { source, plugin: fault ? undefined : plugin, closed };
}

/** Reads the annotations of any Ingress, so that their faults are reported. */
export function checkClientCertificates(annotations: Annotations, lookups: Omit<AnnotationLookups, "scope">): void {
  clientCertificateEffect(annotations, lookups);
  const others = ["verify-client", "verify-depth", "match-cn", "error-page", "pass-certificate-to-upstream"];
  const [alone] = others.map((name) => `auth-tls-${name}`).filter((name) => annotations.text(name) !== undefined);
  if (alone !== undefined && annotations.text("auth-tls-secret") === undefined)
    annotations.reject(alone, "needs the annotation auth-tls-secret");
}

function clientCertificateEffect(annotations: Annotations, lookups: Omit<AnnotationLookups, "scope">): PluginEffect {
  const mode = annotations.word("auth-tls-verify-client", ["on", "off", "optional", "optional_no_ca"]) ?? "on";
  const depth = annotations.integer("auth-tls-verify-depth", { minimum: 0, maximum: 8 }) ?? 1;
  const pattern = annotations.text("auth-tls-match-cn");
  const passes = annotations.flag("auth-tls-pass-certificate-to-upstream") === true;
  const page = annotations.text("auth-tls-error-page");
  if (page?.includes("$")) annotations.reject("auth-tls-error-page", "variables of nginx are not supported");
  const secret = namedObject(annotations, { annotation: "auth-tls-secret", kind: "Secret" }, lookups);
  const authorities = secret && entryOf(secret, "ca.crt");
  if (secret && !authorities)
    annotations.reject("auth-tls-secret", `the Secret ${secret.metadata.name} needs an entry ca.crt with certificates`);
  if (secret && entryOf(secret, "ca.crl") !== undefined)
    annotations.reject("auth-tls-secret", `the Secret ${secret.metadata.name} has ca.crl; revocation is not supported`);
  return {
    plugin: "mtls-auth",
    config: {
      response_style: "nginx",
      trusted_certificates: authorities ?? null,
      verify_client: mode === "on" || mode === "off" ? "required" : mode,
      max_intermediates: depth,
      subject_pattern: pattern ?? null,
      error_page: page ?? null,
      pass_certificate: passes,
    },
    annotation: "auth-tls-secret",
  };
}

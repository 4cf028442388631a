/** The members of an Ingress that are read (networking.k8s.io/v1). */
import type { Resource } from "../../resource.ts";

export interface IngressBackend {
  readonly service?: { readonly name: string; readonly port?: { readonly number?: number; readonly name?: string } };
  readonly resource?: { readonly kind: string; readonly name: string };
}

export interface IngressPath {
  /** Starts with a slash. */
  readonly path: string;
  readonly pathType: "Exact" | "Prefix" | "ImplementationSpecific";
  readonly backend: IngressBackend;
}

export interface IngressRule {
  readonly host?: string;
  readonly http?: { readonly paths?: readonly (Omit<IngressPath, "path"> & { readonly path?: string })[] };
}

export interface IngressSpec {
  readonly ingressClassName?: string;
  readonly defaultBackend?: IngressBackend;
  readonly rules?: readonly IngressRule[];
  readonly tls?: readonly { readonly hosts?: readonly string[]; readonly secretName?: string }[];
}

/** A problem with a field of an Ingress. */
export interface IngressProblem {
  /** A word in CamelCase for programs. */
  readonly reason: string;
  /** Starts with the path of the field. */
  readonly message: string;
}

/** The API server has validated the spec; it allows a path to be empty. */
export const ingressSpecOf = ({ spec }: Resource): IngressSpec => (spec ?? {}) as IngressSpec;

/** The hosts of the rules; undefined: any host, as for an Ingress without rules. */
export function ingressHostsOf(ingress: Resource): ReadonlySet<string | undefined> {
  const { rules = [] } = ingressSpecOf(ingress);
  return new Set(rules.length === 0 ? [undefined] : rules.map(({ host }) => host));
}

/** `www.example.com` for `example.com`, and the other way round. */
export const wwwCounterpart = (host: string): string => (host.startsWith("www.") ? host.slice(4) : `www.${host}`);

/** Canaries: an Ingress that receives a part of the requests of another one (ingress-nginx, "Canary"). */
import { escapeRegex } from "@sluice/model";
import type { Resource } from "../../resource.ts";
import { type Annotations, annotationsOf } from "./annotations/annotations.ts";
import { type IngressBackend, type IngressPath, ingressSpecOf } from "./ingress-spec.ts";

export interface CanaryRules {
  /** The part of the requests: `weight` of `total`. */
  readonly weight: number;
  readonly total: number;
  /** Header values that send a request to the canary, or to the other Ingress; the first that holds decides. */
  readonly conditions: readonly CanaryCondition[];
}

export interface CanaryCondition {
  /** The `headers` of a Route. */
  readonly headers: Readonly<Record<string, readonly string[]>>;
  readonly isCanary: boolean;
}

export const isCanary = (ingress: Resource): boolean => annotationsOf(ingress).flag("canary") === true;

const MAX_TOTAL = 65_535;

/** Reads the annotations of a canary. */
export function canaryRulesOf(annotations: Annotations): CanaryRules {
  annotations.flag("canary");
  const total = annotations.integer("canary-weight-total", { minimum: 1, maximum: MAX_TOTAL }) ?? 100;
  const weight = annotations.integer("canary-weight", { minimum: 0, maximum: total }) ?? 0;
  return { weight, total, conditions: [...headerConditions(annotations), ...cookieConditions(annotations)] };
}

function headerConditions(annotations: Annotations): readonly CanaryCondition[] {
  const header = annotations.text("canary-by-header");
  const value = annotations.text("canary-by-header-value");
  const pattern = annotations.text("canary-by-header-pattern");
  if (header === undefined) return [];
  const of = (text: string) => ({ [header]: [text] });
  if (value !== undefined) return [{ headers: of(value), isCanary: true }];
  // Values of headers are compared in lower case.
  if (pattern !== undefined) return [{ headers: of(`~*(?i)${pattern}`), isCanary: true }];
  return [
    { headers: of("always"), isCanary: true },
    { headers: of("never"), isCanary: false },
  ];
}

function cookieConditions(annotations: Annotations): readonly CanaryCondition[] {
  const name = annotations.text("canary-by-cookie");
  if (name === undefined) return [];
  const of = (value: string) => ({
    Cookie: [`~*(?i)(^|;\\s*)${escapeRegex(name)}=${value}\\s*(;|$)`],
  });
  return [
    { headers: of("always"), isCanary: true },
    { headers: of("never"), isCanary: false },
  ];
}

export interface CanaryBackend {
  readonly ingress: Resource;
  readonly backend: IngressBackend;
  readonly rules: CanaryRules;
}

/** The canary for a path of a host: the oldest of the candidates that has the same path. */
export function canaryFor(
  { host, path, pathType }: Pick<IngressPath, "path" | "pathType"> & { readonly host: string | undefined },
  candidates: readonly Resource[],
): CanaryBackend | undefined {
  for (const ingress of candidates) {
    const backend = ingressSpecOf(ingress)
      .rules?.filter((rule) => rule.host === host)
      .flatMap(({ http }) => http?.paths ?? [])
      .find((one) => (one.path || "/") === path && (one.pathType === "Exact") === (pathType === "Exact"))?.backend;
    if (backend) return { ingress, backend, rules: canaryRulesOf(annotationsOf(ingress)) };
  }
  return undefined;
}

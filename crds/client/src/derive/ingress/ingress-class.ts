/** Decides which Ingresses belong to an installation. */
import { DEFAULT_CLASS } from "@sluice/model";
import type { Resource } from "../../resource.ts";
import { ingressSpecOf } from "./ingress-spec.ts";

/** Older than `spec.ingressClassName`, and still in many manifests. */
const CLASS_ANNOTATION = "kubernetes.io/ingress.class";
const DEFAULT_ANNOTATION = "ingressclass.kubernetes.io/is-default-class";

/** The `spec.controller` of an installation's IngressClasses. */
export const ingressController = (className: string): string =>
  className === DEFAULT_CLASS ? "sluice.dev/ingress-controller" : `sluice.dev/ingress-controller/${className}`;

/**
 * Returns whether an Ingress belongs to the installation with this class: the IngressClass that it names has the
 * installation's controller or, if no such IngressClass is known, has the name of the installation's class. An Ingress
 * without a class belongs to the installation if the default IngressClass does.
 *
 * @param ingressClasses All IngressClasses; empty if the operator may not read them.
 */
export function ownIngresses(className: string, ingressClasses: Iterable<Resource>): (ingress: Resource) => boolean {
  const controller = ingressController(className);
  const owned = new Map<string, boolean>();
  let ownsDefault = false;
  for (const { metadata, spec } of ingressClasses) {
    const isOwn = spec?.controller === controller;
    owned.set(metadata.name, isOwn);
    if (isOwn && metadata.annotations?.[DEFAULT_ANNOTATION] === "true") ownsDefault = true;
  }
  return (ingress) => {
    const named = ingress.metadata.annotations?.[CLASS_ANNOTATION] ?? ingressSpecOf(ingress).ingressClassName;
    return named === undefined || named === "" ? ownsDefault : (owned.get(named) ?? named === className);
  };
}

/** Decides which Ingresses belong to an installation. */
import { ingressController } from "@sluice/model";
import type { Resource } from "../../resource.ts";
import { ingressSpecOf } from "./ingress-spec.ts";

/** Older than `spec.ingressClassName`, and still in many manifests. */
const CLASS_ANNOTATION = "kubernetes.io/ingress.class";
const DEFAULT_ANNOTATION = "ingressclass.kubernetes.io/is-default-class";

export interface IngressOwnership {
  readonly class: string;
  /** Further values of `spec.controller`: the installation also serves the Ingresses of these controllers. */
  readonly controllers: readonly string[];
  /** All IngressClasses; empty if the operator may not read them. */
  readonly ingressClasses: Iterable<Resource>;
}

/**
 * Returns whether an Ingress belongs to the installation with this class: the IngressClass that it names has one of the
 * controllers of the installation or, if no such IngressClass is known, has the name of the installation's class. An
 * Ingress without a class belongs to the installation if the default IngressClass does.
 */
export function ownIngresses(ownership: IngressOwnership): (ingress: Resource) => boolean {
  const controllers: readonly unknown[] = [ingressController(ownership.class), ...ownership.controllers];
  const owned = new Map<string, boolean>();
  let ownsDefault = false;
  for (const { metadata, spec } of ownership.ingressClasses) {
    const isOwn = controllers.includes(spec?.controller);
    owned.set(metadata.name, isOwn);
    if (isOwn && metadata.annotations?.[DEFAULT_ANNOTATION] === "true") ownsDefault = true;
  }
  return (ingress) => {
    const named = ingress.metadata.annotations?.[CLASS_ANNOTATION] ?? ingressSpecOf(ingress).ingressClassName;
    return named === undefined || named === "" ? ownsDefault : (owned.get(named) ?? named === ownership.class);
  };
}

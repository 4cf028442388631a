/** Compares the annotations of the objects with the table, so that none is dropped without a word. */
import type { ManifestObject } from "@sluice/crds";
import { kongAnnotationOf } from "./annotation-table.ts";
import { annotationField, type Conversion } from "./conversion.ts";
import { annotationsAt, type KongKind, type KongObjects, kongKindNames, kongKinds } from "./objects.ts";

const OF_KONG = /^(konghq\.com|ingress\.kubernetes\.io)\//;

/** The annotations of Kong's controller at an object. */
export const kongAnnotationsAt = (object: ManifestObject): readonly string[] =>
  Object.keys(annotationsAt(object)).filter((name) => OF_KONG.test(name));

export function auditAnnotations(conversion: Conversion): void {
  for (const object of conversion.objects) {
    if (isGatewayRoute(object)) continue;
    for (const name of kongAnnotationsAt(object)) {
      const field = { object, path: annotationField(name) };
      const facts = kongAnnotationOf(name);
      if (facts === undefined) conversion.remark(field, "is unknown to Kong's controller 3.x and has no effect");
      else if (!facts.on.includes(object.kind))
        conversion.remark(field, `has no effect at this kind, but only at ${facts.on.join(", ")}`);
      else if (facts.absent !== undefined) conversion.omit(field, facts.absent);
      else if (facts.differs !== undefined) conversion.remark(field, facts.differs);
    }
  }
}

/** Routes of the Gateway API, whose annotations are reported as a whole. */
const isGatewayRoute = ({ kind }: ManifestObject): boolean => kind === "HTTPRoute" || kind === "GRPCRoute";

/** Annotations by which other controllers serve an Ingress, with what to do for Routes. */
const foreign = [
  [
    /^(acme\.)?cert-manager\.io\//,
    "cert-manager does not read Routes: create a Certificate of cert-manager for each Secret of spec.tls before the Ingress is deleted",
  ],
  [
    /^external-dns\.alpha\.kubernetes\.io\//,
    "external-dns does not read Routes: set the DNS name at the Service of the gateway",
  ],
] as const;

/** Adds remarks on the annotations of other controllers at an Ingress that becomes Routes. */
export function auditForeignAnnotations(ingress: ManifestObject, conversion: Conversion): void {
  for (const name of Object.keys(annotationsAt(ingress))) {
    const advice = foreign.find(([pattern]) => pattern.test(name))?.[1];
    if (advice !== undefined) conversion.remark({ object: ingress, path: annotationField(name) }, advice);
  }
}

/** Reports the objects of kinds that are not converted. */
export function omitUnsupported(objects: KongObjects, conversion: Conversion): void {
  for (const kind of kongKindNames) {
    const facts: KongKind = kongKinds[kind];
    if (facts.unsupported === undefined) continue;
    for (const object of objects.all(kind)) {
      conversion.objects.add(object);
      conversion.omit({ object, path: [] }, facts.unsupported);
    }
  }
  for (const object of [...objects.all("HTTPRoute"), ...objects.all("GRPCRoute")]) {
    if (kongAnnotationsAt(object).length === 0) continue;
    conversion.objects.add(object);
    for (const name of kongAnnotationsAt(object)) {
      const message =
        name === "konghq.com/plugins"
          ? "not converted: add a filter of the type ExtensionRef to each rule, with the group sluice.dev, the kind Plugin and the name of a Plugin"
          : "not converted: use a filter or a field of the Gateway API, or write an Ingress and convert again";
      const consequence = "not written; name a Gateway of Sluice in parentRefs only after this change";
      conversion.omit({ object, path: annotationField(name) }, message, consequence);
    }
  }
}

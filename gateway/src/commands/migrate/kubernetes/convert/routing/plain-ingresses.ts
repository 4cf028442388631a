/**
 * Ingresses that Sluice serves as Kong does without a change of their rules. These stay Ingresses, because other
 * controllers, such as cert-manager and external-dns, read them.
 */
import type { ManifestObject, Resource } from "@sluice/crds";
import { annotationField, type Conversion } from "../conversion.ts";
import { annotationsAt, type KongObjects, namespaceOf, nonEmptyText, recordOf } from "../objects.ts";
import { writableMetadata } from "../writable-metadata.ts";
import { ingressPathsOf } from "./ingress-paths.ts";
import { hostsOf } from "./ingresses.ts";
import { hasKongAnnotations } from "./services.ts";

/**
 * The Ingresses that stay. All Ingresses of a host are converted if one of them is: Sluice tries the paths of an Ingress
 * before the Routes of its host, so that a path `/` of an Ingress would take the requests of all Routes.
 */
export function plainIngresses(
  ingresses: readonly ManifestObject[],
  objects: KongObjects,
): ReadonlySet<ManifestObject> {
  const plain = new Set(ingresses.filter((ingress) => isPlain(ingress, objects)));
  for (let size = -1; size !== plain.size; ) {
    size = plain.size;
    const converted = new Set(ingresses.filter((ingress) => !plain.has(ingress)).flatMap(hostsOf));
    for (const ingress of plain) if (hostsOf(ingress).some((host) => converted.has(host))) plain.delete(ingress);
  }
  return plain;
}

/** Without characters that have a meaning in the regular expressions that Kong makes of exact paths. */
const LITERAL = /^[A-Za-z0-9/_-]*$/;

function isPlain(ingress: ManifestObject, objects: KongObjects): boolean {
  if (hasKongAnnotations(ingress) || recordOf(ingress.spec).defaultBackend !== undefined) return false;
  return ingressPathsOf(recordOf(ingress.spec)).every(({ host, path, pathType, backend }) => {
    const { name, port } = recordOf(backend.service);
    const service = objects.find("CoreService", namespaceOf(ingress), String(name));
    // Both read the name of a port, but only Kong also accepts that of a target port.
    const isKnown = service && !hasKongAnnotations(service) && recordOf(service.spec).type !== "ExternalName";
    const isNumbered = recordOf(port).number !== undefined;
    const isSame = path === "/" || (pathType !== "ImplementationSpecific" && LITERAL.test(path));
    return isKnown === true && isNumbered && isSame && !host?.includes("*");
  });
}

const CLASS_ANNOTATION = "kubernetes.io/ingress.class";

const NGINX = "nginx.ingress.kubernetes.io/";

/** Writes the Ingress with Sluice's class. */
export function keepIngress(ingress: ManifestObject, conversion: Conversion, className: string): void {
  const { [CLASS_ANNOTATION]: _, ...given } = annotationsAt(ingress);
  const ofNginx = Object.keys(given).filter((annotation) => annotation.startsWith(NGINX));
  for (const annotation of ofNginx)
    conversion.remark(
      { object: ingress, path: annotationField(annotation) },
      "would have an effect in Sluice, but has none in Kong: left out",
    );
  const annotations = Object.fromEntries(Object.entries(given).filter(([annotation]) => !ofNginx.includes(annotation)));
  const { name } = ingress.metadata;
  const hasTls = recordOf(ingress.spec).tls !== undefined;
  // Sluice redirects http to https for hosts with TLS, and Kong does not.
  const written = { ...annotations, ...(hasTls && { [`${NGINX}ssl-redirect`]: "false" }) };
  const resource: Resource = {
    apiVersion: ingress.apiVersion,
    kind: "Ingress",
    metadata: { ...writableMetadata(ingress), name, namespace: namespaceOf(ingress), annotations: written },
    spec: { ...recordOf(ingress.spec), ingressClassName: className },
  };
  conversion.addResource(resource, ingress);
}

/** Whether Kong's controller reads an Ingress: by its annotation, or else its field, or else as the default class. */
export function isOfClass(ingress: ManifestObject, className: string, isDefaultClass: boolean): boolean {
  const annotation = nonEmptyText(annotationsAt(ingress)[CLASS_ANNOTATION]);
  const field = nonEmptyText(recordOf(ingress.spec).ingressClassName);
  return (annotation ?? field ?? (isDefaultClass ? className : "")) === className;
}

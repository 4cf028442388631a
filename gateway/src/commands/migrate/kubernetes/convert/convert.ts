/** Converts the objects of Kong's ingress controller to entities of Kong and to resources. Pure. */
import type { ManifestObject } from "@sluice/crds";
import { PluginConverter, pluginReferenceGrant } from "./attachments.ts";
import { auditAnnotations, auditForeignAnnotations, omitUnsupported } from "./audit.ts";
import { convertAuthorities, convertConsumers, convertVaults } from "./consumers.ts";
import { Conversion } from "./conversion.ts";
import { annotationsAt, KongObjects, recordOf } from "./objects.ts";
import { CertificateConverter } from "./routing/certificates.ts";
import { convertIngress } from "./routing/ingresses.ts";
import { isOfClass, keepIngress, plainIngresses } from "./routing/plain-ingresses.ts";
import { ServiceConverter } from "./routing/services.ts";

export interface ConvertOptions {
  /** The class of Kong's controller. */
  readonly ingressClass: string;
  /** The class of the installation of Sluice. */
  readonly class: string;
  readonly homeNamespace: string;
}

export function convertObjects(given: readonly ManifestObject[], options: ConvertOptions): Conversion {
  const objects = new KongObjects(given);
  const conversion = new Conversion(options.homeNamespace);
  const isDefaultClass = objects
    .all("IngressClass")
    .some(
      (object) =>
        object.metadata.name === options.ingressClass &&
        annotationsAt(object)["ingressclass.kubernetes.io/is-default-class"] === "true",
    );
  const isOwn = (object: ManifestObject) => {
    const given = annotationsAt(object)["kubernetes.io/ingress.class"] ?? (isDefaultClass ? options.ingressClass : "");
    return given === options.ingressClass;
  };
  const parameters = objects.all("IngressClassParameters").map((object) => recordOf(object.spec));
  const plugins = new PluginConverter(objects, conversion);
  const certificates = new CertificateConverter(conversion);
  const services = new ServiceConverter(objects, conversion, {
    toClusterAddress: parameters.some(({ serviceUpstream }) => serviceUpstream === true),
    useCertificate: (...secret) => certificates.certificateNameFor(...secret),
  });
  const attach: PluginConverter["attach"] = (target) => plugins.attach(target);

  convertAuthorities({ objects, conversion });
  convertConsumers({ objects, conversion, attach, isOwn });
  convertVaults({ objects, conversion, attach, isOwn });

  const ingresses = objects
    .all("Ingress")
    .filter((ingress) => isOfClass(ingress, options.ingressClass, isDefaultClass));
  const plain = plainIngresses(ingresses, objects);
  const withDefault = ingresses.find((ingress) => recordOf(ingress.spec).defaultBackend !== undefined);
  for (const ingress of ingresses) {
    conversion.objects.add(ingress);
    if (plain.has(ingress)) {
      keepIngress(ingress, conversion, options.class);
      continue;
    }
    certificates.addIngress(ingress);
    auditForeignAnnotations(ingress, conversion);
    const hasDefaultBackend = ingress === withDefault;
    if (!hasDefaultBackend && recordOf(ingress.spec).defaultBackend !== undefined)
      conversion.remark(
        { object: ingress, path: ["spec", "defaultBackend"] },
        "an older Ingress has the default backend; ignored, as by Kong",
      );
    const legacyRegexes = parameters.some(({ enableLegacyRegexDetection }) => enableLegacyRegexDetection === true);
    convertIngress(ingress, { conversion, services, attach, legacyRegexes, hasDefaultBackend });
  }
  services.attachPlugins(attach);
  plugins.addPlugins(isOwn);
  certificates.addCertificates(options.class === "sluice" ? undefined : options.class);
  grantCredentials(conversion);
  omitUnsupported(objects, conversion);
  auditAnnotations(conversion);
  return conversion;
}

/**
 * In Kong, the credentials of a consumer open the routes of all namespaces. In Sluice, those of another namespace need
 * a ReferenceGrant, except those of the home namespace.
 */
function grantCredentials(conversion: Conversion): void {
  const of = (collection: string) => conversion.entities.filter((entity) => entity.collection === collection);
  const namespacesOf = (collection: string) =>
    new Set(of(collection).map(({ placement }) => placement?.namespace ?? ""));
  const plugins = of("plugins");
  const isGlobal = plugins.some(
    ({ members }) => !["route", "service", "consumer", "consumer_group"].some((name) => name in members),
  );
  const protectedNamespaces = new Set(plugins.map(({ placement }) => placement?.namespace));
  for (const consumers of namespacesOf("consumers")) {
    for (const routes of namespacesOf("routes")) {
      if (consumers === routes || consumers === conversion.homeNamespace) continue;
      if (!isGlobal && !protectedNamespaces.has(routes)) continue;
      const consumer = of("consumers").find(({ placement }) => placement?.namespace === consumers);
      if (!consumer) continue;
      const metadata = { name: `consumers-of-${consumers}`, namespace: routes };
      conversion.addResource(
        pluginReferenceGrant(metadata, { kind: "Consumer", namespace: consumers }, "Route"),
        consumer.object,
      );
      const message = `Sluice accepts credentials of another namespace only with a ReferenceGrant: one is written for the Routes in ${routes}; delete it to separate the namespaces`;
      conversion.remark({ object: consumer.object, path: ["metadata", "namespace"] }, message);
    }
  }
}

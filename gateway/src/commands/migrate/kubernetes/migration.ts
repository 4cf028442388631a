/** From the objects of Kong's ingress controller to a report and resources. Pure. */
import type { Resource } from "@sluice/crds";
import { servablePart } from "@sluice/model";
import { withUnknownNames } from "../closed-plugins.ts";
import { type ConvertOptions, convertObjects } from "./convert/convert.ts";
import type { ReadObjects } from "./read-files.ts";
import { type KubernetesReport, kubernetesReport } from "./report.ts";
import { convertedResources } from "./to-resources.ts";

export interface KubernetesMigration {
  readonly report: KubernetesReport;
  /** Together they serve what Kong serves, or answer 503. */
  readonly resources: readonly Resource[];
}

/** @param name The source of the objects, for the report. @throws CommandError if a resource cannot express an entity. */
export function migrateObjects(
  name: string,
  { objects, placeOf }: ReadObjects,
  options: ConvertOptions,
): KubernetesMigration {
  const conversion = convertObjects(objects, options);
  const part = servablePart(conversion.document());
  const ofClass = options.class === "sluice" ? undefined : options.class;
  return {
    report: kubernetesReport(name, { conversion, part, placeOf }),
    resources: convertedResources(conversion, withUnknownNames(part), { class: ofClass }),
  };
}

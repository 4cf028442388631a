/** Translation and validation combined: a resource's valid entities and its violations. */
import { checkEntity, type Entity, type Violation } from "@sluice/model";
import type { Resource } from "../resource.ts";
import { toEntities } from "./to-entities/to-entities.ts";
import type { TranslatedEntity, TranslateOptions } from "./translation.ts";
import { resourceViolations } from "./violation-paths.ts";

export interface CheckedTranslation extends TranslatedEntity {
  /** The entity with defaults (and `_sluice` for nodes); undefined when there is any violation. */
  readonly entity?: Entity;
}

/** Like `toEntities`, with every item validated. Violations have paths in the resource. */
export function translate(resource: Resource, options: TranslateOptions): readonly CheckedTranslation[] {
  return toEntities(resource, options).map((translated) => {
    const checked = checkEntity(translated.collection, translated.item);
    const faults = (checked.violations ?? []).map((violation) => withoutSecret(violation, translated.secretPaths));
    const violations = [...translated.violations, ...resourceViolations(translated, faults)];
    return { ...translated, violations, ...(violations.length === 0 && checked.value && { entity: checked.value }) };
  });
}

/** Violations quote the invalid value, and conditions, Events and logs have more readers than Secrets. */
function withoutSecret({ path, message }: Violation, secretPaths: TranslatedEntity["secretPaths"] = []): Violation {
  const secret = secretPaths.some((own) => own.every((step, index) => step === path[index]));
  return { path, message: secret ? "the value in the Secret is invalid" : message };
}

/** Translation and validation combined: a resource's valid entities and its violations. */
import { camelPath, checkWithHidden, type Entity, type Violation } from "@sluice/model";
import { locateAtSource } from "../derive/derived-resource.ts";
import type { Resource } from "../resource.ts";
import { toEntities } from "./to-entities/to-entities.ts";
import type { Path, ResourceViolation, TranslatedEntity, TranslateOptions } from "./translation.ts";

export interface CheckedTranslation extends TranslatedEntity {
  /** The entity with defaults (and `_sluice` for nodes); undefined when there is a violation that is not partial. */
  readonly entity?: Entity;
}

/** Like `toEntities`, with every item validated. Violations have paths in the resource. */
export function translateToEntities(resource: Resource, options: TranslateOptions): readonly CheckedTranslation[] {
  return toEntities(resource, options).map((translated) => {
    const { collection, item, hiddenPaths: hidden = [] } = translated;
    const checked = checkWithHidden(collection, item, { hidden });
    const faults = (checked.violations ?? []).map((violation) => withoutSecret(violation, translated.secretPaths));
    const violations = [...translated.violations, ...resourceViolations(translated, faults)].map((violation) =>
      locateAtSource(resource, violation),
    );
    const isServed = violations.every(({ isPartial }) => isPartial);
    return { ...translated, violations, ...(isServed && checked.value && { entity: checked.value }) };
  });
}

/**
 * Violations quote invalid values. Values from Secrets are hidden, because conditions, Events and logs have more
 * readers than Secrets.
 */
function withoutSecret({ path, message }: Violation, secretPaths: TranslatedEntity["secretPaths"] = []): Violation {
  const secret = secretPaths.some((own) => own.every((step, index) => step === path[index]));
  return { path, message: secret ? "the value in the Secret is invalid" : message };
}

/**
 * `["read_timeout"]` of a service -> `["spec", "readTimeout"]`. A violation of the whole entity maps to its base path.
 */
function resourcePath(
  { collection, sourcePaths, basePath }: Pick<TranslatedEntity, "collection" | "sourcePaths" | "basePath">,
  path: Path,
): Path {
  const [head] = path;
  if (head === undefined || path.at(-1) === "@entity") return basePath;
  if (typeof head === "string" && Object.hasOwn(sourcePaths, head)) return sourcePaths[head] ?? basePath;
  return [...basePath, ...camelPath(collection, path)];
}

/**
 * The model's violations of an item as violations of its resource. Violations at, above or below a path that
 * translation has already reported are dropped.
 */
export function resourceViolations(
  translated: TranslatedEntity,
  violations: readonly Violation[],
): readonly ResourceViolation[] {
  const said = translated.violations.map(({ path }) => path);
  return violations
    .map(({ path, message }) => ({ path: resourcePath(translated, path), message }))
    .filter(({ path }) => !said.some((other) => startsWith(other, path) || startsWith(path, other)))
    .map((violation) => ({ ...violation, condition: "Accepted", reason: "Invalid" }));
}

/** Never true for a start of one step: a violation of the whole spec must not suppress all others. */
const startsWith = (path: Path, start: Path): boolean =>
  start.length > 1 && start.every((step, index) => step === path[index]);

/** `["spec", "keyAuth", 0, "ttl"]` -> `spec.keyAuth[0].ttl`. */
export const formatPath = (path: Path): string =>
  path.map((step, index) => (typeof step === "number" ? `[${step}]` : index === 0 ? step : `.${step}`)).join("");

/** The violation as a sentence: `spec.keyAuth[0].ttl: expected an integer`. */
export const describeResourceViolation = ({ path, message }: Violation): string => `${formatPath(path)}: ${message}`;

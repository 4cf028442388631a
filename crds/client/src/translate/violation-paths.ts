/** Maps violations of an entity to positions in the resource. */
import { camelPath, type Violation } from "@sluice/model";
import type { Path, ResourceViolation, TranslatedEntity } from "./translation.ts";

/**
 * `["read_timeout"]` of a service -> `["spec", "readTimeout"]`. A violation of the whole entity maps to its base path.
 */
export function resourcePath(
  { collection, sourcePaths, basePath }: Pick<TranslatedEntity, "collection" | "sourcePaths" | "basePath">,
  path: Path,
): Path {
  const [head] = path;
  if (head === undefined || path.at(-1) === "@entity") return basePath;
  if (typeof head === "string" && Object.hasOwn(sourcePaths, head)) return sourcePaths[head] ?? basePath;
  return [...basePath, ...camelPath(collection, path)];
}

/**
 * The model's violations of an item as violations of its resource. Those at, above or below a path that translation has
 * already reported are dropped.
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

/** A violation of the whole spec would otherwise cover all others. */
const startsWith = (path: Path, start: Path): boolean =>
  start.length > 1 && start.every((step, index) => step === path[index]);

/** `["spec", "keyAuth", 0, "ttl"]` -> `spec.keyAuth[0].ttl`. */
export const formatPath = (path: Path): string =>
  path.map((step, index) => (typeof step === "number" ? `[${step}]` : index === 0 ? step : `.${step}`)).join("");

/** The violation as a sentence: `spec.keyAuth[0].ttl: expected an integer`. */
export const describeResourceViolation = ({ path, message }: Violation): string => `${formatPath(path)}: ${message}`;

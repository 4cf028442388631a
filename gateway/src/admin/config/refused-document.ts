/** The error for an invalid document, and the options of the requests that send one. */
import { declarativeViolation, type Violation } from "@sluice/model";
import type { AdminSettings } from "../../settings/commands/admin.ts";
import type { AdminContext } from "../context.ts";
import { HttpError } from "../http/errors.ts";
import { flattenErrors } from "./flatten-errors.ts";

export interface ConfigOptions extends Pick<AdminContext, "store" | "warnings" | "planOf"> {
  readonly settings: Pick<AdminSettings, "store">;
  /** Milliseconds after which a load is answered with 504. Default 30,000: Kong's clients give up after 60 s. */
  readonly timeout?: number;
}

export function refusedDocument(violations: readonly Violation[], data: unknown, flatten: boolean): HttpError {
  if (!flatten) return new HttpError(400, { ...declarativeViolation(violations) });
  const { flattened_errors, rest } = flattenErrors(data, violations);
  return new HttpError(400, { ...declarativeViolation(rest), flattened_errors });
}

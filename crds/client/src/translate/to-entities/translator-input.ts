/** A resource taken apart, before its kind's own part makes entities of it. */
import type { SpecMembers } from "@sluice/model";
import type { Resource } from "../../resource.ts";
import type { Identity } from "../identity.ts";
import type { ResourceViolation } from "../translation.ts";

/** What every kind's own part starts from. */
export interface TranslatorInput extends SpecMembers {
  readonly resource: Resource;
  readonly namespace: string;
  readonly identity: Identity;
  /** `created_at` and `updated_at`, as far as the resource tells. */
  readonly times: { readonly created_at?: number; readonly updated_at?: number };
  readonly violations: readonly ResourceViolation[];
}

/** A fault in what the resource itself says. */
export const invalidField = (path: ResourceViolation["path"], message: string): ResourceViolation => ({
  path,
  message,
  condition: "Accepted",
  reason: "Invalid",
});

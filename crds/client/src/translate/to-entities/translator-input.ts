/** A parsed resource, the input of each kind's translator. */
import type { SpecMembers } from "@sluice/model";
import type { Resource } from "../../resource.ts";
import type { Identity } from "../identity.ts";
import type { ResourceViolation } from "../translation.ts";

/** The input of every kind's translator. */
export interface TranslatorInput extends SpecMembers {
  readonly resource: Resource;
  readonly namespace: string;
  readonly identity: Identity;
  /** `created_at` and `updated_at`, as far as the resource has them. */
  readonly times: { readonly created_at?: number; readonly updated_at?: number };
  readonly violations: readonly ResourceViolation[];
}

/** A violation in the resource's own fields. */
export const invalidField = (path: ResourceViolation["path"], message: string): ResourceViolation => ({
  path,
  message,
  condition: "Accepted",
  reason: "Invalid",
});

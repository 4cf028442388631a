/** Start-up settings of all commands that write to a store which keeps revisions. */
import { defineSettings, type SettingsOf } from "@sluice/model/serving";

export const revisionSettings = defineSettings({
  revisions: {
    variable: "SLUICE_REVISIONS",
    kind: "integer",
    default: 100,
    minimum: 1,
    maximum: 10_000,
    description:
      "Maximum number of revisions that a database or a declarative file keeps, for GET /revisions and rollbacks. " +
      "All commands that write to one database need the same value. With custom resources, the operator's setting of " +
      "the same name applies.",
  },
  revisionsAge: {
    variable: "SLUICE_REVISIONS_AGE",
    kind: "duration",
    default: 90 * 24 * 60 * 60 * 1000,
    description: "Revisions older than this are deleted when the next one is recorded. The newest one is always kept.",
  },
});

export type RevisionSettings = SettingsOf<typeof revisionSettings>;

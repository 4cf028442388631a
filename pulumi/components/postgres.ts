import type { ComponentResourceOptions } from "@pulumi/pulumi";
import { createOnce } from "../objects/create.ts";
import type { Release } from "../objects/names.ts";
import { postgresObjects } from "../objects/parts/databases.ts";
import { randomText, secretObject } from "../objects/secrets.ts";
import { guardsOf, SluiceComponent } from "./component.ts";

/** A single-pod Postgres server for the user API, for trials. */
export class PostgresComponent extends SluiceComponent {
  constructor(name: string, release: Release, options?: ComponentResourceOptions) {
    super("Database", name, options);
    createOnce(secretObject(release, { component: "postgres", entries: { password: randomText() } }), {
      parent: this,
      // The volume is retained too, and its data requires this password.
      retainOnDelete: release.values.postgres.persistence.enabled,
    });
    this.create([...guardsOf(release, "postgres"), ...postgresObjects(release)]);
    this.registerOutputs();
  }
}

import type { ComponentResourceOptions, Output } from "@pulumi/pulumi";
import { adminObjects } from "../objects/admin.ts";
import type { Release } from "../objects/names.ts";
import { randomText, secretOf } from "../objects/secrets.ts";
import { keptEntry } from "./kept-entry.ts";
import { guardsOf, Part } from "./part.ts";

/** The admin API on the custom resources, with its rights. */
export class AdminListener extends Part {
  /** Where it is reached within the cluster. */
  readonly address: string;
  /** What opens it, unless a Secret of another making does. */
  readonly token?: Output<string>;

  constructor(name: string, release: Release, options?: ComponentResourceOptions) {
    super("AdminListener", name, options);
    const { existingSecret, port } = release.values.admin;
    if (existingSecret === "") {
      this.token = keptEntry(secretOf(release, { component: "admin", entries: { token: randomText() } }), "token", {
        parent: this,
      });
    }
    this.create([...guardsOf(release, "admin"), ...adminObjects(release)]);
    this.address = `http://${release.name}-admin.${release.namespace}.svc:${port}`;
    this.registerOutputs({ address: this.address, token: this.token });
  }
}

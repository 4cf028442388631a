import type { ComponentResourceOptions, Output } from "@pulumi/pulumi";
import type { Release } from "../objects/names.ts";
import { adminObjects } from "../objects/parts/admin.ts";
import { randomText, secretObject } from "../objects/secrets.ts";
import { guardsOf, SluiceComponent } from "./component.ts";
import { keptEntry } from "./generated-secret.ts";

/** The admin API on the custom resources, with its RBAC objects. */
export class AdminComponent extends SluiceComponent {
  /** Its address within the cluster. */
  readonly address: string;
  /** The admin token, unless an existing Secret has it. */
  readonly token?: Output<string>;

  constructor(name: string, release: Release, options?: ComponentResourceOptions) {
    super("AdminListener", name, options);
    const { existingSecret, port } = release.values.admin;
    if (existingSecret === "") {
      this.token = keptEntry(secretObject(release, { component: "admin", entries: { token: randomText() } }), "token", {
        parent: this,
      });
    }
    this.create([...guardsOf(release, "admin"), ...adminObjects(release)]);
    this.address = `http://${release.name}-admin.${release.namespace}.svc:${port}`;
    this.registerOutputs({ address: this.address, token: this.token });
  }
}

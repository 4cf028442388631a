import type { ComponentResourceOptions } from "@pulumi/pulumi";
import { createObject } from "../objects/create.ts";
import { monitoringObjects } from "../objects/monitoring.ts";
import type { Release } from "../objects/names.ts";
import { gatewayObjects } from "../objects/parts/gateway.ts";
import { guardsOf, SluiceComponent } from "./component.ts";

/** The nodes, which serve clients' requests. */
export class GatewayComponent extends SluiceComponent {
  /** The address for clients within the cluster. */
  readonly address: string;

  constructor(name: string, release: Release, options?: ComponentResourceOptions) {
    super("Gateway", name, options);
    const { autoscaling, service } = release.values.gateway;
    this.create([...guardsOf(release, "gateway"), ...monitoringObjects(release, "gateway")]);
    for (const object of gatewayObjects(release)) {
      // The autoscaler sets the number of replicas.
      const ignoreChanges = autoscaling.enabled && object.kind === "Deployment" ? ["spec.replicas"] : [];
      createObject(object, { parent: this, ignoreChanges });
    }
    this.address = `http://${release.name}-gateway.${release.namespace}.svc:${service.port}`;
    this.registerOutputs({ address: this.address });
  }
}

/** The components of all parts except the user API (user-api.ts). */
import type { ComponentResourceOptions, Output } from "@pulumi/pulumi";
import { createOnce, createPulumiObject } from "../objects/create.ts";
import { monitoringObjects } from "../objects/monitoring.ts";
import type { Release } from "../objects/names.ts";
import { adminObjects } from "../objects/parts/admin.ts";
import { postgresObjects, redisObjects } from "../objects/parts/databases.ts";
import { gatewayObjects } from "../objects/parts/gateway.ts";
import { operatorObjects, privateNamespaceObjects } from "../objects/parts/operator.ts";
import { keptEntry, randomText, secretObject } from "../objects/secrets.ts";
import { protectionObjectsOf, SluiceComponent } from "./component.ts";

/** The operator, which pushes documents made from custom resources to the nodes, with its RBAC objects and webhook. */
export class OperatorComponent extends SluiceComponent {
  constructor(name: string, release: Release, options?: ComponentResourceOptions) {
    super("Operator", name, options);
    const dependsOn = [...this.create(privateNamespaceObjects(release))];
    const { operator, admin } = release.values;
    if (admin.enabled && operator.existingSecret === "")
      createOnce(secretObject(release, { component: "operator", entries: { token: randomText() } }), { parent: this });
    this.create(
      [
        ...protectionObjectsOf(release, "operator"),
        ...monitoringObjects(release, "operator"),
        ...operatorObjects(release),
      ],
      { dependsOn },
    );
    this.registerOutputs();
  }
}

/** The nodes, which serve clients' requests. */
export class GatewayComponent extends SluiceComponent {
  /** The address for clients within the cluster. */
  readonly address: string;

  constructor(name: string, release: Release, options?: ComponentResourceOptions) {
    super("Gateway", name, options);
    const { autoscaling, service } = release.values.gateway;
    this.create([...protectionObjectsOf(release, "gateway"), ...monitoringObjects(release, "gateway")]);
    for (const object of gatewayObjects(release)) {
      // The autoscaler sets the number of replicas.
      const ignoreChanges = autoscaling.enabled && object.kind === "Deployment" ? ["spec.replicas"] : [];
      createPulumiObject(object, { parent: this, ignoreChanges });
    }
    this.address = `http://${release.name}-gateway.${release.namespace}.svc:${service.port}`;
    this.registerOutputs({ address: this.address });
  }
}

/** The admin API on the custom resources, with its RBAC objects. */
export class AdminComponent extends SluiceComponent {
  /** The admin API's address within the cluster. */
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
    this.create([...protectionObjectsOf(release, "admin"), ...adminObjects(release)]);
    this.address = `http://${release.name}-admin.${release.namespace}.svc:${port}`;
    this.registerOutputs({ address: this.address, token: this.token });
  }
}

/** A single-pod Postgres server for the user API, for trials. */
export class PostgresComponent extends SluiceComponent {
  constructor(name: string, release: Release, options?: ComponentResourceOptions) {
    super("Database", name, options);
    createOnce(secretObject(release, { component: "postgres", entries: { password: randomText() } }), {
      parent: this,
      // The volume is retained too, and its data requires this password.
      retainOnDelete: release.values.postgres.persistence.enabled,
    });
    this.create([...protectionObjectsOf(release, "postgres"), ...postgresObjects(release)]);
    this.registerOutputs();
  }
}

/** A single-pod Redis server for trials, for the counters that nodes share and the events of the user API. */
export class RedisComponent extends SluiceComponent {
  constructor(name: string, release: Release, options?: ComponentResourceOptions) {
    super("Redis", name, options);
    if (release.values.redis.existingSecret === "") {
      const entries = { password: randomText() };
      createOnce(secretObject(release, { component: "redis", credential: "redis", entries }), { parent: this });
    }
    this.create([...protectionObjectsOf(release, "redis"), ...redisObjects(release)]);
    this.registerOutputs();
  }
}

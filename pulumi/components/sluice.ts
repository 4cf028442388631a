import { ComponentResource, type ComponentResourceOptions, type Input } from "@pulumi/pulumi";
import type { Release } from "../objects/names.ts";
import { AdminListener } from "./admin-listener.ts";
import { Database } from "./database.ts";
import { Gateway } from "./gateway.ts";
import { Operator } from "./operator.ts";
import { Redis } from "./redis.ts";
import { UserApi } from "./user-api.ts";

export interface SluiceOptions extends ComponentResourceOptions {
  /** API key of the user API's first consumer. Unset: one is generated. */
  readonly consumerKey?: Input<string>;
}

/** A whole Sluice: the same objects as a release of the chart with the same name, namespace and values. */
export class Sluice extends ComponentResource {
  readonly gateway: Gateway;
  readonly operator: Operator;
  readonly admin?: AdminListener;
  readonly userApi?: UserApi;
  readonly database?: Database;
  readonly redis?: Redis;

  constructor(release: Release, options: SluiceOptions = {}) {
    const { consumerKey, ...others } = options;
    const { name, values } = release;
    super("sluice:index:Sluice", name, {}, others);
    const parent = { parent: this };
    if (values.postgres.enabled) this.database = new Database(`${name}-postgres`, release, parent);
    if (values.redis.enabled) this.redis = new Redis(`${name}-redis`, release, parent);
    this.operator = new Operator(`${name}-operator`, release, parent);
    this.gateway = new Gateway(`${name}-gateway`, release, parent);
    if (values.admin.enabled) this.admin = new AdminListener(`${name}-admin`, release, parent);
    if (values.userApi.enabled) {
      this.userApi = new UserApi(`${name}-user-api`, release, {
        ...parent,
        ...(consumerKey === undefined ? {} : { key: consumerKey }),
      });
    }
    this.registerOutputs({ address: this.gateway.address });
  }
}

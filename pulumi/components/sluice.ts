import { ComponentResource, type ComponentResourceOptions, type Input } from "@pulumi/pulumi";
import type { Release } from "../objects/names.ts";
import { AdminComponent, GatewayComponent, OperatorComponent, PostgresComponent, RedisComponent } from "./parts.ts";
import { UserApiComponent } from "./user-api.ts";

export interface SluiceOptions extends ComponentResourceOptions {
  /** API key of the user API's first consumer. Unset: one is generated, unless an existing Secret has it. */
  readonly consumerKey?: Input<string>;
}

/** A complete installation: the same objects as a release of the chart with the same name, namespace and values. */
export class Sluice extends ComponentResource {
  readonly gateway: GatewayComponent;
  readonly operator: OperatorComponent;
  readonly admin?: AdminComponent;
  readonly userApi?: UserApiComponent;
  readonly database?: PostgresComponent;
  readonly redis?: RedisComponent;

  constructor(release: Release, options: SluiceOptions = {}) {
    const { consumerKey, ...others } = options;
    const { name, values } = release;
    super("sluice:index:Sluice", name, {}, others);
    const parent = { parent: this };
    if (values.postgres.enabled) this.database = new PostgresComponent(`${name}-postgres`, release, parent);
    if (values.redis.enabled) this.redis = new RedisComponent(`${name}-redis`, release, parent);
    this.operator = new OperatorComponent(`${name}-operator`, release, parent);
    this.gateway = new GatewayComponent(`${name}-gateway`, release, parent);
    if (values.admin.enabled) this.admin = new AdminComponent(`${name}-admin`, release, parent);
    if (values.userApi.enabled) {
      this.userApi = new UserApiComponent(`${name}-user-api`, release, {
        ...parent,
        ...(consumerKey === undefined ? {} : { key: consumerKey }),
      });
    }
    this.registerOutputs({ address: this.gateway.address });
  }
}

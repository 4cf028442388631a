import type { ComponentResourceOptions, Input, Output } from "@pulumi/pulumi";
import type { PluginName } from "@sluice/model";
import { createOnce } from "../objects/create.ts";
import { monitoringObjects } from "../objects/monitoring.ts";
import { labelsOf, metadataOf, objectName, type Release } from "../objects/names.ts";
import { redisAddressOf, redisSecret } from "../objects/parts/databases.ts";
import { gatewaySecret, userApiObjects } from "../objects/parts/user-api.ts";
import { keptEntry, randomText, secretObject } from "../objects/secrets.ts";
import { Consumer, type Placed, Plugin, type PluginArgs, Route, Service } from "../resources/index.ts";
import { protectionObjectsOf, SluiceComponent } from "./component.ts";

export interface UserApiOptions extends ComponentResourceOptions {
  /** The first consumer's API key. Unset: one is generated, unless an existing Secret has it. */
  readonly key?: Input<string>;
}

/** The user directory, and its route through the gateway if `userApi.route` enables it. */
export class UserApiComponent extends SluiceComponent {
  /** The first consumer's API key. Undefined without a route, or if `options.key` or an existing Secret has it. */
  readonly key?: Output<string>;

  constructor(name: string, release: Release, options: UserApiOptions = {}) {
    const { key, ...others } = options;
    super("UserApi", name, others);
    const { existingSecret, route } = release.values.userApi;
    if (existingSecret === "") {
      const entries = { secret: randomText() };
      const parts = { component: "user-api", suffix: "-gateway", credential: "upstream-header", entries } as const;
      createOnce(secretObject(release, parts), { parent: this });
    }
    this.create([
      ...protectionObjectsOf(release, "user-api"),
      ...monitoringObjects(release, "user-api"),
      ...userApiObjects(release),
    ]);
    if (route.enabled) this.key = this.#route(release, key);
    this.registerOutputs({ key: this.key });
  }

  #route(release: Release, key: Input<string> | undefined): Output<string> | undefined {
    const { userApi } = release.values;
    const { consumer, hosts, paths, origins, introspection, requestsPerMinute } = userApi.route;
    const name = objectName(release, "user-api");
    const metadata = { namespace: release.namespace, labels: labelsOf(release, "user-api") };
    const placed = { metadata, ...(release.values.class === "sluice" ? {} : { class: release.values.class }) };
    const parent = { parent: this };
    const service = new Service(
      name,
      {
        ...placed,
        backendRef: { name, port: userApi.port },
        upstreamHeaders: [{ name: "X-Gateway-Secret", secretRef: { name: gatewaySecret(release), key: "secret" } }],
      },
      parent,
    );
    const plugin = <Name extends PluginName>(args: Omit<PluginArgs<Name>, keyof Placed>) =>
      new Plugin(`${name}-${args.plugin}`, { ...placed, service, ...args } as PluginArgs<Name>, parent);
    const plugins = [
      plugin({ plugin: "key-auth", config: { hide_credentials: true } }),
      plugin({ plugin: "rate-limiting", ...limits(release, requestsPerMinute) }),
      plugin({
        plugin: "graphql",
        config: { introspection, max_batch_size: 1, max_root_fields: 10, websocket: "inspect" },
      }),
      plugin({ plugin: "cors", config: { origins } }),
      plugin({
        plugin: "prometheus",
        config: { status_code_metrics: true, latency_metrics: true, bandwidth_metrics: true },
      }),
    ];
    // Created after the plugins and deleted before them, so that the route never exists without them.
    new Route(
      name,
      { ...placed, service, ...(hosts.length === 0 ? {} : { hosts }), paths, stripPath: true },
      { parent: this, dependsOn: plugins },
    );
    const secretName = consumer.existingSecret || metadataOf(release, "user-api", "-key").name;
    new Consumer(
      `${name}-consumer`,
      { ...placed, username: consumer.username, keyAuth: [{ secretRef: { name: secretName, key: "key" } }] },
      parent,
    );
    if (consumer.existingSecret !== "") return undefined;
    const parts = { component: "user-api", suffix: "-key", credential: "key-auth" } as const;
    if (key === undefined)
      return keptEntry(secretObject(release, { ...parts, entries: { key: randomText() } }), "key", parent);
    this.create([secretObject(release, { ...parts, entries: { key } })]);
    return undefined;
  }
}

/** The request limit, counted in Redis if available, otherwise by each node. */
function limits(release: Release, minute: number) {
  const server = redisAddressOf(release);
  if (server === undefined) return { config: { minute, policy: "local" } } as const;
  const { host, port, tls } = server;
  const name = redisSecret(release);
  return {
    config: { minute, policy: "redis", redis: { host, port, ...(tls ? { ssl: true, ssl_verify: true } : {}) } },
    ...(name === undefined ? {} : { configFrom: [{ path: "redis.password", secretRef: { name, key: "password" } }] }),
  } as const;
}

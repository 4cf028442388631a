/** The user API behind the gateway: the resources of `crds/samples`, with what differs between stacks as config. */
import type { UsersConfig } from "./config.ts";
import { Consumer, Plugin, Route, Service, type SluiceResource } from "./resources/index.ts";

/** @returns the custom resources, in the order of their creation. */
export function createUsers({ namespace, userApiUrl, requestsPerMinute, demoKey }: UsersConfig) {
  const metadata = { namespace };
  const users = new Service("users", { metadata, url: userApiUrl });
  const demo = new Consumer("demo", { metadata, username: "demo", keys: { key: { key: demoKey } } });
  const plugins: readonly SluiceResource<"Plugin">[] = [
    new Plugin("users-key-auth", { metadata, plugin: "key-auth", service: users }),
    new Plugin("users-rate-limiting", {
      metadata,
      plugin: "rate-limiting",
      service: users,
      config: { minute: requestsPerMinute, policy: "local" },
    }),
    new Plugin("users-cors", { metadata, plugin: "cors", service: users, config: { origins: ["*"] } }),
    new Plugin("users-prometheus", {
      metadata,
      plugin: "prometheus",
      service: users,
      config: { status_code_metrics: true, latency_metrics: true, bandwidth_metrics: true },
    }),
  ];
  // Created last and deleted first, so that the route is at no moment without its plugins.
  const route = new Route(
    "users",
    { metadata, service: users, paths: ["/users"], stripPath: true },
    { dependsOn: [...plugins] },
  );
  return [users, demo, ...plugins, route];
}

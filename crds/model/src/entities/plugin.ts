/** A plugin: behaviour attached to a service, a route, a consumer, a consumer group, or to all requests. */
import { boolean, choice, nullable, record, reference, type Static, set, text, typedSchema } from "@sluice/plugin-sdk";
import { created_at, idMember, tagsMember, updated_at } from "./common-members.ts";

/** The protocols of requests. A plugin acts on all of them by default. */
export const servedProtocols = ["grpc", "grpcs", "http", "https"] as const;

/** The protocols of connections that are not HTTP. */
export const streamProtocols = ["tcp", "tls", "tls_passthrough"] as const;

/** Protocols that a plugin may name. Files dumped from Kong name more than Sluice serves, as do Kong's defaults. */
export const pluginProtocols = [...servedProtocols, ...streamProtocols, "udp", "ws", "wss"] as const;

export const pluginEntitySchema = record(
  {
    id: idMember("instance_name, or from the content if that is unset"),
    created_at,
    updated_at,
    name: text({
      description: "Name of the plugin, such as key-auth.",
      rule: "plugin-name",
      minLength: 1,
      maxLength: 64,
    }),
    instance_name: nullable(
      text({
        description: "A unique name for this instance of the plugin.",
        rule: "name",
        minLength: 1,
        maxLength: 256,
      }),
    ),
    route: reference("routes", "Restricts the plugin to requests that this route matches."),
    service: reference("services", "Restricts the plugin to requests to this service."),
    consumer: reference("consumers", "Restricts the plugin to requests of this consumer."),
    consumer_group: reference("consumer_groups", "Restricts the plugin to requests of consumers of this group."),
    config: typedSchema<Record<string, unknown>>({
      type: "object",
      description: "Configuration of the plugin; see the reference page of plugins.",
      default: {},
    }),
    protocols: set(choice(pluginProtocols, { description: "A protocol." }), {
      description:
        "The protocols on which the plugin acts. If one of them is tcp, tls or tls_passthrough, a plugin that supports " +
        "connections acts on those of all three protocols. udp, ws and wss are stored without effect.",
      default: [...servedProtocols],
      minItems: 1,
      maxItems: pluginProtocols.length,
    }),
    enabled: boolean({
      description: "If false, the plugin is ignored, and an instance with a wider scope may apply.",
      default: true,
    }),
    tags: tagsMember,
  },
  {
    description: "Behaviour attached to a service, a route, a consumer, a consumer group, or to all requests.",
    rule: "plugin",
  },
);

export type Plugin = Static<typeof pluginEntitySchema>;

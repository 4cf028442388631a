/** A plugin: behaviour attached to a service, a route, a consumer, or to all requests. */
import { choice, flag, nullable, record, reference, type Static, set, text, typedSchema } from "../schema/member.ts";
import { created_at, id, tags, updated_at } from "./shared.ts";

/** The protocols that Sluice proxies, by default all of them. */
export const servedProtocols = ["grpc", "grpcs", "http", "https"] as const;

/** Kong's defaults for many plugins include more protocols, and so do files dumped from Kong. */
export const pluginProtocols = [...servedProtocols, "tcp", "tls", "tls_passthrough", "udp", "ws", "wss"] as const;

export const pluginSchema = record(
  {
    id,
    created_at,
    updated_at,
    name: text({
      description: "Which plugin this is, such as key-auth.",
      rule: "plugin-name",
      minLength: 1,
      maxLength: 64,
    }),
    instance_name: nullable(
      text({ description: "A unique name for this use of the plugin.", rule: "name", minLength: 1, maxLength: 256 }),
    ),
    route: reference("routes", "Only for requests that this route matched."),
    service: reference("services", "Only for requests to this service."),
    consumer: reference("consumers", "Only for requests of this consumer."),
    config: typedSchema<Record<string, unknown>>({
      type: "object",
      description: "The plugin's own members; see the plugin's page.",
      default: {},
    }),
    protocols: set(choice(pluginProtocols, { description: "A protocol." }), {
      description:
        "The protocols that the plugin acts on. Sluice proxies grpc, grpcs, http and https; the others are kept and have no effect.",
      default: [...servedProtocols],
      minItems: 1,
      maxItems: pluginProtocols.length,
    }),
    enabled: flag({ description: "A disabled plugin is not loaded: a wider one of its name applies.", default: true }),
    tags,
  },
  { description: "Behaviour attached to a service, a route, a consumer, or to all requests.", rule: "plugin" },
);

export type Plugin = Static<typeof pluginSchema>;

/** Config of request-mirror: the services that receive copies of requests. */
import { array, decimal, definePluginFacts, integer, record, text } from "@sluice/plugin-sdk";

const mirror = record(
  {
    service: text({
      description:
        "Name or id of the service that receives the copies. In a cluster, the name of a Service outside the home " +
        "namespace is `<namespace>.<name>`, unless it has `spec.name`. If there is no such service, or if it has a " +
        "client certificate, requests are not mirrored.",
      maxLength: 256,
    }),
    // Required: decK fills in no defaults of array elements, so it would report a difference with every run.
    percentage: decimal({
      description: "The part of the requests that is mirrored, evenly spread over the requests of a worker.",
      minimum: 0,
      maximum: 100,
    }),
  },
  { description: "A service that receives copies." },
);

const schema = record(
  {
    mirrors: array(mirror, { description: "The services that receive copies.", minItems: 1, maxItems: 16 }),
    max_body_size: integer({
      description:
        "Maximum size of a request's body in bytes. Requests with a longer body are not mirrored. A body is copied " +
        "while it is forwarded, and the copy is sent once the body is complete.",
      default: 1_048_576,
      minimum: 0,
      maximum: 16_777_216,
    }),
    timeout: integer({
      description: "Milliseconds after which a copy is cancelled if the service has not responded completely.",
      default: 10_000,
      minimum: 1,
      maximum: 600_000,
    }),
  },
  {
    description:
      "Sends copies of requests to other services too, and ignores their responses. A copy has the method, path, query, " +
      "headers and body of the forwarded request, after all other plugins. Mirrors never delay requests: a worker sends " +
      "at most 100 copies to a service at a time, and holds at most 32 MiB of their bodies; further copies are dropped. " +
      "`sluice_request_mirror_copies_total` counts the copies by result, and the log has the reasons. Kong has no such " +
      "plugin. The operator uses this one for the filter RequestMirror of the Gateway API.",
  },
);

export const requestMirrorFacts = definePluginFacts({
  name: "request-mirror",
  version: "0.1.0",
  // After all plugins that may refuse the request.
  priority: 1,
  protects: false,
  schema,
});

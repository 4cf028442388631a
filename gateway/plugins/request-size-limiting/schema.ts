/** Config of request-size-limiting: the largest request body that is forwarded. */
import { boolean, choice, definePluginFacts, integer, record, type Static } from "@sluice/plugin-sdk";

const schema = record(
  {
    allowed_payload_size: integer({
      description: "Largest request body, in the unit of `size_unit`.",
      default: 128,
      minimum: 0,
      maximum: 2 ** 31 - 1,
    }),
    size_unit: choice(["megabytes", "kilobytes", "bytes"], {
      description: "Unit of `allowed_payload_size`: megabytes (1,048,576 bytes), kilobytes (1,024 bytes) or bytes.",
      default: "megabytes",
    }),
    require_content_length: boolean({
      description: "Refuse requests with neither Content-Length nor a chunked body.",
      default: false,
    }),
  },
  {
    description:
      "Refuses requests whose body is larger than a limit. A body without Content-Length streams to the upstream; " +
      "once it exceeds the limit, the request to the upstream is cancelled.",
  },
);

export type RequestSizeLimitingConfig = Static<typeof schema>;

export const requestSizeLimitingFacts = definePluginFacts({
  name: "request-size-limiting",
  version: "0.1.0",
  priority: 951,
  protects: true,
  schema,
});

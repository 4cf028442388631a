/** Config of compression: which responses are compressed, and how. */
import { array, boolean, choice, definePluginFacts, integer, record, type Static, text } from "@sluice/plugin-sdk";

const schema = record(
  {
    encodings: array(choice(["zstd", "br", "gzip"], { description: "A content coding." }), {
      description: "Content codings, the preferred one first. The client's Accept-Encoding takes precedence.",
      default: ["zstd", "br", "gzip"],
      minItems: 1,
      maxItems: 3,
    }),
    types: array(text({ description: "A media type without parameters, such as text/html.", maxLength: 128 }), {
      description: "Media types of the responses to compress.",
      default: [
        ...["text/html", "text/plain", "text/css", "text/csv", "text/xml", "text/javascript", "application/javascript"],
        ...["application/json", "application/problem+json", "application/ld+json", "application/xml"],
        ...["application/manifest+json", "application/wasm", "image/svg+xml"],
      ],
      maxItems: 128,
    }),
    min_length: integer({
      description: "Bytes of a Content-Length below which a response is not compressed.",
      default: 1024,
      minimum: 0,
      maximum: 10_485_760,
    }),
    credentials: boolean({
      description:
        "Whether responses with Set-Cookie and responses to requests with Authorization or Cookie are compressed too. " +
        "If such a body contains a secret beside text that an attacker can choose, its compressed length reveals the " +
        "secret (BREACH).",
      default: false,
    }),
  },
  {
    description:
      "Compresses the responses of upstreams with zstd, Brotli or gzip, if the client accepts it. Partial and encoded " +
      "responses, and those with Cache-Control: no-transform, stay as they are. So do the gateway's own responses, and " +
      "with them the hits of proxy-cache. A worker compresses at most 128 responses at a time; others are sent as they " +
      "are. Kong has no such plugin.",
  },
);

export type CompressionConfig = Static<typeof schema>;

export const compressionFacts = definePluginFacts({
  name: "compression",
  version: "0.1.0",
  priority: 90,
  protects: false,
  schema,
});

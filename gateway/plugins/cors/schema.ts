/** Config of cors: the allowed origins and their requests. */
import {
  array,
  boolean,
  choice,
  definePluginFacts,
  integer,
  nullable,
  record,
  type Static,
  text,
} from "@sluice/plugin-sdk";

const methods = ["GET", "HEAD", "PUT", "PATCH", "POST", "DELETE", "OPTIONS", "TRACE", "CONNECT", "*"] as const;

const schema = record(
  {
    origins: nullable(
      array(text({ description: "An origin, a regular expression, or *.", rule: "origin", maxLength: 1024 }), {
        description: "Allowed origins; * or unset allows all.",
        maxItems: 256,
      }),
    ),
    headers: nullable(
      array(text({ description: "A header name.", maxLength: 256 }), {
        description: "Allowed request headers; unset allows those that the browser asks for.",
        maxItems: 256,
      }),
    ),
    exposed_headers: nullable(
      array(text({ description: "A header name.", maxLength: 256 }), {
        description: "Response headers that the page may read.",
        maxItems: 256,
      }),
    ),
    methods: array(choice(methods, { description: "A method, or *." }), {
      description: "Allowed request methods; * allows the one that the browser asks for, whatever it is.",
      default: ["GET", "HEAD", "PUT", "PATCH", "POST", "DELETE", "OPTIONS", "TRACE", "CONNECT"],
      maxItems: 16,
    }),
    max_age: nullable(
      integer({
        description: "Seconds for which a browser may cache the response to a preflight request.",
        minimum: -(2 ** 31),
        maximum: 2 ** 31 - 1,
      }),
    ),
    credentials: boolean({ description: "Whether requests may carry cookies and other credentials.", default: false }),
    private_network: boolean({
      description: "Whether pages from a public network may send requests to a private one.",
      default: false,
    }),
    preflight_continue: boolean({ description: "Forward preflight requests to the upstream.", default: false }),
    allow_origin_absent: boolean({
      description: "Send the CORS headers even in responses to requests without an Origin header.",
      default: true,
    }),
  },
  { description: "Cross-origin resource sharing: tells browsers which origins may send requests and read responses." },
);

export type CorsConfig = Static<typeof schema>;

export const corsFacts = definePluginFacts({
  name: "cors",
  version: "0.1.0",
  priority: 2000,
  protects: false,
  refuses: ["consumer"],
  schema,
  expand: (config) => (typeof config.origins === "string" ? { ...config, origins: [config.origins] } : config),
});

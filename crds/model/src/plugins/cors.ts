/** Config of cors: the allowed origins and their requests. */
import { choice, flag, integer, list, nullable, record, type Static, text } from "../schema/member.ts";

export const corsMethods = ["GET", "HEAD", "PUT", "PATCH", "POST", "DELETE", "OPTIONS", "TRACE", "CONNECT"] as const;

export const corsSchema = record(
  {
    origins: nullable(
      list(text({ description: "An origin, a regular expression, or *.", rule: "origin", maxLength: 1024 }), {
        description: "Origins that may call; * or unset allows all.",
        maxItems: 64,
      }),
    ),
    headers: nullable(
      list(text({ description: "A header name.", maxLength: 256 }), {
        description: "Request headers that may be sent; unset allows what the browser asks for.",
        maxItems: 64,
      }),
    ),
    exposed_headers: nullable(
      list(text({ description: "A header name.", maxLength: 256 }), {
        description: "Response headers that the page may read.",
        maxItems: 64,
      }),
    ),
    methods: list(choice(corsMethods, { description: "A method." }), {
      description: "Methods that may be used.",
      default: ["GET", "HEAD", "PUT", "PATCH", "POST", "DELETE", "OPTIONS", "TRACE", "CONNECT"],
      maxItems: 16,
    }),
    max_age: nullable(
      integer({
        description: "Seconds that a browser may remember a preflight.",
        minimum: -(2 ** 31),
        maximum: 2 ** 31 - 1,
      }),
    ),
    credentials: flag({ description: "Whether cookies and credentials may be sent.", default: false }),
    private_network: flag({ description: "Whether pages may call into a private network.", default: false }),
    preflight_continue: flag({ description: "Forward preflight requests to the upstream.", default: false }),
    allow_origin_absent: flag({
      description: "Answer requests without an Origin header with the CORS headers too.",
      default: true,
    }),
  },
  { description: "Which other origins' pages may call." },
);

export type CorsConfig = Static<typeof corsSchema>;

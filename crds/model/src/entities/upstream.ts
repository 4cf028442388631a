/** An upstream: several targets behind one host name, and how requests are balanced over them. */
import { choice, flag, integer, nullable, record, reference, type Static, text } from "../schema/member.ts";
import { healthchecksSchema } from "./healthchecks.ts";
import { created_at, id, tags, updated_at } from "./shared.ts";

export const algorithms = ["consistent-hashing", "least-connections", "round-robin", "latency"] as const;

const sources = ["none", "consumer", "ip", "header", "cookie", "path", "query_arg", "uri_capture"] as const;

const headerName = (description: string) =>
  nullable(text({ description, rule: "header-name", minLength: 1, maxLength: 256 }));
const word = (description: string) => nullable(text({ description, minLength: 1, maxLength: 256 }));

export const upstreamSchema = record(
  {
    id,
    created_at,
    updated_at,
    name: text({
      description: "A unique host name: services with this host send their requests to the targets.",
      rule: "upstream-name",
      maxLength: 255,
    }),
    algorithm: choice(algorithms, {
      description: "How a target is chosen: in turn, the least busy, by a hash, or the one that answers fastest.",
      default: "round-robin",
    }),
    hash_on: choice(sources, {
      description: "What is hashed, with algorithm consistent-hashing.",
      default: "none",
    }),
    hash_fallback: choice(sources, {
      description: "What is hashed when hash_on finds nothing in the request.",
      default: "none",
    }),
    hash_on_header: headerName("The header, with hash_on header."),
    hash_fallback_header: headerName("The header, with hash_fallback header."),
    hash_on_cookie: word("The cookie, with hash_on or hash_fallback cookie. Sent to clients that have none."),
    hash_on_cookie_path: text({
      description: "The path of the cookie that is sent.",
      rule: "path",
      default: "/",
      maxLength: 4096,
    }),
    hash_on_query_arg: word("The query argument, with hash_on query_arg."),
    hash_fallback_query_arg: word("The query argument, with hash_fallback query_arg."),
    hash_on_uri_capture: word("The named group of the route's path, with hash_on uri_capture."),
    hash_fallback_uri_capture: word("The named group of the route's path, with hash_fallback uri_capture."),
    slots: integer({
      description: "How finely consistent hashing can share: places on the ring.",
      default: 10_000,
      minimum: 10,
      maximum: 65_536,
    }),
    healthchecks: healthchecksSchema,
    tags,
    host_header: nullable(
      text({ description: "Value of the Host header for requests to the targets.", rule: "host-port", maxLength: 260 }),
    ),
    client_certificate: reference("certificates", "The certificate that is shown to https targets.", "restrict"),
    use_srv_name: flag({ description: "Accepted for Kong's sake: SRV records are not looked up.", default: false }),
  },
  { description: "Several targets behind one host name, and how requests are spread over them.", rule: "upstream" },
);

export type Upstream = Static<typeof upstreamSchema>;

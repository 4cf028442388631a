/** Config of request-redirect: which parts of the URL of a request are changed. */
import {
  choice,
  definePluginFacts,
  integer,
  nullable,
  type RecordRule,
  record,
  type Static,
  text,
} from "@sluice/plugin-sdk";

const path = (description: string) => nullable(text({ description, maxLength: 1024 }));

const schema = record(
  {
    status_code: choice([301, 302, 303, 307, 308], { description: "Status of the response.", default: 302 }),
    scheme: nullable(
      choice(["http", "https"], { description: "The scheme of the new URL. Unset: that of the request." }),
    ),
    host: nullable(
      text({
        description: "The host of the new URL, without a port. Unset: the host of the request.",
        rule: "host",
        maxLength: 255,
      }),
    ),
    port: nullable(
      integer({
        description:
          "The port of the new URL. Unset: that of the request's Host header or, if `scheme` is set, the default port " +
          "of the scheme.",
        minimum: 1,
        maximum: 65_535,
      }),
    ),
    path: path("The path of the new URL. Unset: that of the request."),
    strip_prefix: path("A prefix that is removed from the path of the request."),
    add_prefix: path("The path that replaces `strip_prefix`. Unset: /."),
  },
  {
    description:
      "Redirects requests to the same URL with another scheme, host, port or path. The query stays the same. Kong has " +
      "no such plugin; the operator uses this one for the filter RequestRedirect of the Gateway API.",
  },
);

export type RequestRedirectConfig = Static<typeof schema>;

const check: RecordRule = (config) => {
  const fault = (member: string, message: string) => [{ path: [member], message }];
  const relative = ["path", "strip_prefix", "add_prefix"].find((member) => {
    const value = config[member];
    return typeof value === "string" && !value.startsWith("/");
  });
  if (relative !== undefined) return fault(relative, "must begin with /");
  if (config.path && config.strip_prefix) return fault("path", "cannot be used with strip_prefix");
  return config.add_prefix && !config.strip_prefix ? fault("add_prefix", "cannot be used without strip_prefix") : [];
};

export const requestRedirectFacts = definePluginFacts({
  name: "request-redirect",
  version: "0.1.0",
  priority: 778,
  protects: true,
  check,
  schema,
});

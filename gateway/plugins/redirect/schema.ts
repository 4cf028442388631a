/** Config of redirect: where requests are redirected to. */
import {
  boolean,
  definePluginFacts,
  integer,
  type RecordRule,
  record,
  type Static,
  text,
  type Violation,
} from "@sluice/plugin-sdk";

const schema = record(
  {
    status_code: integer({
      description: "Status of the response. Responses with a status below 200 are not final: 500 is sent instead.",
      default: 301,
      minimum: 100,
      maximum: 599,
    }),
    location: text({
      description:
        "The URL to redirect to. A path such as /app leads to the same scheme, host and port, and cannot be combined " +
        "with `keep_incoming_path`.",
      maxLength: 4096,
    }),
    keep_incoming_path: boolean({
      description: "Replace path and query of `location` by those of the request.",
      default: false,
    }),
  },
  { description: "Redirects requests to another URL instead of forwarding them." },
);

export type RedirectConfig = Static<typeof schema>;

/** A path on the same host. Browsers read `//a` and `/\a` as the host a. */
const isPath = (location: string): boolean => /^\/(?![/\\])/.test(location);

/** Kong's checks, except that a path is accepted. Also refuses a URL whose path cannot be replaced: Kong accepts it, and answers requests with 500. */
const check: RecordRule = ({ location, keep_incoming_path: keep }) => {
  if (typeof location !== "string" || location === "") return [];
  if (isPath(location) && keep !== true) return [];
  const [, scheme, host] = /^([A-Za-z0-9][A-Za-z0-9+.-]*:)?(?:\/\/(?:[^/?#]*@)?([^/?#]*))?/.exec(location) ?? [];
  const fault = (message: string): readonly Violation[] => [{ path: ["location"], message }];
  if (host === undefined || host === "") return fault("missing host in url");
  if (scheme === undefined) return fault("missing scheme in url");
  return keep === true && !URL.canParse(location) ? fault("could not parse url. its path cannot be replaced") : [];
};

export const redirectFacts = definePluginFacts({
  name: "redirect",
  version: "0.1.0",
  priority: 779,
  protects: true,
  check,
  schema,
});

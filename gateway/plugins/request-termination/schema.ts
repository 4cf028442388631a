/** Config of request-termination: the response that requests get instead of being forwarded. */
import {
  boolean,
  definePluginFacts,
  integer,
  isEmptyValue,
  nullable,
  type RecordRule,
  record,
  type Static,
  text,
} from "@sluice/plugin-sdk";

const schema = record(
  {
    status_code: integer({
      description: "Status of the response. Responses with a status below 200 are not final: 500 is sent instead.",
      default: 503,
      minimum: 100,
      maximum: 599,
    }),
    message: nullable(
      text({
        description: "Message of the JSON response. If unset, the default message for the status is sent.",
        maxLength: 4096,
      }),
    ),
    content_type: nullable(text({ description: "Content-Type of the response with `body`.", maxLength: 256 })),
    body: nullable(text({ description: "Body that is sent unchanged, instead of a message.", maxLength: 65_536 })),
    echo: boolean({
      description: "Return the request, with all its headers, as JSON. For debugging.",
      default: false,
    }),
    trigger: nullable(
      text({
        description: "Name of a header or query parameter; requests without it are forwarded. Unset ends all requests.",
        rule: "header-name",
        maxLength: 256,
      }),
    ),
  },
  { description: "Ends requests with a configured response instead of forwarding them." },
);

export type RequestTerminationConfig = Static<typeof schema>;

/** Like Kong, reports only the first violation. */
const check: RecordRule = ({ message, content_type: contentType, body, echo }) => {
  const hasType = !isEmptyValue(contentType);
  const hasBody = !isEmptyValue(body);
  const faults = [
    !isEmptyValue(message) && (hasType || hasBody) && "message cannot be used with content_type or body",
    hasType && !hasBody && "content_type requires a body",
    echo === true && (hasType || hasBody) && "echo cannot be used with content_type and body",
  ].filter((fault) => fault !== false);
  return faults.slice(0, 1).map((fault) => ({ path: [], message: fault }));
};

export const requestTerminationFacts = definePluginFacts({
  name: "request-termination",
  version: "0.1.0",
  priority: 2,
  protects: true,
  check,
  schema,
});

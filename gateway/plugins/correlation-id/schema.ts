/** Config of correlation-id: the header that carries an id of the request. */
import { boolean, choice, definePluginFacts, record, type Static, text } from "@sluice/plugin-sdk";

const schema = record(
  {
    header_name: text({
      description: "The request header that carries the id. A value sent by the client is kept.",
      rule: "upstream-header",
      default: "Kong-Request-ID",
      maxLength: 256,
    }),
    generator: choice(["uuid", "uuid#counter", "tracker"], {
      description:
        "The form of generated ids: uuid (a random UUID for each request), uuid#counter (a UUID of the worker thread " +
        "and the number of ids that it has generated), or tracker (address and port of the listener, process id, " +
        "number of the connection, number of the request on the connection, and time in seconds, joined by dashes).",
      default: "uuid#counter",
    }),
    echo_downstream: boolean({ description: "Send the id to the client in the same header.", default: false }),
  },
  { description: "Adds an id to each request that has none, so that log lines of several systems can be matched." },
);

export type CorrelationIdConfig = Static<typeof schema>;

export const correlationIdFacts = definePluginFacts({
  name: "correlation-id",
  version: "0.1.0",
  priority: 100_001,
  protects: false,
  schema,
});

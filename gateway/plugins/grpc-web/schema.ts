/** Config of grpc-web: how browsers reach gRPC services. */
import { boolean, definePluginFacts, nullable, type RecordRule, record, type Static, text } from "@sluice/plugin-sdk";

const schema = record(
  {
    proto: nullable(
      text({
        description: "A .proto file, with which Kong converts JSON. Not supported: must be unset.",
        maxLength: 4096,
      }),
    ),
    pass_stripped_path: nullable(
      boolean({
        description:
          "Send the path that results from the service and the route (`strip_path`). By default, the path of the request " +
          "is sent, which has to be that of a gRPC method.",
      }),
    ),
    allow_origin_header: text({
      description: "Value of the response header Access-Control-Allow-Origin.",
      default: "*",
      rule: "header-value",
      maxLength: 1024,
    }),
  },
  {
    description:
      "Lets browsers call gRPC services with gRPC-Web, over HTTP/1.1 or HTTP/2. The service needs the protocol grpc or " +
      "grpcs, and the route http or https.",
  },
);

export type GrpcWebConfig = Static<typeof schema>;

const check: RecordRule = ({ proto }) =>
  typeof proto === "string"
    ? [
        {
          path: ["proto"],
          message:
            "not supported: JSON is not converted to messages. Remove the field, and call the service with gRPC-Web clients",
        },
      ]
    : [];

export const grpcWebFacts = definePluginFacts({
  name: "grpc-web",
  version: "0.1.0",
  priority: 3,
  protects: false,
  check,
  schema,
});

/** `sluice explain`: asks the admin API how a request would be routed and answered, or a connection forwarded. */
import type { FleetExplanation } from "@sluice/model/serving";
import { clientSettings } from "../../../settings/commands/client.ts";
import { defineCommand } from "../../command.ts";
import { formatData } from "../../terminal/output.ts";
import { withAdmin } from "../admin-connection.ts";
import { explanationText } from "./explanation-text.ts";
import { givenBody, givenHeaders, givenNumber } from "./given-request.ts";

/** The exit code if the gateway answers the request itself, or closes the connection. */
const ANSWERED = 3;

/** The exit code if the explanation ends early, for example because another server decides. */
const UNKNOWN = 4;

export const explainCommand = defineCommand({
  settings: clientSettings,
  ends: true,
  async run(call) {
    const { positionals, options } = call.given;
    const { body, output } = options;
    const [url, given = body === undefined ? undefined : "POST"] = positionals.toReversed();
    const request = {
      url,
      ...(given !== undefined && { method: given }),
      headers: givenHeaders(options.header),
      ...(body !== undefined && { body: await givenBody(String(body)) }),
      ...(options["body-size"] !== undefined && { body_size: givenNumber("body-size", options["body-size"]) }),
      ...(options.size !== undefined && { size: givenNumber("size", options.size) }),
      ...(options["client-address"] !== undefined && { client_address: options["client-address"] }),
      ...(options["client-port"] !== undefined && {
        client_port: givenNumber("client-port", options["client-port"]),
      }),
      ...(options["http-version"] !== undefined && { http_version: options["http-version"] }),
      ...(options.port !== undefined && { port: givenNumber("port", options.port) }),
      ...(options["server-name"] !== undefined && { server_name: options["server-name"] }),
    };
    const explanation = await withAdmin(call, (admin) => admin.post<FleetExplanation>("/explain", request));
    call.print(
      output === "yaml" || output === "json"
        ? formatData(output, explanation)
        : explanationText(explanation, { all: options.size !== undefined }),
    );
    if (explanation.unknown !== null) return UNKNOWN;
    return explanation.response === null && explanation.closed === null ? 0 : ANSWERED;
  },
});

/** `sluice explain`: asks the admin API how a request would be routed and answered. */
import { readFile } from "node:fs/promises";
import type { Explanation } from "@sluice/model/serving";
import { clientSettings } from "../../settings/client.ts";
import { defineCommand, Misused } from "../command.ts";
import { formatData } from "../output.ts";
import { withAdmin } from "./admin-connection.ts";
import { explanationText } from "./explanation-text.ts";

/** The gateway answers the request itself. */
const ANSWERED = 3;

/** An explanation ends early, for example because another server decides. */
const UNKNOWN = 4;

export const explainCommand = defineCommand({
  settings: clientSettings,
  ends: true,
  async run(call) {
    const { positionals, options } = call.given;
    const [method, url] = positionals;
    const { body, output } = options;
    const request = {
      url,
      method,
      headers: headersOf(options.header),
      ...(body !== undefined && { body: await bodyOf(String(body)) }),
      ...numberMember("body_size", "body-size", options["body-size"]),
      ...numberMember("size", "size", options.size),
      ...(options["client-address"] !== undefined && { client_address: options["client-address"] }),
      ...(options["http-version"] !== undefined && { http_version: options["http-version"] }),
      ...(options["server-name"] !== undefined && { server_name: options["server-name"] }),
    };
    const explanation = await withAdmin(call, (admin) => admin.post<Explanation>("/explain", request));
    call.print(output === "yaml" || output === "json" ? formatData(output, explanation) : explanationText(explanation));
    if (explanation.unknown !== null) return UNKNOWN;
    return explanation.response === null ? 0 : ANSWERED;
  },
});

function headersOf(given: unknown): Readonly<Record<string, readonly string[]>> {
  const headers: Record<string, string[]> = {};
  for (const line of Array.isArray(given) ? given : []) {
    const [, name = "", value = ""] = /^([^:\s]+):[ \t]*(.*)$/.exec(line) ?? [];
    if (name === "") throw new Misused(`-H '${line}': expected 'NAME: VALUE'`);
    headers[name] = [...(headers[name] ?? []), value];
  }
  return headers;
}

/** As for curl's `--data`, `@FILE` is the content of a file. */
const bodyOf = async (given: string): Promise<string> =>
  given.startsWith("@") ? readFile(given.slice(1), "utf8") : given;

function numberMember(member: string, option: string, given: unknown): Readonly<Record<string, number>> {
  if (given === undefined) return {};
  if (!/^\d{1,15}$/.test(String(given))) throw new Misused(`--${option}: expected a number, not '${given}'`);
  return { [member]: Number(given) };
}

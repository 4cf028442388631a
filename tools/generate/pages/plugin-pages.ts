/** The reference pages of the plugins: an index, and a page for each plugin with its fields and worked examples. */
import { STATUS_CODES } from "node:http";
import type { PluginFacts } from "@sluice/plugin-sdk";
import { builtInFacts } from "@sluice/plugins/schemas";
import { type GeneratedFile, generatedPage } from "../../../crds/model/src/generate/files.ts";
import { memberTable } from "../../../crds/model/src/generate/tables.ts";
import { refusedTargets } from "../../../crds/model/src/plugins/index.ts";
import { hasCompatibilitySection } from "../kong-plugins.ts";
import {
  adminCommands,
  customResources,
  deckFile,
  type ExampleRequest,
  examplesOf,
  type PluginExample,
} from "../plugin-examples.ts";

const SOURCE = "gateway/plugins";

export const pluginPages = (): readonly GeneratedFile[] => [
  generatedPage("docs/reference/plugins.md", indexText(), SOURCE),
  ...builtInFacts.map((facts) => generatedPage(`docs/reference/plugins/${facts.name}.md`, pageText(facts), SOURCE)),
];

const sections = (...texts: readonly string[]): string => texts.join("\n\n");
const block = (language: string, text: string): string => `\`\`\`${language}\n${text.trimEnd()}\n\`\`\``;

function indexText(): string {
  const rows = builtInFacts.map(
    ({ name, priority, schema }) => `| [${name}](plugins/${name}.md) | ${priority} | ${schema.description} |`,
  );
  return sections(
    "# Plugins",
    "The fields of a plugin's `config` have the same names in custom resources, files and the admin API. Plugins run " +
      "in descending order of priority.",
    "If several instances of one plugin match a request, only the one with the most specific scope runs; the " +
      "others have no effect, so their rate limits do not count the request. The order, the most specific first: " +
      "consumer, route and service; consumer group, route and service; consumer and route; consumer and service; " +
      "consumer group and route; consumer group and service; route and service; consumer; consumer group; route; " +
      "service; global. A disabled instance, or one whose `protocols` exclude the request's, is ignored, so an " +
      "instance with a wider scope may run.",
    ["| plugin | priority | what it does |", "|---|---|---|", ...rows].join("\n"),
  );
}

function pageText(facts: PluginFacts): string {
  const { name, schema } = facts;
  const refused = refusedTargets(facts).map((target) => `a ${target.replace("_", " ")}`);
  const traits = [
    `[Priority](../plugins.md) ${facts.priority}.`,
    ...(facts.protects ? ["While its config is invalid, requests in its scope are answered with 503."] : []),
    ...(refused.length === 0 ? [] : [`Cannot be attached to ${listed(refused, "or")}.`]),
    ...(hasCompatibilitySection(name) ? [`[Differences from Kong](../kong-compatibility.md#${name}).`] : []),
  ];
  const deprecated = (schema.deprecatedMembers ?? []).map(
    (member) => `\`${member.name}\` for \`${member.replacedBy.join(".")}\``,
  );
  return sections(
    `# ${name}`,
    `${schema.description} ${traits.join(" ")}`,
    ...examplesOf(name).map(exampleText),
    "## Fields of config",
    memberTable(schema),
    ...(deprecated.length > 0
      ? [`Deprecated fields, which the admin API accepts and shows as Kong does: ${deprecated.join(", ")}.`]
      : []),
  );
}

function exampleText(example: PluginExample): string {
  return sections(
    `## Example: ${example.title}`,
    example.text.trim(),
    "As custom resources, for `kubectl apply -f`:",
    block("yaml", customResources(example)),
    "With the admin API:",
    block("sh", adminCommands(example).join("\n")),
    "As a file, for `deck gateway sync` or `sluice config import`:",
    block("yaml", deckFile(example)),
    "Then:",
    ...example.requests.flatMap(requestText),
  );
}

function requestText(request: ExampleRequest): readonly string[] {
  const { text, curl, headers = {}, received = {}, forwarded } = request;
  const receivedHeaders = Object.entries(received).map(([name, value]) =>
    value === null ? `no header \`${name}\`` : `\`${name}: ${value}\``,
  );
  const line = typeof forwarded === "string" ? [`\`${forwarded}\``] : [];
  const absent = Object.keys(headers).filter((name) => headers[name] === null);
  return [
    ...(text === undefined ? [] : [text.trim()]),
    block("console", [`$ curl -i ${curl}`, ...responseLines(request)].join("\n")),
    ...(absent.length === 0
      ? []
      : [
          `The response has no header ${listed(
            absent.map((name) => `\`${name}\``),
            "and",
          )}.`,
        ]),
    ...(forwarded === null ? ["The upstream receives nothing."] : []),
    ...(receivedHeaders.length + line.length === 0
      ? []
      : [`The upstream receives ${listed([...line, ...receivedHeaders], "and")}.`]),
  ];
}

const listed = (items: readonly string[], word: "and" | "or"): string =>
  items.length < 2 ? items.join("") : `${items.slice(0, -1).join(", ")} ${word} ${items.at(-1)}`;

function responseLines({ status, headers = {}, body }: ExampleRequest): readonly string[] {
  const lines = Object.entries(headers).flatMap(([name, value]) => (value === null ? [] : [`${name}: ${value}`]));
  return [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, ...(body === undefined ? [] : ["", body])];
}

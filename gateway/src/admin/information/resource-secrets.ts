/** The secrets that the spec of a custom resource may contain itself, instead of in a core Secret. */
import { configFactsOf, secretMembers } from "@sluice/model";
import { isRecord, type RecordMembers } from "@sluice/plugin-sdk";

const SECRET = "[redacted]";

/** The spec with its secrets redacted. A spec may be invalid, so it may contain anything. */
export function withoutSecrets(kind: string, spec: unknown): unknown {
  if (!isRecord(spec)) return spec;
  switch (kind) {
    case "Plugin":
      return { ...spec, ...redactedConfig("plugins", { name: spec.plugin }, spec) };
    case "Service":
      return {
        ...spec,
        ...redactedList(spec, "upstreamHeaders", ({ value }) => value !== undefined && { value: SECRET }),
      };
    case "Consumer":
      return {
        ...spec,
        ...redactedList(spec, "pluginCredentials", (entry) => redactedConfig("plugin_credentials", entry, entry)),
      };
    default:
      return spec;
  }
}

/** The member `config`, with its secret members redacted; as a whole if the plugin, and so its schema, is unknown. */
function redactedConfig(
  collection: "plugins" | "plugin_credentials",
  named: RecordMembers,
  { config }: RecordMembers,
): RecordMembers {
  if (config === undefined) return {};
  if (configFactsOf(collection, named) === undefined) return { config: SECRET };
  return { config: secretMembers(collection, named).reduce(redactedAt, config) };
}

function redactedAt(value: unknown, [member, ...rest]: readonly string[]): unknown {
  if (member === undefined) return SECRET;
  if (!isRecord(value) || value[member] === undefined) return value;
  return { ...value, [member]: redactedAt(value[member], rest) };
}

function redactedList(
  spec: RecordMembers,
  member: string,
  redacted: (entry: RecordMembers) => RecordMembers | false,
): RecordMembers {
  const list = spec[member];
  if (!Array.isArray(list)) return {};
  return { [member]: list.map((entry) => (isRecord(entry) ? { ...entry, ...redacted(entry) } : entry)) };
}

/** The config of a KongPlugin, with its values from Secrets. Strings from Secrets stay in Secrets. */
import type { ManifestObject } from "@sluice/crds";
import { CREDENTIAL_LABEL, readYaml } from "@sluice/model";
import { isRecord } from "@sluice/plugin-sdk";
import type { Conversion } from "./conversion.ts";
import { dataEntries, type KongObjects, listOf, namespaceOf, recordOf } from "./objects.ts";

type Members = Readonly<Record<string, unknown>>;

export interface PluginConfig {
  /** With the values from Secrets. */
  readonly config: Members;
  readonly configFrom: readonly {
    readonly path: string;
    readonly secretRef: { readonly name: string; readonly key: string };
  }[];
  /** Why the config is unknown, or cannot be expressed. */
  readonly fault?: string;
}

interface ReadOptions {
  readonly objects: KongObjects;
  /** The namespace of the Plugin. */
  readonly namespace: string;
  readonly conversion: Conversion;
}

/** A value from a Secret, with its path in the config. */
interface SecretValue {
  readonly path: readonly string[];
  readonly value: unknown;
}

const nothing: PluginConfig = { config: {}, configFrom: [] };

export function readPluginConfig(plugin: ManifestObject, options: ReadOptions): PluginConfig {
  const { config, configFrom, configPatches } = plugin;
  const values: SecretValue[] = [];
  const whole = configFrom === undefined ? [] : [{ path: "", valueFrom: configFrom }];
  for (const patch of [...whole, ...listOf(configPatches)]) {
    const { path, valueFrom } = recordOf(patch);
    const { name, key, namespace } = recordOf(recordOf(valueFrom).secretKeyRef);
    const place = typeof namespace === "string" ? namespace : namespaceOf(plugin);
    const secret = options.objects.find("Secret", place, String(name));
    const text = secret && dataEntries(secret)[String(key)];
    if (text === undefined)
      return {
        ...nothing,
        fault: `there is no Secret ${place}/${name} with an entry ${key} among the objects: add it`,
      };
    const { value, violations } = readYaml(text, { file: `${place}/${name}` });
    if (violations) return { ...nothing, fault: `the entry ${key} of the Secret ${place}/${name} is not JSON or YAML` };
    values.push({ path: segmentsOf(String(path)), value: value.data });
  }
  const patched = values.reduce<unknown>((before, { path, value }) => withValue(before, path, value), recordOf(config));
  if (!isRecord(patched)) return { ...nothing, fault: "the config is not a map" };
  return { config: patched, ...secretsOf(plugin, values, options) };
}

/** The segments of a JSON pointer (RFC 6901). */
const segmentsOf = (pointer: string): readonly string[] =>
  pointer
    .split("/")
    .slice(1)
    .map((segment) => segment.replaceAll("~1", "/").replaceAll("~0", "~"));

function withValue(before: unknown, [segment, ...rest]: readonly string[], value: unknown): unknown {
  if (segment === undefined) return value;
  if (Array.isArray(before)) {
    const at = segment === "-" ? before.length : Number(segment);
    return Number.isInteger(at)
      ? before.toSpliced(at, rest.length === 0 ? 0 : 1, withValue(before[at], rest, value))
      : before;
  }
  const members = recordOf(before);
  return { ...members, [segment]: withValue(members[segment], rest, value) };
}

/** A path that `configFrom` can have. */
const ADDRESSABLE = /^[a-z0-9_]+(\.[a-z0-9_]+)*$/;

function secretsOf(
  plugin: ManifestObject,
  values: readonly SecretValue[],
  { namespace, conversion }: ReadOptions,
): Pick<PluginConfig, "configFrom" | "fault"> {
  const hidden = values.flatMap(({ path, value }) => leavesOf(value, path)).filter(({ value }) => value !== "");
  const list = hidden.find(({ path, isInList }) => isInList || !ADDRESSABLE.test(path.join(".")));
  if (list) {
    const place = `config.${list.path.join(".")}`;
    return {
      configFrom: [],
      fault:
        `${place}: lists and maps of strings cannot be read from a Secret: write the value into config if it is not ` +
        "secret",
    };
  }
  if (hidden.length === 0) return { configFrom: [] };
  const name = `${plugin.metadata.name}-config`;
  const data = hidden.map(({ path, value }) => [path.join("."), Buffer.from(value).toString("base64")] as const);
  const isWritten = conversion.resources.some(
    ({ resource: { kind, metadata } }) =>
      kind === "Secret" && metadata.name === name && metadata.namespace === namespace,
  );
  if (!isWritten) {
    const metadata = { name, namespace, labels: { [CREDENTIAL_LABEL]: "plugin" } };
    const resource = { apiVersion: "v1", kind: "Secret", metadata, type: "Opaque", data: Object.fromEntries(data) };
    conversion.addResource(resource, plugin);
  }
  return { configFrom: data.map(([path]) => ({ path, secretRef: { name, key: path } })) };
}

interface Leaf {
  readonly path: readonly string[];
  readonly value: string;
  readonly isInList: boolean;
}

/** The strings in a value. */
function leavesOf(value: unknown, path: readonly string[], isInList = false): readonly Leaf[] {
  if (typeof value === "string") return [{ path, value, isInList }];
  if (Array.isArray(value)) return value.flatMap((item) => leavesOf(item, path, true));
  if (isRecord(value))
    return Object.entries(value).flatMap(([name, item]) => leavesOf(item, [...path, name], isInList));
  return [];
}

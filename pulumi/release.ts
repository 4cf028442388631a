/** Builds a release from values: fills in the chart's defaults, and validates with the chart's schema and checks.ts. */
import { readFileSync } from "node:fs";
import { RunError } from "@pulumi/pulumi";
import { Ajv, type ErrorObject } from "ajv";
import { parse } from "yaml";
import { releaseFaults, type ValuesFault } from "./checks.ts";
import type { Release } from "./objects/names.ts";
import type { DeepOptional } from "./resources/inputs.ts";
import type { Values } from "./values.d.ts";

const chart = (file: string): string => readFileSync(new URL(`../charts/sluice/${file}`, import.meta.url), "utf8");

export interface ReleaseArgs {
  /** The prefix of the names of objects in `namespace`. */
  readonly name: string;
  readonly namespace: string;
  /** Overrides of charts/sluice/values.yaml. */
  readonly values?: DeepOptional<Values>;
  /** Whether the cluster has the CRDs of the Gateway API: without them, no GatewayClass is created. Default false. */
  readonly hasGatewayApi?: boolean;
}

/**
 * The release, with the chart's defaults for unset values.
 *
 * @throws RunError with all violations of the chart's schema or, without these, all other errors of name and values.
 */
export function releaseOf(args: ReleaseArgs): Release {
  const { release, faults } = checkRelease(args);
  if (release !== undefined) return release;
  const lines = faults.map(({ path, message }) => (path === "" ? message : `${path}: ${message}`));
  throw new RunError([`The values of ${args.name} have faults:`, ...lines].join("\n  "));
}

type CheckedRelease = { readonly release?: Release; readonly faults: readonly ValuesFault[] };

export function checkRelease({ name, namespace, values = {}, hasGatewayApi = false }: ReleaseArgs): CheckedRelease {
  const filled: unknown = merge(parse(chart("values.yaml")), values);
  if (!matchesSchema(filled)) return { faults: schemaFaults(filled) };
  const version: string = parse(chart("Chart.yaml")).appVersion;
  const release = { name, namespace, version, values: filled, hasGatewayApi };
  const faults = releaseFaults(release);
  return faults.length === 0 ? { release, faults } : { faults };
}

const ajv = new Ajv({ allErrors: true, verbose: true, allowUnionTypes: true, strictTypes: false });
const matchesSchema = ajv.compile<Values>(JSON.parse(chart("values.schema.json")));

function schemaFaults(values: unknown): readonly ValuesFault[] {
  matchesSchema(values);
  return (matchesSchema.errors ?? []).map(({ instancePath, keyword, params, data, message }: ErrorObject) => {
    const path = instancePath.slice(1).replaceAll("/", ".");
    if (keyword === "additionalProperties") {
      const unknown = `${path}${path === "" ? "" : "."}${params.additionalProperty}`;
      return { path: unknown, message: "there is no such value", surplus: true };
    }
    const allowed = keyword === "enum" ? ` (${params.allowedValues.join(", ")})` : "";
    return { path, message: `${message}${allowed}, not ${JSON.stringify(data)}` };
  });
}

/** Like Helm: maps are merged, all other values replace the default. */
function merge(value: unknown, over: unknown): unknown {
  if (!isMap(value) || !isMap(over)) return over;
  const names = new Set([...Object.keys(value), ...Object.keys(over)]);
  return Object.fromEntries(
    [...names].map((name) => {
      if (!Object.hasOwn(over, name) || over[name] === undefined) return [name, value[name]];
      return [name, Object.hasOwn(value, name) ? merge(value[name], over[name]) : over[name]];
    }),
  );
}

const isMap = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

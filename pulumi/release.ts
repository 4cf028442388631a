/** A release from what somebody says of it: the chart's defaults are filled in, and the chart's schema checks it. */
import { readFileSync } from "node:fs";
import { RunError } from "@pulumi/pulumi";
import { Ajv, type ErrorObject } from "ajv";
import { parse } from "yaml";
import { hasPostgres } from "./objects/databases.ts";
import type { Release } from "./objects/names.ts";
import type { Unfilled } from "./resources/inputs.ts";
import type { Values } from "./values.ts";

const chart = (file: string): string => readFileSync(new URL(`../charts/sluice/${file}`, import.meta.url), "utf8");

export interface ReleaseArgs {
  /** Names of all objects begin with it. */
  readonly name: string;
  readonly namespace: string;
  /** What differs from charts/sluice/values.yaml. */
  readonly values?: Unfilled<Values>;
}

/** A fault of the values: `path` is empty when it is one of the whole. */
export interface Fault {
  /** With dots: `gateway.replicas`. */
  readonly path: string;
  /** What is expected, and what there is. */
  readonly message: string;
}

/** @throws RunError with every fault of name and values. */
export function releaseOf(args: ReleaseArgs): Release {
  const { release, faults } = checkRelease(args);
  if (release !== undefined) return release;
  const lines = faults.map(({ path, message }) => (path === "" ? message : `${path}: ${message}`));
  throw new RunError([`The values of ${args.name} have faults:`, ...lines].join("\n  "));
}

/** The release, unless there are faults: all of them are told. */
export function checkRelease({ name, namespace, values = {} }: ReleaseArgs): {
  readonly release?: Release;
  readonly faults: readonly Fault[];
} {
  const filled: unknown = merge(parse(chart("values.yaml")), values);
  if (!matchesSchema(filled)) return { faults: schemaFaults(filled) };
  const version: string = parse(chart("Chart.yaml")).appVersion;
  const release = { name, namespace, version, values: filled };
  const faults = faultsOf(release);
  return faults.length === 0 ? { release, faults } : { faults };
}

const ajv = new Ajv({ allErrors: true, verbose: true, allowUnionTypes: true, strictTypes: false });
const matchesSchema = ajv.compile<Values>(JSON.parse(chart("values.schema.json")));

function schemaFaults(values: unknown): readonly Fault[] {
  matchesSchema(values);
  return (matchesSchema.errors ?? []).map(({ instancePath, keyword, params, data, message }: ErrorObject) => {
    const path = instancePath.slice(1).replaceAll("/", ".");
    if (keyword === "additionalProperties") {
      const unknown = `${path}${path === "" ? "" : "."}${params.additionalProperty}`;
      return { path: unknown, message: "there is no such value" };
    }
    const allowed = keyword === "enum" ? ` (${params.allowedValues.join(", ")})` : "";
    return { path, message: `${message}${allowed}, not ${JSON.stringify(data)}` };
  });
}

/** What is wrong with the values as a whole: charts/sluice/templates/checks.yaml says the same. */
function faultsOf(release: Release): readonly Fault[] {
  const { name, values } = release;
  const { namespaces, namespaceSelector, admin, postgres, redis, userApi, gateway } = values;
  const { enabled, minReplicas, maxReplicas } = gateway.autoscaling;
  const fault = (wrong: boolean, path: string, message: string) => (wrong ? [{ path, message }] : []);
  return [
    ...fault(
      name.length > 48,
      "",
      `the name ${name} is too long: 48 characters at most, because names of Services are made of it`,
    ),
    ...fault(
      namespaces.length > 0 && namespaceSelector !== "",
      "namespaceSelector",
      "set this or namespaces, not both",
    ),
    ...fault(
      namespaces.length > 0 && admin.enabled && admin.kubernetes,
      "admin.kubernetes",
      "it takes a ClusterRole, and with namespaces there is none: set one of them",
    ),
    ...fault(
      postgres.enabled && postgres.existingSecret !== "",
      "postgres.existingSecret",
      "set this or postgres.enabled, not both",
    ),
    ...fault(redis.enabled && redis.host !== "", "redis.host", "set this or redis.enabled, not both"),
    ...fault(
      userApi.enabled && userApi.replicas > 1 && !hasPostgres(release),
      "userApi.replicas",
      "more than one takes a Postgres server: set postgres.enabled or postgres.existingSecret",
    ),
    ...fault(
      userApi.route.enabled && !userApi.enabled,
      "userApi.route.enabled",
      "there is no user API to lead to: set userApi.enabled",
    ),
    ...fault(
      enabled && minReplicas > maxReplicas,
      "gateway.autoscaling.minReplicas",
      `at most maxReplicas (${maxReplicas}), not ${minReplicas}`,
    ),
  ];
}

/** As Helm does it: maps are merged, everything else takes the place of the default. */
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

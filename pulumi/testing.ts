/** A mock of the Pulumi engine that records registered resources. Only test suites import it. */
import { readdirSync, readFileSync } from "node:fs";
import { type Output, runtime } from "@pulumi/pulumi";
import { parseAllDocuments } from "yaml";

export interface CreatedObject {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec?: unknown;
  readonly data?: Readonly<Record<string, unknown>>;
}

export interface RegisteredResource {
  readonly type: string;
  readonly name: string;
  /** As sent to the engine, but with the plain values of secrets. */
  readonly inputs: CreatedObject;
  /** Dot-separated paths of the members of the inputs that were sent as secrets. */
  readonly secrets: readonly string[];
}

/** The member that marks special values in the engine's protocol (sdk/proto/provider.proto of pulumi). */
const SIGNATURE = "4dabf18193072939515e22adb298388d";
/** The value of that member for a secret. */
const SECRET = "1b47061264138c4ac30d75fd1eb44270";

/** @returns a list to which every resource registered from now on is appended. */
export function registerInto(registered: RegisteredResource[] = []): readonly RegisteredResource[] {
  runtime.setMocks(
    {
      newResource({ type, name, inputs }) {
        const secrets: string[] = [];
        const plain = unwrap(inputs, [], secrets) as CreatedObject;
        registered.push({ type, name, inputs: plain, secrets });
        return { id: `${name}-id`, state: inputs };
      },
      call: ({ token }) => {
        throw new Error(`unexpected call of ${token}`);
      },
    },
    "sluice",
    "dev",
  );
  return registered;
}

function unwrap(value: unknown, path: readonly string[], secrets: string[]): unknown {
  if (Array.isArray(value)) return value.map((item, index) => unwrap(item, [...path, String(index)], secrets));
  if (typeof value !== "object" || value === null) return value;
  const members = value as Readonly<Record<string, unknown>>;
  if (members[SIGNATURE] === SECRET) {
    secrets.push(path.join("."));
    return unwrap(members.value, path, secrets);
  }
  return Object.fromEntries(
    Object.entries(members).map(([name, member]) => [name, unwrap(member, [...path, name], secrets)]),
  );
}

/** Resolves to the value of an output. */
export const outputValue = <Value>(output: Output<Value>): Promise<Value> =>
  new Promise((resolve) => {
    output.apply(resolve);
  });

/** All objects in the YAML files of a folder, whose path is relative to the repository's root. */
export function readObjects(folder: string): readonly CreatedObject[] {
  const url = new URL(`../${folder}/`, import.meta.url);
  return readdirSync(url)
    .filter((file) => file.endsWith(".yaml"))
    .flatMap((file) => parseAllDocuments(readFileSync(new URL(file, url), "utf8")).map((document) => document.toJS()));
}

/** Reads the annotations of ingress-nginx (https://kubernetes.github.io/ingress-nginx, "Annotations"). */
import type { Resource } from "../../../resource.ts";

const PREFIX = "nginx.ingress.kubernetes.io/";

/** The path of an annotation in its Ingress. */
export const annotationPath = (name: string): string => `metadata.annotations[${PREFIX}${name}]`;

/** An annotation whose value cannot be used, or that is not supported. */
export interface AnnotationFault {
  readonly name: string;
  readonly message: string;
}

export interface Annotations {
  /** Names are given without the prefix of ingress-nginx. */
  has(name: string): boolean;
  /** The value without surrounding white space; undefined when it is absent or empty. */
  text(name: string): string | undefined;
  /** In the spellings of Go's ParseBool. Undefined when it is absent or invalid; an invalid value is a fault. */
  flag(name: string): boolean | undefined;
  integer(name: string, range: { readonly minimum: number; readonly maximum: number }): number | undefined;
  /** The items of a comma-separated list; undefined when the annotation is absent or has no items. */
  list(name: string): readonly string[] | undefined;
  /** The value if it is one of the words, ignoring case. */
  word<Word extends string>(name: string, words: readonly Word[]): Word | undefined;
  /** Adds a fault. The Ingress is closed if an annotation of this name protects. */
  reject(name: string, message: string): void;
  readonly faults: readonly AnnotationFault[];
  /** The names of the annotations that have not been read. */
  unread(): readonly string[];
  /** The names of the annotations without a value. */
  empty(): readonly string[];
}

const TRUE: ReadonlySet<string> = new Set(["1", "t", "T", "TRUE", "true", "True"]);
const FALSE: ReadonlySet<string> = new Set(["0", "f", "F", "FALSE", "false", "False"]);

export function annotationsOf({ metadata }: Resource): Annotations {
  const values = new Map(
    Object.entries(metadata.annotations ?? {}).flatMap(([name, value]) =>
      // Ingresses in a directory are not validated: a value may be a boolean, or another type of YAML.
      name.startsWith(PREFIX) ? [[name.slice(PREFIX.length), String(value).trim()] as const] : [],
    ),
  );
  const faults: AnnotationFault[] = [];
  const reject = (name: string, message: string) => void faults.push({ name, message });
  const read = new Set<string>();
  function text(name: string): string | undefined {
    const value = values.get(name) || undefined;
    const isOneLine = value === undefined || !/\p{Cc}/u.test(value);
    if (!isOneLine && !read.has(name)) reject(name, "expected text without line breaks and other control characters");
    read.add(name);
    return isOneLine ? value : undefined;
  }
  return {
    has: (name) => values.has(name),
    text,
    flag(name) {
      const value = text(name);
      if (value === undefined) return undefined;
      if (TRUE.has(value)) return true;
      if (!FALSE.has(value)) return reject(name, `expected true or false, not '${value}'`) as undefined;
      return false;
    },
    integer(name, { minimum, maximum }) {
      const value = text(name);
      if (value === undefined) return undefined;
      const number = /^[+-]?\d+$/.test(value) ? Number(value) : Number.NaN;
      if (number >= minimum && number <= maximum) return number;
      return reject(name, `expected an integer from ${minimum} to ${maximum}, not '${value}'`) as undefined;
    },
    list(name) {
      const items = (text(name) ?? "").split(",").flatMap((item) => item.trim() || []);
      return items.length > 0 ? items : undefined;
    },
    word(name, words) {
      const value = text(name);
      if (value === undefined) return undefined;
      const found = words.find((word) => word.toLowerCase() === value.toLowerCase());
      return found ?? (reject(name, `expected one of ${words.join(", ")}, not '${value}'`) as undefined);
    },
    reject,
    faults,
    empty: () => [...values].flatMap(([name, value]) => (value === "" ? [name] : [])),
    unread: () => [...values.keys()].filter((name) => !read.has(name)),
  };
}

/** Parsers for the text of a setting. A reader returns the value, or a description of the expected text. */
import { type Access, accesses, type Demand, demandOf, type Rules } from "./policy/policy.ts";

export type Reader<Value> = (text: string) => { readonly value: Value } | { readonly expected: string };

export const listen: Reader<{ host: string; port: number }> = (text) => {
  const match = /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(text);
  const port = Number(match?.[3]);
  const host = match?.[1] ?? match?.[2];
  if (host === undefined || port > 65_535) return { expected: "host:port, such as 127.0.0.1:4000 or [::1]:4000" };
  return { value: { host, port } };
};

/** A URL with one of these protocols (without the colon). */
export function address(protocols: readonly string[], form: string): Reader<string> {
  return (text) =>
    protocols.includes(URL.parse(text)?.protocol.slice(0, -1) ?? "") ? { value: text } : { expected: form };
}

export const anyText: Reader<string> = (text) => ({ value: text });

/** A header carries it, so it must be printable; a short one could be guessed. */
export const secret: Reader<string> = (text) =>
  /^[\x21-\x7e]{16,200}$/.test(text) ? { value: text } : { expected: "16 to 200 printable characters without spaces" };

const items = (text: string): readonly string[] =>
  text
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");

/** Origins with other schemes, such as chrome-extension://abc; URL has no origin for them. */
const OTHER_ORIGIN = /^(?!https?:)[a-z][a-z\d+.-]*:\/\/[^\s/]+$/;

/** As browsers send them: another spelling would never equal a header. */
export const origins: Reader<readonly string[]> = (text) => {
  const value = items(text);
  return value.every((item) => item === "*" || OTHER_ORIGIN.test(item) || URL.parse(item)?.origin === item)
    ? { value }
    : { expected: "* or origins with commas between, in small letters and without a path: https://app.example.org" };
};

export function oneOf<Word extends string>(words: readonly Word[]): Reader<Word> {
  return (text) => {
    const value = words.find((word) => word === text);
    return value === undefined ? { expected: `one of ${words.join(", ")}` } : { value };
  };
}

export const access: Reader<Access> = oneOf(accesses);

export const onOrOff: Reader<boolean> = (text) => {
  if (text !== "on" && text !== "off") return { expected: "on or off" };
  return { value: text === "on" };
};

export function integer(min: number, max: number): Reader<number> {
  return (text) => {
    const value = Number(text);
    return /^\d+$/.test(text) && value >= min && value <= max
      ? { value }
      : { expected: `a whole number from ${min} to ${max}` };
  };
}

/** `Mutation.createUser=scope:writer, User.email=authenticated`. */
export const rules: Reader<Rules> = (text) => {
  const read: [string, Demand][] = [];
  for (const item of items(text)) {
    const [, field, demand] = /^(\w+\.\w+)=(.*)$/.exec(item) ?? [];
    const known = demand === undefined ? null : demandOf(demand);
    if (field === undefined || known === null) {
      return {
        expected:
          "fields and what they demand, with commas between: Type.field=anonymous, Type.field=authenticated or " +
          "Type.field=scope:tag|tag",
      };
    }
    read.push([field, known]);
  }
  return { value: Object.fromEntries(read) };
};

/** Parses the values of settings, and reports unknown names. */
import { isIP } from "node:net";
import { suggestionList } from "graphql/jsutils/suggestionList.js";
import { splitList } from "./policy/caller.ts";
import { type AccessRules, type FieldAccess, parseFieldAccess } from "./policy/policy.ts";

/** The value of a setting's text, or a description of the texts that the setting accepts. */
export type ParsedSetting<Value> =
  | { readonly value: Value /** For a text in a former form: its current form. */; readonly rewrite?: string }
  | { readonly expected: string };

export type SettingReader<Value> = (text: string) => ParsedSetting<Value>;

export const listenAddress: SettingReader<{ host: string; port: number }> = (text) => {
  const match = /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(text);
  const port = Number(match?.[3]);
  const host = match?.[1] ?? match?.[2];
  if (host === undefined || port > 65_535) return { expected: "host:port, such as 127.0.0.1:4000 or [::1]:4000" };
  return { value: { host, port } };
};

/** Reads a URL with one of these protocols (given without the colon). `form` describes such a URL for the message. */
export function addressReader(protocols: readonly string[], form: string): SettingReader<string> {
  return (text) =>
    protocols.includes(URL.parse(text)?.protocol.slice(0, -1) ?? "") ? { value: text } : { expected: form };
}

export const textReader: SettingReader<string> = (text) => ({ value: text });

/** A header carries the secret, so it must be printable; a short one could be guessed. */
export const sharedSecret: SettingReader<string> = (text) =>
  /^[\x21-\x7e]{16,200}$/.test(text) ? { value: text } : { expected: "16 to 200 printable characters without spaces" };

/** Origins with schemes other than HTTP, such as chrome-extension://abc, for which `URL` reports the origin "null". */
const OTHER_ORIGIN = /^(?!https?:)[a-z][a-z\d+.-]*:\/\/[^\s/]+$/;

/** Origins as browsers send them: another spelling would never equal a header. */
export const originsReader: SettingReader<readonly string[]> = (text) => {
  const value = splitList(text);
  return value.every((item) => item === "*" || OTHER_ORIGIN.test(item) || URL.parse(item)?.origin === item)
    ? { value }
    : { expected: "* or origins, comma-separated, in lower case and without a path: https://app.example.org" };
};

export function wordReader<Word extends string>(words: readonly Word[]): SettingReader<Word> {
  return (text) => {
    const value = words.find((word) => word === text);
    return value === undefined ? { expected: `one of ${words.join(", ")}` } : { value };
  };
}

/** Reads `true` or `false`. Also reads `on` and `off`, which version 0.1 had instead. */
export const booleanValue: SettingReader<boolean> = (text) => {
  const word = text.toLowerCase();
  if (word === "true" || word === "false") return { value: word === "true" };
  if (word === "on" || word === "off") return { value: word === "on", rewrite: String(word === "on") };
  return { expected: "true or false" };
};

export function wholeNumber(min: number, max: number): SettingReader<number> {
  return (text) => {
    const value = Number(text);
    return /^\d+$/.test(text) && value >= min && value <= max
      ? { value }
      : { expected: `a whole number from ${min} to ${max}` };
  };
}

const units: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** A duration in milliseconds. The text has a unit, like the durations of the gateway. */
export function duration(min: number, max: number): SettingReader<number> {
  return (text) => {
    const [, amount, unit = ""] = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h)$/.exec(text) ?? [];
    const value = Math.round(Number(amount) * (units[unit] ?? Number.NaN));
    return value >= min && value <= max
      ? { value }
      : { expected: `a duration from ${min}ms to ${max / 1_000}s with its unit, such as 250ms, 5s or 2m` };
  };
}

/** Reads rules for fields, such as `Mutation.createUser=scope:writer, User.email=authenticated`. */
export const accessRulesReader: SettingReader<AccessRules> = (text) => {
  const read: [string, FieldAccess][] = [];
  for (const item of splitList(text)) {
    const [, field, demand] = /^(\w+\.\w+)=(.*)$/.exec(item) ?? [];
    const known = demand === undefined ? null : parseFieldAccess(demand);
    if (field === undefined || known === null) {
      return {
        expected:
          "rules for fields, comma-separated: Type.field=anonymous, Type.field=authenticated or " +
          "Type.field=scope:tag|tag",
      };
    }
    read.push([field, known]);
  }
  return { value: Object.fromEntries(read) };
};

/**
 * `SLUICE_USERAPI_` is a misspelling of the prefix; other variables that begin with `SLUICE_` belong to other programs.
 */
const PREFIX = /^SLUICE_USER_?API/;

/**
 * Variables that Kubernetes sets in a namespace with a Service sluice-user-api, unless the pod has
 * `enableServiceLinks: false`: https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables.
 */
const serviceLinks: readonly (readonly [name: RegExp, hasValue: (text: string) => boolean])[] = [
  [/_SERVICE_HOST$|_PORT_\d+_(TCP|UDP|SCTP)_ADDR$/, (text) => isIP(text) !== 0],
  [/_SERVICE_PORT(_\w+)?$|_PORT_\d+_(TCP|UDP|SCTP)_PORT$/, (text) => /^\d+$/.test(text)],
  [/_PORT(_\d+_(TCP|UDP|SCTP))?$/, (text) => /^(tcp|udp|sctp):\/\//.test(text)],
  [/_PORT_\d+_(TCP|UDP|SCTP)_PROTO$/, (text) => /^(tcp|udp|sctp)$/.test(text)],
];

/** One message for each variable that has our prefix but is not a setting: it is probably misspelled. */
export function unknownVariables(
  environment: Readonly<Record<string, string | undefined>>,
  { known, former }: { readonly known: readonly string[]; readonly former: readonly string[] },
): readonly string[] {
  return Object.entries(environment).flatMap(([name, text = ""]) => {
    if (!PREFIX.test(name) || known.includes(name) || former.includes(name) || text === "") return [];
    if (serviceLinks.some(([form, hasValue]) => form.test(name) && hasValue(text))) return [];
    return [`${name}: there is no such setting${didYouMean(name, known)}`];
  });
}

/** The end of a message about an unknown name: graphql-js's suggestion for it, or an empty text if there is none. */
export function didYouMean(name: string, candidates: readonly string[]): string {
  const [first] = suggestionList(name, candidates);
  return first === undefined ? "" : `, did you mean ${first}?`;
}

/** Parses and describes the values of each kind of setting. */
import { isIP } from "node:net";
import type { Address, Declaration } from "./declaration.ts";

/** Parses a non-empty text; undefined if it is not of the declared kind. */
export function parseSetting(declaration: Declaration, text: string): unknown {
  switch (declaration.kind) {
    case "text":
      return text;
    case "integer":
      return parseInteger(text, declaration);
    case "count":
      return text === "auto" ? text : parseInteger(text, { minimum: 1, maximum: declaration.maximum });
    case "share":
      return parseShare(text);
    case "flag":
      return FLAGS[text.toLowerCase()];
    case "choice":
      return declaration.words.includes(text) ? text : undefined;
    case "list":
      return itemsOf(text);
    case "addresses": {
      const items = itemsOf(text);
      return items.every((item) => isAddressBlock(item) || (declaration.ports && hasPort(item))) ? items : undefined;
    }
    case "duration":
      return parseDuration(text);
    case "address":
      return parseAddress(text);
  }
}

const itemsOf = (text: string): readonly string[] =>
  text
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");

function isAddressBlock(text: string): boolean {
  const [, address = "", bits = "0"] = /^([\da-f.:]+)(?:\/(\d{1,3}))?$/i.exec(text) ?? [];
  const version = isIP(address);
  return version !== 0 && Number(bits) <= (version === 4 ? 32 : 128);
}

const hasPort = (text: string): boolean => isIP(parseAddress(text)?.host ?? "") !== 0;

const FLAGS: Readonly<Partial<Record<string, boolean>>> = Object.assign(Object.create(null), {
  true: true,
  on: true,
  yes: true,
  1: true,
  false: false,
  off: false,
  no: false,
  0: false,
});

interface Limits {
  readonly minimum?: number;
  readonly maximum?: number;
}

function parseInteger(text: string, { minimum, maximum }: Limits): number | undefined {
  const value = /^[+-]?\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(value)) return undefined;
  return value >= (minimum ?? value) && value <= (maximum ?? value) ? value : undefined;
}

const parseShare = (text: string): number | undefined =>
  /^(0(\.\d{1,9})?|1(\.0{1,9})?|\.\d{1,9})$/.test(text) ? Number(text) : undefined;

/** Milliseconds. */
export const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

function parseDuration(text: string): number | undefined {
  const [, amount, unit = ""] = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h)$/.exec(text) ?? [];
  const factor = UNITS[unit];
  return amount === undefined || factor === undefined ? undefined : Math.round(Number(amount) * factor);
}

export function parseAddress(text: string): Address | undefined {
  const [, bracketed, plain, port] = /^(?:\[([0-9A-Fa-f:.]+)\]|([^\s:[\]/]+)):(\d{1,5})$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  return host === undefined || Number(port) > 65_535 ? undefined : { host, port: Number(port) };
}

/** The expected form of a value, in words. */
export function describeExpected(declaration: Declaration): string {
  switch (declaration.kind) {
    case "text":
      return "a string";
    case "integer": {
      const { minimum, maximum } = declaration;
      if (minimum !== undefined && maximum !== undefined) return `an integer between ${minimum} and ${maximum}`;
      if (minimum !== undefined) return `an integer of at least ${minimum}`;
      return maximum === undefined ? "an integer" : `an integer of at most ${maximum}`;
    }
    case "count":
      return declaration.maximum === undefined
        ? "an integer of at least 1, or auto"
        : `an integer between 1 and ${declaration.maximum}, or auto`;
    case "share":
      return "a number from 0 to 1";
    case "flag":
      return "true or false";
    case "choice":
      return `one of: ${declaration.words.join(", ")}`;
    case "list":
      return "strings separated by commas";
    case "addresses":
      return declaration.ports
        ? "IP addresses, CIDR blocks or address:port, separated by commas, such as 127.0.0.0/8 or [::1]:8000"
        : "IP addresses and CIDR blocks separated by commas, such as 10.0.0.0/8 or ::1";
    case "duration":
      return "a duration with its unit, such as 250ms, 5s, 2m or 1h";
    case "address":
      return "host:port, such as 127.0.0.1:8000 or [::1]:8000";
  }
}

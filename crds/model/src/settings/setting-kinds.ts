/** Parses and describes the values of each kind of setting. */
import { isIP } from "node:net";
import type { Address, Declaration, ListenerAddress } from "./declaration.ts";

interface SettingKind<Declared> {
  /** Parses a non-empty text; undefined if it is not of this kind. */
  readonly parse: (text: string, declaration: Declared) => unknown;
  /** The expected form of a value, in words. */
  readonly expected: (declaration: Declared) => string;
}

const kinds: { readonly [Kind in Declaration["kind"]]: SettingKind<Extract<Declaration, { kind: Kind }>> } = {
  text: { parse: (text) => text, expected: () => "a string" },
  integer: { parse: parseInteger, expected: describeLimits },
  count: {
    parse: (text, { maximum }) => (text === "auto" ? text : parseInteger(text, { minimum: 1, maximum })),
    expected: ({ maximum }) => `${describeLimits({ minimum: 1, maximum })}, or auto`,
  },
  share: {
    parse: (text) => (/^(0(\.\d{1,9})?|1(\.0{1,9})?|\.\d{1,9})$/.test(text) ? Number(text) : undefined),
    expected: () => "a number from 0 to 1",
  },
  flag: { parse: parseFlag, expected: () => "true or false" },
  choice: {
    parse: (text, { words }) => (words.includes(text) ? text : undefined),
    expected: ({ words }) => `one of: ${words.join(", ")}`,
  },
  list: { parse: itemsOf, expected: () => "strings separated by commas" },
  addresses: {
    parse(text, { ports, blocks = true }) {
      const items = itemsOf(text);
      const isPlain = (item: string) => (blocks ? isAddressBlock(item) : isIP(item) !== 0);
      return items.every((item) => isPlain(item) || (ports && hasPort(item))) ? items : undefined;
    },
    expected({ ports, blocks = true }) {
      if (!blocks) return "IP addresses or address:port, separated by commas, such as 10.0.0.53 or [::1]:8600";
      return ports
        ? "IP addresses, CIDR blocks or address:port, separated by commas, such as 127.0.0.0/8 or [::1]:8000"
        : "IP addresses and CIDR blocks separated by commas, such as 10.0.0.0/8 or ::1";
    },
  },
  duration: { parse: parseDuration, expected: () => "a duration with its unit, such as 250ms, 5s, 2m or 1h" },
  address: { parse: parseAddress, expected: () => "host:port, such as 127.0.0.1:8000 or [::1]:8000" },
  listeners: {
    parse: parseListeners,
    expected: () =>
      "addresses separated by commas, each followed by the word ssl if its clients use TLS, such as 0.0.0.0:9000, 0.0.0.0:9443 ssl; or off",
  },
};

export const settingKindOf = ({ kind }: Declaration): SettingKind<Declaration> =>
  kinds[kind] as SettingKind<Declaration>;

function itemsOf(text: string): readonly string[] {
  const items = text.split(",").map((item) => item.trim());
  return items.filter((item) => item !== "");
}

function isAddressBlock(text: string): boolean {
  const [, address = "", bits = "0"] = /^([\da-f.:]+)(?:\/(\d{1,3}))?$/i.exec(text) ?? [];
  const version = isIP(address);
  return version !== 0 && Number(bits) <= (version === 4 ? 32 : 128);
}

const hasPort = (text: string): boolean => isIP(parseAddress(text)?.host ?? "") !== 0;

interface Limits {
  readonly minimum?: number;
  readonly maximum?: number;
}

function parseInteger(text: string, { minimum, maximum }: Limits): number | undefined {
  const value = /^[+-]?\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(value)) return undefined;
  return value >= (minimum ?? value) && value <= (maximum ?? value) ? value : undefined;
}

function describeLimits({ minimum, maximum }: Limits): string {
  if (minimum !== undefined && maximum !== undefined) return `an integer between ${minimum} and ${maximum}`;
  if (minimum !== undefined) return `an integer of at least ${minimum}`;
  return maximum === undefined ? "an integer" : `an integer of at most ${maximum}`;
}

function parseFlag(text: string): boolean | undefined {
  if (/^(true|on|yes|1)$/i.test(text)) return true;
  return /^(false|off|no|0)$/i.test(text) ? false : undefined;
}

/** Milliseconds per unit. */
export const UNIT_MILLISECONDS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

function parseDuration(text: string): number | undefined {
  const [, amount, unit = ""] = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h)$/.exec(text) ?? [];
  const factor = UNIT_MILLISECONDS[unit];
  return amount === undefined || factor === undefined ? undefined : Math.round(Number(amount) * factor);
}

export function parseAddress(text: string): Address | undefined {
  const [, bracketed, plain, port] = /^(?:\[([0-9A-Fa-f:.]+)\]|([^\s:[\]/]+)):(\d{1,5})$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  return host === undefined || Number(port) > 65_535 ? undefined : { host, port: Number(port) };
}

/** Undefined if an entry is invalid, or if two entries have the same address. */
function parseListeners(text: string): readonly ListenerAddress[] | undefined {
  if (text.toLowerCase() === "off") return [];
  const listeners = itemsOf(text).map((item) => {
    const [, address = "", flag] = /^(\S+)(\s+ssl)?$/.exec(item) ?? [];
    const parsed = parseAddress(address);
    return parsed && { ...parsed, tls: flag !== undefined };
  });
  const known = listeners.filter((listener) => listener !== undefined);
  const places = new Set(known.filter(({ port }) => port !== 0).map(({ host, port }) => `${host} ${port}`));
  const free = known.filter(({ port }) => port === 0).length;
  return known.length === listeners.length && places.size + free === known.length ? known : undefined;
}

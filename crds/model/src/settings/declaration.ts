/** Declarations of settings as data, from which the types of their values are derived. */

interface Described<Kind extends string, Value> {
  readonly variable: string;
  readonly kind: Kind;
  readonly description: string;
  /** A setting without default is required; null means that it may be unset. */
  readonly default?: Value | null;
  /** Whether the value must appear in no message. */
  readonly secret?: boolean;
}

export interface Address {
  /** An IPv6 address has no brackets here. */
  readonly host: string;
  readonly port: number;
}

/** The address of a listener. */
export interface ListenerAddress extends Address {
  /** Whether clients use TLS: the word `ssl` after the address, as in Kong. */
  readonly tls: boolean;
}

/** `10.0.0.1:80`, or `[::1]:80` for an IPv6 address. */
export const hostAndPort = ({ host, port }: Address): string => `${host.includes(":") ? `[${host}]` : host}:${port}`;

/**
 * | kind | example | value |
 * |---|---|---|
 * | text | `abc` | the text without surrounding spaces |
 * | integer | `5` | a number, between `minimum` and `maximum` |
 * | count | `4` or `auto` | a number of at least 1, or the word `auto` |
 * | share | `0.25` | a number from 0 to 1 |
 * | flag | `true` `on` `1` `yes`, or their opposites | a boolean |
 * | choice | one of `words` | that word |
 * | list | `a, b` | the texts between commas; empty ones are omitted |
 * | addresses | `10.0.0.0/8, ::1` | a list of IP addresses and CIDR blocks, with `ports` also of `address:port`, and with `blocks: false` not of CIDR blocks |
 * | duration | `250ms` `5s` `2m` `1h` | milliseconds; the unit is required |
 * | address | `127.0.0.1:8000` `[::1]:8000` `0.0.0.0:0` | host and port |
 * | listeners | `0.0.0.0:9000, 0.0.0.0:9443 ssl` or `off` | a list of addresses, each with or without TLS |
 */
export type Declaration =
  | Described<"text", string>
  | (Described<"integer", number> & { readonly minimum?: number; readonly maximum?: number })
  | (Described<"count", number | "auto"> & { readonly maximum?: number })
  | Described<"share", number>
  | Described<"flag", boolean>
  | (Described<"choice", string> & { readonly words: readonly string[] })
  | Described<"list", readonly string[]>
  | (Described<"addresses", readonly string[]> & { readonly ports?: true; readonly blocks?: false })
  | Described<"duration", number>
  | Described<"address", string>
  | Described<"listeners", readonly ListenerAddress[]>;

export type Declarations = Readonly<Record<string, Declaration>>;

type Value<D extends Declaration> = D extends { readonly kind: "choice"; readonly words: readonly (infer Word)[] }
  ? Word
  : D["kind"] extends "address"
    ? Address
    : NonNullable<Extract<Declaration, { kind: D["kind"] }>["default"]>;

/** The values that `readSettings` returns, by name; null for an unset variable whose default is null. */
export type SettingsOf<Declared extends Declarations> = {
  readonly [Name in keyof Declared]: Value<Declared[Name]> | (Declared[Name]["default"] extends null ? null : never);
};

/** Preserves literal types of declarations: `defineSettings({ ... })`. */
export const defineSettings = <const Declared extends Declarations>(declarations: Declared): Declared => declarations;

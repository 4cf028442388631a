/** Start-up settings, from the environment. */
import { levels } from "pino";

export interface Settings {
  readonly host: string;
  readonly port: number;
  /** A database server. Unset: PGlite. */
  readonly databaseUrl: string | undefined;
  /** PGlite's folder. Unset: in memory. */
  readonly dataFolder: string | undefined;
  /** `open`: everything is allowed to everyone. `authenticated`: createUser needs a consumer. */
  readonly access: Access;
  /** Origins besides our own from which a browser may open a WebSocket without being a consumer; `*` for all. */
  readonly origins: readonly string[];
  readonly depth: number;
  readonly logLevel: string;
  readonly drainSeconds: number;
}

export type Access = "open" | "authenticated";

type Environment = Readonly<Record<string, string | undefined>>;

/** Reads one setting: its value, or what the text should have been. */
type Reader<Value> = (text: string) => { readonly value: Value } | { readonly expected: string };

const listen: Reader<{ host: string; port: number }> = (text) => {
  const match = /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(text);
  const port = Number(match?.[3]);
  const host = match?.[1] ?? match?.[2];
  if (host === undefined || port > 65_535) return { expected: "host:port, such as 127.0.0.1:4000 or [::1]:4000" };
  return { value: { host, port } };
};

const databaseUrl: Reader<string> = (text) =>
  /^postgres(ql)?:$/.test(URL.parse(text)?.protocol ?? "")
    ? { value: text }
    : { expected: "postgres://user:password@host:port/database" };

const anyText: Reader<string> = (text) => ({ value: text });

const list: Reader<readonly string[]> = (text) => ({
  value: text
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== ""),
});

function oneOf<Word extends string>(words: readonly Word[]): Reader<Word> {
  return (text) => {
    const value = words.find((word) => word === text);
    return value === undefined ? { expected: `one of ${words.join(", ")}` } : { value };
  };
}

function integer(min: number, max: number): Reader<number> {
  return (text) => {
    const value = Number(text);
    return /^\d+$/.test(text) && value >= min && value <= max
      ? { value }
      : { expected: `a whole number from ${min} to ${max}` };
  };
}

/** Reads all settings, or says of each wrong one what it should be. A variable that is set but empty counts as unset. */
export function readSettings(
  environment: Environment,
): { readonly settings: Settings } | { readonly violations: readonly string[] } {
  const violations: string[] = [];
  function read<Value, Default>(name: string, fallback: Default, reader: Reader<Value>): Value | Default {
    const text = environment[name];
    if (text === undefined || text === "") return fallback;
    const result = reader(text);
    if ("value" in result) return result.value;
    // The text itself may hold a password.
    violations.push(`${name} must be ${result.expected}`);
    return fallback;
  }

  const settings: Settings = {
    ...read("SLUICE_USER_API_LISTEN", { host: "127.0.0.1", port: 4000 }, listen),
    databaseUrl: read("SLUICE_USER_API_DATABASE_URL", undefined, databaseUrl),
    dataFolder: read("SLUICE_USER_API_DATA", undefined, anyText),
    access: read("SLUICE_USER_API_ACCESS", "open", oneOf<Access>(["open", "authenticated"])),
    origins: read("SLUICE_USER_API_ORIGINS", [], list),
    depth: read("SLUICE_USER_API_DEPTH", 8, integer(1, 100)),
    logLevel: read("SLUICE_USER_API_LOG_LEVEL", "info", oneOf([...Object.values(levels.labels), "silent"])),
    drainSeconds: read("SLUICE_USER_API_DRAIN_SECONDS", 10, integer(0, 3_600)),
  };
  return violations.length > 0 ? { violations } : { settings };
}

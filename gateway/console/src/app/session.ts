/** What the console knows about the admin API and the caller. */
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import { read, requestJson } from "../api/client.ts";

export interface ConsoleSession {
  /** Whether the console offers changes. The admin API decides about each change by the caller's token in any case. */
  readonly canWrite: boolean;
  /** Why the console offers no changes; undefined if it does. */
  readonly readOnlyReason: string | undefined;
  readonly version: string;
  readonly store: string;
}

export const ConsoleSessionContext = createContext<ConsoleSession>({
  canWrite: false,
  readOnlyReason: undefined,
  version: "",
  store: "",
});

export const useConsoleSession = (): ConsoleSession => useContext(ConsoleSessionContext);

interface RootBody {
  readonly configuration?: { readonly database?: string };
  readonly sluice?: { readonly version: string; readonly store: string };
}

/** @throws ApiError 401 when a token is required. */
export async function loadSession(): Promise<ConsoleSession> {
  const { read_only } = await read<{ readonly read_only: boolean }>("console/settings.json");
  // Unlike /, this URL is never answered without a token if one is required.
  await requestJson("plugins/enabled");
  const { configuration, sluice } = await read<RootBody>("");
  const readOnlyReason = read_only
    ? "The console is read-only (SLUICE_CONSOLE=read-only)."
    : configuration?.database === "off"
      ? "The configuration comes from a file that the admin API does not write."
      : undefined;
  return {
    canWrite: readOnlyReason === undefined,
    readOnlyReason,
    version: sluice?.version ?? "",
    store: sluice?.store ?? "",
  };
}

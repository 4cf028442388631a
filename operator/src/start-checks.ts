/** Checks at start-up, and their errors as messages for users. */
import { KubeconfigError, type LeaseTiming } from "@sluice/crds";
import { DEFAULT_CLASS, PemError, SettingsError } from "@sluice/model";
import { type OperatorSettings, operatorSettings } from "./settings.ts";

/**
 * @throws SettingsError when another operator could lead before this one stops, when the duration is not in whole
 * seconds, when the retry interval is 0 or not shorter than the renew deadline, or when a Lease label cannot hold the
 * class.
 */
export function leaseTiming(settings: OperatorSettings): LeaseTiming {
  const { leaseDuration: duration, leaseRenewDeadline: renewDeadline, leaseRetry: retry } = settings;
  const { leaseDuration, leaseRenewDeadline, leaseRetry } = operatorSettings;
  // A Lease has a duration in whole seconds.
  if (duration < 1000 || duration % 1000 !== 0)
    throw new SettingsError(`${leaseDuration.variable} must be a whole number of seconds`);
  if (renewDeadline >= duration)
    throw new SettingsError(`${leaseRenewDeadline.variable} must be shorter than ${leaseDuration.variable}`);
  if (!/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(settings.class))
    throw new SettingsError(
      `${operatorSettings.class.variable}: expected at most 63 lower-case letters, digits and -, with no - at either end`,
    );
  if (retry >= renewDeadline || retry <= 0)
    throw new SettingsError(`${leaseRetry.variable} must be shorter than ${leaseRenewDeadline.variable}, and not 0`);
  return { duration, renewDeadline, retry };
}

/**
 * The name of the operator's Lease in the home namespace, from which the name of its saved state is derived. Operators
 * of different classes use different names.
 */
export function ownObjectName({ class: className }: OperatorSettings): string {
  return className === DEFAULT_CLASS ? "sluice-operator" : `sluice-operator-${className}`;
}

export const readsAllNamespaces = (settings: Pick<OperatorSettings, "namespaces" | "namespaceSelector">): boolean =>
  settings.namespaces.length === 0 && settings.namespaceSelector === null;

/** The message for an error at start-up. An error that users cannot correct is a bug and keeps its stack. */
export function startErrorMessage(error: Error & { readonly code?: string }, { listen }: OperatorSettings): string {
  if (error.code === "EADDRINUSE") return portInUse(listen.port, operatorSettings.listen.variable);
  const known = [SettingsError, KubeconfigError, PemError].some((type) => error instanceof type);
  return known || error.code === "ENOENT" || error.code === "EACCES" ? error.message : (error.stack ?? error.message);
}

export const portInUse = (port: number, variable: string): string =>
  `port ${port} is in use: choose another address with ${variable}`;

/** The namespaces whose resources are read. */
import type { NamespaceSelector } from "@sluice/crds";
import { type OperatorSettings, operatorSettings } from "../settings.ts";
import { SettingsError } from "../start-checks.ts";

/**
 * The selector, with the home namespace always included; null: all watched namespaces.
 *
 * @throws SettingsError when it contradicts other settings.
 */
export function namespaceSelectorOf(
  settings: Pick<OperatorSettings, "namespaceSelector" | "namespaces" | "homeNamespace" | "directory">,
): NamespaceSelector | null {
  const { namespaceSelector, namespaces, homeNamespace, directory } = settings;
  if (namespaceSelector === null) return null;
  const { variable } = operatorSettings.namespaceSelector;
  if (namespaces.length > 0)
    throw new SettingsError(
      `${variable} and ${operatorSettings.namespaces.variable} both select namespaces: set one of them`,
    );
  if (directory !== null)
    throw new SettingsError(
      `${variable} needs a cluster: a directory (${operatorSettings.directory.variable}) has no namespace labels`,
    );
  return { labels: namespaceSelector, always: [homeNamespace] };
}

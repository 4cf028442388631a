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
      `${variable} and ${operatorSettings.namespaces.variable} both say which namespaces count: set one of them`,
    );
  if (directory !== null)
    throw new SettingsError(
      `${variable} is for clusters: a folder (${operatorSettings.directory.variable}) has no labels of namespaces`,
    );
  return { labels: namespaceSelector, always: [homeNamespace] };
}

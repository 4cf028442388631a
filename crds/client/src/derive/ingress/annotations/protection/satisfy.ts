/** `satisfy: any`: a request needs an allowed address or an accepted login, as with nginx' directive of this name. */
import type { Annotations } from "../annotations.ts";
import type { PluginEffect } from "../effects.ts";

const NAME = "satisfy";

/**
 * The plugins for addresses, sizes and logins. With only one kind of protection, `any` means the same as `all`.
 *
 * @param access The plugins for addresses and sizes.
 */
export function satisfyingEffects(
  annotations: Annotations,
  access: readonly PluginEffect[],
  logins: readonly PluginEffect[],
): readonly PluginEffect[] {
  const isAny = annotations.word(NAME, ["all", "any"]) === "any";
  const addresses = access.find(({ plugin }) => plugin === "ip-restriction");
  const [login, ...others] = logins;
  if (!isAny || login === undefined || (addresses === undefined && others.length === 0)) return [...access, ...logins];
  if (others.length > 0) annotations.reject(NAME, "'any' is not supported with auth-type and auth-url together");
  if (addresses?.config.deny !== undefined)
    annotations.reject(NAME, "'any' is not supported with denylist-source-range");
  const config = { ...login.config, exempt: addresses?.config.allow };
  return [...access.filter((one) => one !== addresses), { ...login, config }, ...others];
}

/** Translates all annotations of an Ingress. */
import type { Resource } from "../../../resource.ts";
import { aliasesOf } from "./aliases.ts";
import { type Annotations, annotationPath, annotationsOf } from "./annotations.ts";
import type { IngressEffects, PluginEffect } from "./effects.ts";
import type { AnnotationLookups } from "./lookups.ts";
import { accessEffects } from "./protection/access.ts";
import { authenticationEffects } from "./protection/authentication.ts";
import { corsEffects } from "./protection/cors.ts";
import { limitEffects } from "./protection/limits.ts";
import { redirectEffects } from "./redirects.ts";
import { type AnnotationFacts, annotationTable } from "./table.ts";
import { responseHeaderEffects, transformEffects } from "./transforms.ts";
import { backendEffects } from "./upstream/backend.ts";
import { balancingEffects } from "./upstream/balancing.ts";
import { mirrorEffectOf } from "./upstream/mirror.ts";

export interface TranslatedAnnotations {
  readonly effects: IngressEffects;
  readonly problems: readonly { readonly reason: string; readonly message: string }[];
  /** Why all requests are answered with 503; undefined: they are served. */
  readonly closed: string | undefined;
}

/** Translates an Ingress without annotations of ingress-nginx too, for the defaults. */
export function translateAnnotations(ingress: Resource, read: AnnotationLookups["read"]): TranslatedAnnotations {
  const annotations = annotationsOf(ingress);
  const { namespace, name } = ingress.metadata;
  const effects = effectsOf(annotations, { namespace, scope: `ingress ${name}`, read });
  const faults = [
    ...annotations.faults,
    // Without a value, ingress-nginx would not protect.
    ...annotations
      .empty()
      .flatMap((of) => (annotationMayProtect(of) ? { name: of, message: "the value is empty" } : [])),
    ...annotations.unread().flatMap((name) => {
      const isOff = annotationCanBeOff(name) && annotations.flag(name) === false;
      const message = isOff ? undefined : unreadMessage(name);
      return message === undefined ? [] : { name, message };
    }),
  ];
  const problems = faults.map(({ name, message }) => {
    const outcome = annotationMayProtect(name)
      ? "it may protect, so all requests of this Ingress are answered with 503"
      : "it has no effect";
    return { reason: "AnnotationNotSupported", message: `${annotationPath(name)}: ${message}; ${outcome}` };
  });
  const closing = faults.findIndex(({ name }) => annotationMayProtect(name));
  return { effects, problems, closed: problems[closing]?.message };
}

const effectsOf = (annotations: Annotations, lookups: AnnotationLookups): IngressEffects => ({
  ...backendEffects(annotations, lookups),
  ...balancingEffects(annotations),
  ...redirectEffects(annotations),
  aliases: aliasesOf(annotations),
  mirror: mirrorEffectOf(annotations),
  plugins: [
    ...limitEffects(annotations, lookups.scope),
    ...satisfyingEffects(annotations, accessEffects(annotations), authenticationEffects(annotations, lookups)),
    ...corsEffects(annotations),
    ...transformEffects(annotations),
    ...responseHeaderEffects(annotations, lookups),
  ],
});

const SATISFY = "satisfy";

/**
 * The plugins for addresses, sizes and logins. With `satisfy: any`, a request needs an allowed address or an accepted
 * login, as with nginx' directive of this name. With only one kind of protection, `any` means the same as `all`.
 *
 * @param access The plugins for addresses and sizes.
 */
function satisfyingEffects(
  annotations: Annotations,
  access: readonly PluginEffect[],
  logins: readonly PluginEffect[],
): readonly PluginEffect[] {
  const isAny = annotations.word(SATISFY, ["all", "any"]) === "any";
  const addresses = access.find(({ plugin }) => plugin === "ip-restriction");
  const [login, ...others] = logins;
  if (!isAny || login === undefined || (addresses === undefined && others.length === 0)) return [...access, ...logins];
  if (others.length > 0) annotations.reject(SATISFY, "'any' is not supported with auth-type and auth-url together");
  if (addresses?.config.deny !== undefined)
    annotations.reject(SATISFY, "'any' is not supported with denylist-source-range");
  const config = { ...login.config, exempt: addresses?.config.allow };
  return [...access.filter((one) => one !== addresses), { ...login, config }, ...others];
}

/** The first words of the names of annotations that protect, whether or not the table has the whole name. */
const PROTECTING =
  /^(auth|limit|whitelist|allowlist|denylist|global-rate-limit|satisfy|enable-modsecurity|enable-global-auth|modsecurity|proxy-ssl|ssl-passthrough)(-|$)|-snippet$/i;

const factsOf = (name: string): AnnotationFacts | undefined =>
  Object.hasOwn(annotationTable, name) ? annotationTable[name] : undefined;

/** Whether an Ingress must be closed if the annotation cannot be honoured. */
const annotationMayProtect = (name: string): boolean =>
  factsOf(name)?.protects ?? (factsOf(name) === undefined && PROTECTING.test(name));

/** Whether an annotation that was not read asks for nothing if its value is `false`. */
const annotationCanBeOff = (name: string): boolean => factsOf(name)?.canBeOff === true;

/** Why an annotation that was not read has no effect; undefined: this is harmless. */
function unreadMessage(name: string): string | undefined {
  const facts = factsOf(name);
  if (facts === undefined) return "ingress-nginx has no such annotation, or Sluice does not know it";
  if (facts.ignored) return undefined;
  const { effect, instead } = facts;
  const message = `${effect.slice(0, 1).toLowerCase()}${effect.slice(1).replace(/\.$/, "")}`;
  return instead === undefined ? message : `${message}: ${instead}`;
}

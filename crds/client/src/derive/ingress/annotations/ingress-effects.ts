/** Translates all annotations of an Ingress. */
import type { Resource } from "../../../resource.ts";
import { aliasesOf } from "./aliases.ts";
import { type Annotations, annotationPath, annotationsOf } from "./annotations.ts";
import type { IngressEffects } from "./effects.ts";
import type { AnnotationLookups } from "./lookups.ts";
import { accessEffects } from "./protection/access.ts";
import { authenticationEffects } from "./protection/authentication.ts";
import { corsEffects } from "./protection/cors.ts";
import { limitEffects } from "./protection/limits.ts";
import { satisfyingEffects } from "./protection/satisfy.ts";
import { redirectEffects } from "./redirects.ts";
import { responseHeaderEffects } from "./response-headers.ts";
import { annotationMayProtect, unreadMessage } from "./table.ts";
import { transformEffects } from "./transforms.ts";
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
      const message = unreadMessage(name);
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

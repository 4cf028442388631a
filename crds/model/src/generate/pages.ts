/** The reference pages about entities and resources. */

import { type Collection, collections, entities } from "../entities/index.ts";
import { kindFacts, parameterKinds } from "../resources/index.ts";
import { apiVersion, type KindFacts, type ParameterKindFacts, pluralOf, type SpecNode } from "../resources/kind.ts";
import { type GeneratedFile, generatedPage } from "./files.ts";
import { memberTable } from "./tables.ts";

export const entitiesPage = (): GeneratedFile => generatedPage("docs/reference/entities.md", entitiesText());
export const resourcesPage = (): GeneratedFile => generatedPage("docs/reference/resources.md", resourcesText());

const sections = (...texts: readonly string[]): string => texts.join("\n\n");

function entitiesText(): string {
  return sections(
    "# Entities",
    "This page lists the fields of entities in the admin API and in declarative files. A response of the admin " +
      "API contains every field; unset fields are `null`. [Resources](resources.md) describes the same entities as " +
      "Kubernetes custom resources.",
    ...collections.map(entitySection),
  );
}

function entitySection(collection: Collection): string {
  const { schema, key, within } = entities[collection];
  const named = key === null ? "" : ` or its \`${key}\``;
  const place = within === undefined ? "" : `, below its ${within}`;
  return sections(
    `## ${collection}`,
    `${schema.description} URLs identify an entity of this collection by its \`id\`${named}${place}.`,
    memberTable({ ...schema, required: schema.required?.filter((name) => !made.includes(name)) }),
  );
}

/** Members that are generated when they are missing. */
const made = ["id", "created_at", "updated_at"];

function resourcesText(): string {
  return sections(
    "# Resources",
    `The custom resources have the group and version \`${apiVersion}\`. All are namespaced; \`kubectl get sluice\` ` +
      "lists the resources of all kinds. An unset field has the default of its [entity](entities.md). The " +
      "conditions in `status` are `Accepted`, `ResolvedRefs` and `Programmed`; Certificates with `acme` also have " +
      "`Issued`, with the state of their order. GatewayParameters represents no " +
      "entity and has no status: the Gateways and GatewayClasses that name it report its problems.",
    ...Object.entries({ ...kindFacts, ...parameterKinds }).map(([kind, facts]) => kindSection(kind, facts)),
  );
}

function kindSection(kind: string, facts: KindFacts | ParameterKindFacts): string {
  const rules = celRules(facts.spec, "spec");
  return sections(
    `## ${kind}`,
    `${facts.spec.description} Listed by \`kubectl get ${facts.shortName}\` or \`kubectl get ${pluralOf(facts)}.${apiVersion.split("/")[0]}\`.`,
    memberTable(facts.spec),
    ...(rules.length > 0 ? ["The API server also checks:", rules.map((rule) => `- ${rule}`).join("\n")] : []),
  );
}

function celRules(node: SpecNode, path: string): readonly string[] {
  return [
    ...(node.cel ?? []).map(
      ({ message }) => `\`${path}\`: ${message.replace(/[<>*]/g, (character) => `\\${character}`)}`,
    ),
    ...Object.entries(node.properties ?? {}).flatMap(([name, member]) => celRules(member, `${path}.${name}`)),
    ...(node.items ? celRules(node.items, `${path}[]`) : []),
  ];
}

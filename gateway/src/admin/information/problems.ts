/**
 * `GET /problems`: resources and files that are not served as written, each with its remedy, certificates that clients
 * refuse, and plugins that name missing GraphQL documents or whose protocols match no route.
 * `GET /certificate-details/{id}`: the names and the validity of a certificate or CA certificate.
 * `GET /certificate-details`: those of all CA certificates, which have no names.
 * `GET /origins/{collection}/{id}`: where an entity is written. `GET /resources/{kind}/{namespace}/{name}`: the text of
 * a custom resource, valid or not.
 */
import { type Collection, collections, kindFacts, pluralOf, type ResourceKind } from "@sluice/model";
import type { AdminSettings } from "../../settings/commands/admin.ts";
import { readCollection } from "../../stores/read-all.ts";
import type { StoreProblem } from "../../stores/store.ts";
import type { AdminContext } from "../context.ts";
import { isId } from "../entities/resolve-url.ts";
import type { AdminRoute } from "../entities/routes.ts";
import { notFound } from "../http/errors.ts";
import {
  authorityDetails,
  authorityDetailsBody,
  certificateDetailsBody,
  createCertificateWarnings,
} from "./certificate-warnings.ts";
import { graphqlDocumentWarnings } from "./graphql-document-warnings.ts";
import { protocolWarnings } from "./protocol-warnings.ts";
import { withoutSecrets } from "./resource-secrets.ts";

/** Maximum number of problems in a response. */
const MAXIMUM = 1000;

const isCollection = (name: string | undefined): name is Collection => collections.some((known) => known === name);

/** Whether the conditions of custom resources report what they refer to. */
const hasConditions = ({ store }: Pick<AdminSettings, "store">): boolean =>
  store === "cluster" || store === "directory";

export const problemRoutes = ({ store, settings }: Pick<AdminContext, "store" | "settings">): readonly AdminRoute[] => {
  const certificateWarnings = createCertificateWarnings(store);
  return [
    {
      url: "/problems",
      handlers: {
        async GET() {
          const problems = withoutRepetition((await store.problems?.()) ?? []);
          const data = problems
            .slice(0, MAXIMUM)
            .map((problem) => ({ ...problem, remedy: remedyOf(problem, settings) }));
          // No error if the store cannot be read: GET /status reports that.
          const lists = await Promise.all([
            certificateWarnings().catch(() => []),
            hasConditions(settings) ? [] : graphqlDocumentWarnings(store).catch(() => []),
            hasConditions(settings) ? [] : protocolWarnings(store).catch(() => []),
          ]);
          const warnings = lists.flat();
          return {
            status: 200,
            body: { data, total: problems.length, warnings: warnings.slice(0, MAXIMUM) },
          };
        },
      },
    },
    {
      url: "/certificate-details",
      handlers: {
        GET: async () => ({
          status: 200,
          body: { data: authorityDetails(await readCollection(store, "ca_certificates")) },
        }),
      },
    },
    {
      url: "/certificate-details/:id",
      handlers: {
        async GET({ params: { id = "" } }) {
          if (!isId(id)) throw notFound();
          const certificate = await store.find("certificates", { id });
          if (certificate) return { status: 200, body: await certificateDetailsBody(certificate, store) };
          const authority = await store.find("ca_certificates", { id });
          if (!authority) throw notFound();
          return { status: 200, body: authorityDetailsBody(authority) };
        },
      },
    },
    {
      url: "/origins/:collection/:id",
      handlers: {
        async GET({ params: { collection, id = "" } }) {
          if (!isCollection(collection) || !isId(id) || !(await store.find(collection, { id }))) throw notFound();
          const origin = store.origin ? await store.origin(collection, id) : ({ in: "database" } as const);
          if (!origin) throw notFound();
          return { status: 200, body: origin };
        },
      },
    },
    {
      url: "/resources/:kind/:namespace/:name",
      handlers: {
        async GET({ params: { kind = "", namespace = "", name = "" } }) {
          const found = await store.resource?.({ kind, namespace, name });
          if (!found) throw notFound();
          const { place, spec, conditions } = found;
          return {
            status: 200,
            body: { resource: { kind, namespace, name }, place, spec: withoutSecrets(kind, spec), conditions },
          };
        },
      },
    },
  ];
};

/**
 * Conditions of a resource that are false for the same reason are one problem: a resource whose reference is missing is
 * not programmed either. The longest message is kept, because it contains the others.
 */
function withoutRepetition(problems: readonly StoreProblem[]): readonly StoreProblem[] {
  const groups = Map.groupBy(problems, ({ resource, place, reason, message }) =>
    JSON.stringify(resource ? [resource.kind, resource.namespace, resource.name, reason] : [place, message]),
  );
  return [...groups.values()].map((group) =>
    group.reduce((kept, next) => (next.message.length > kept.message.length ? next : kept)),
  );
}

/** What to change, by the reason of the condition; the other `…NotFound` reasons share one remedy. */
const remedies: Readonly<Record<string, string>> = {
  Conflicted: "Rename one of the two resources, or delete the one that is not needed.",
  NotAllowed: "Move the resource to a namespace in which this is allowed, or correct the field.",
  PluginMissing: "Add the plugin to SLUICE_PLUGINS of these nodes, or delete the resource.",
  RefNotPermitted: "Add a ReferenceGrant to the namespace of the referenced resource.",
  SecretNotFound:
    "Create the Secret or its entry, or add the label: the message names the cause, or the command for each possible " +
    "cause. Or correct the reference.",
};

function remedyOf(
  { resource, place, reason }: StoreProblem,
  { store, directory }: Pick<AdminSettings, "store" | "directory">,
): string {
  if (!resource) return "Correct this line. Until then, the nodes serve the last valid version of the file.";
  const { kind, namespace, name } = resource;
  const known = remedies[reason ?? ""];
  if (known !== undefined) return known;
  // Resources in a cluster are corrected with kubectl.
  const means =
    store === "cluster"
      ? `: kubectl -n ${namespace} edit ${pluralOf(kindFacts[kind as ResourceKind])}.sluice.dev ${name}`
      : `, in ${place ?? `its file in the folder ${directory}`}.`;
  return reason?.endsWith("NotFound")
    ? `Create what the resource refers to, or correct the reference${means}`
    : `Correct the resource${means}`;
}

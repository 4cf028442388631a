/** The pages of the console, in the order of the navigation. */
import type { JSX } from "preact";
import { viewAt } from "../api/collections.ts";
import { EntitiesPage } from "../pages/entities/entities-page.tsx";
import { EntityDetails } from "../pages/entities/entity-details.tsx";
import { ExplainPage } from "../pages/explain/explain-page.tsx";
import { GraphqlPage } from "../pages/graphql/graphql-page.tsx";
import { HistoryPage } from "../pages/history/history-page.tsx";
import { ComparisonPage, SingleRevisionPage } from "../pages/history/revision-page.tsx";
import { OverviewPage } from "../pages/overview/overview-page.tsx";
import { ResourcePage } from "../pages/resources/resource-page.tsx";
import { TopologyPage } from "../pages/topology/topology-page.tsx";
import { TrafficPage } from "../pages/traffic/traffic-page.tsx";
import { type ConsoleLocation, Link } from "./navigation.tsx";

interface ShownPage {
  readonly title: string;
  readonly page: JSX.Element;
}

interface ConsoleSection {
  readonly title: string;
  /** The address of the first page. The pages below it belong to the section too. */
  readonly at: readonly string[];
  /** The page at an address of the section; undefined if there is none. */
  readonly page: (place: ConsoleLocation) => ShownPage | undefined;
}

export const consoleSections: readonly ConsoleSection[] = [
  { title: "Overview", at: [], page: () => ({ title: "Overview", page: <OverviewPage /> }) },
  {
    title: "Explain",
    at: ["explain"],
    page: ({ query }) => ({ title: "Explain a request", page: <ExplainPage key={query.toString()} query={query} /> }),
  },
  { title: "Entities", at: ["entities"], page: entityPage },
  { title: "API keys", at: ["entities", "key-auths"], page: entityPage },
  {
    title: "Topology",
    at: ["topology"],
    page: ({ query }) => ({ title: "Topology", page: <TopologyPage query={query} /> }),
  },
  { title: "Traffic", at: ["traffic"], page: () => ({ title: "Traffic", page: <TrafficPage /> }) },
  { title: "GraphQL", at: ["graphql"], page: () => ({ title: "GraphQL", page: <GraphqlPage /> }) },
  { title: "History", at: ["history"], page: historyPage },
];

/** The section with the longest address that the place begins with. Only the first page has an empty address. */
export function sectionAt({ segments }: ConsoleLocation): ConsoleSection | undefined {
  if (segments.length === 0) return consoleSections[0];
  const isBelow = ({ at }: ConsoleSection) =>
    at.length > 0 && at.every((segment, index) => segments[index] === segment);
  return consoleSections.filter(isBelow).toSorted((one, other) => other.at.length - one.at.length)[0];
}

export const shownPage = (place: ConsoleLocation): ShownPage =>
  sectionAt(place)?.page(place) ??
  resourcePage(place) ?? {
    title: "Page not found",
    page: (
      <>
        <h1>Page not found</h1>
        <p>
          The console has no page at this address. Go to the <Link to={[]}>overview</Link>.
        </p>
      </>
    ),
  };

/** A page of no section: only problems of the overview lead to it. */
function resourcePage({ segments: [page, kind, namespace, name, ...more] }: ConsoleLocation): ShownPage | undefined {
  if (page !== "resources" || more.length > 0) return undefined;
  if (kind === undefined || namespace === undefined || name === undefined) return undefined;
  return {
    title: `${kind} ${namespace}/${name}`,
    page: <ResourcePage key={`${kind} ${namespace}/${name}`} {...{ kind, namespace, name }} />,
  };
}

function entityPage({ segments, query }: ConsoleLocation): ShownPage | undefined {
  const [, path = "services", id, segment, child] = segments;
  const view = viewAt(path);
  if (!view) return undefined;
  if (id === undefined) return { title: view.title, page: <EntitiesPage view={view} query={query} /> };
  const nested = segment === undefined ? undefined : view.children?.find((one) => one.segment === segment);
  if (segment !== undefined && !nested) return undefined;
  return {
    title: id === "new" ? `New ${view.singular}` : view.title,
    page: <EntityDetails key={segments.join("/")} view={view} id={id} nested={nested} child={child} query={query} />,
  };
}

function historyPage({ segments: [, number, ...more], query }: ConsoleLocation): ShownPage | undefined {
  const since = query.get("since");
  if (more.length > 0) return undefined;
  if (number === undefined || number === "changes")
    return { title: "History", page: <HistoryPage view={number ?? "revisions"} /> };
  if (since !== null) return { title: "Comparison", page: <ComparisonPage since={since} number={number} /> };
  return { title: `Revision ${number}`, page: <SingleRevisionPage key={number} number={number} /> };
}

/** The frame of every page: sign-in, navigation, and the page that the address names. */
import type { JSX } from "preact";
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { ApiError, describeFailure, keepToken, onUnauthorized, signedInToken } from "../api/client.ts";
import { viewAt } from "../api/collections.ts";
import { EntitiesPage } from "../pages/entities/entities-page.tsx";
import { EntityDetails } from "../pages/entities/entity-details.tsx";
import { ExplainPage } from "../pages/explain/explain-page.tsx";
import { GraphqlPage } from "../pages/graphql/graphql-page.tsx";
import { OverviewPage } from "../pages/overview/overview-page.tsx";
import { TopologyPage } from "../pages/topology/topology-page.tsx";
import { TrafficPage } from "../pages/traffic/traffic-page.tsx";
import { Notice } from "../parts/notice.tsx";
import { Announcer, announce } from "./announcer.tsx";
import { Link, type Place, usePlace } from "./navigation.tsx";
import { type ConsoleSession, ConsoleSessionContext, loadSession } from "./session.ts";
import { SignIn } from "./sign-in.tsx";
import { ThemeSwitch } from "./theme.tsx";

type State = "starting" | "signed out" | { readonly session: ConsoleSession } | { readonly failure: string };

export function App() {
  const [state, setState] = useState<State>("starting");
  const start = useCallback(async () => {
    try {
      setState({ session: await loadSession() });
    } catch (error) {
      const isRefused = error instanceof ApiError && error.status === 401;
      setState(isRefused ? "signed out" : { failure: describeFailure(error) });
    }
  }, []);
  const signOut = useCallback(() => {
    keepToken(null);
    setState("signed out");
  }, []);
  useEffect(() => {
    void start();
    return onUnauthorized(signOut);
  }, [start, signOut]);

  return (
    <>
      <Announcer />
      {state === "signed out" && <SignIn onSignedIn={start} />}
      {state === "starting" && <p class="starting">Loading…</p>}
      {typeof state === "object" && "failure" in state && (
        <main class="sign-in">
          <h1>Sluice console</h1>
          <Notice kind="error">{state.failure}</Notice>
          <button type="button" class="primary" onClick={start}>
            Try again
          </button>
        </main>
      )}
      {typeof state === "object" && "session" in state && (
        <ConsoleSessionContext.Provider value={state.session}>
          <Frame session={state.session} onSignOut={signedInToken() === null ? undefined : signOut} />
        </ConsoleSessionContext.Provider>
      )}
    </>
  );
}

const sections = [
  { path: "", title: "Overview" },
  { path: "explain", title: "Explain" },
  { path: "entities", title: "Entities" },
  { path: "topology", title: "Topology" },
  { path: "traffic", title: "Traffic" },
  { path: "graphql", title: "GraphQL" },
] as const;

interface FrameProps {
  readonly session: ConsoleSession;
  readonly onSignOut: (() => void) | undefined;
}

function Frame({ session, onSignOut }: FrameProps) {
  const place = usePlace();
  const { title, page } = pageAt(place);
  const main = useRef<HTMLElement>(null);
  const address = place.segments.join("/");
  const isFirst = useRef(true);
  useEffect(() => {
    document.title = `${title} · Sluice console`;
    if (isFirst.current) {
      isFirst.current = false;
      return;
    }
    // As after a page load, the next Tab begins at the top of the new page.
    main.current?.focus();
    scrollTo(0, 0);
    announce(title);
  }, [address, title]);
  const section = place.segments[0] ?? "";

  return (
    <>
      <button type="button" class="skip" onClick={() => main.current?.focus()}>
        Skip to the content
      </button>
      <header class="top">
        <Link to={[]} class="brand">
          <Mark />
          Sluice
        </Link>
        <nav aria-label="Pages">
          <ul>
            {sections.map(({ path, title: name }) => (
              <li key={path}>
                <Link to={path === "" ? [] : [path]} current={section === path}>
                  {name}
                </Link>
              </li>
            ))}
          </ul>
        </nav>
        <div class="top-end">
          {!session.canWrite && (
            <span class="chip" title={session.readOnlyReason}>
              read-only
            </span>
          )}
          <ThemeSwitch />
          {onSignOut && (
            <button type="button" onClick={onSignOut}>
              Sign out
            </button>
          )}
        </div>
      </header>
      <main id="main" ref={main} tabIndex={-1} aria-label={title}>
        {page}
      </main>
    </>
  );
}

const Mark = () => (
  <svg class="mark" viewBox="0 0 32 32" aria-hidden="true">
    <rect width="32" height="32" rx="7" />
    <path d="M7 10h18M7 16h11M7 22h18M21 6v7M21 19v7" />
  </svg>
);

function pageAt({ segments, query }: Place): { readonly title: string; readonly page: JSX.Element } {
  const [section = "", ...rest] = segments;
  if (section === "") return { title: "Overview", page: <OverviewPage /> };
  if (section === "explain") return { title: "Explain a request", page: <ExplainPage query={query} /> };
  if (section === "topology") return { title: "Topology", page: <TopologyPage query={query} /> };
  if (section === "traffic") return { title: "Traffic", page: <TrafficPage /> };
  if (section === "graphql") return { title: "GraphQL", page: <GraphqlPage /> };
  const [path = "services", id, segment, child] = rest;
  const view = viewAt(path);
  if (section === "entities" && view) {
    if (id === undefined) return { title: view.title, page: <EntitiesPage view={view} query={query} /> };
    const nested = segment === undefined ? undefined : view.children?.find((one) => one.segment === segment);
    const key = segments.join("/");
    if (segment === undefined || nested)
      return {
        title: id === "new" ? `New ${view.singular}` : view.title,
        page: <EntityDetails key={key} view={view} id={id} nested={nested} child={child} query={query} />,
      };
  }
  return {
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
}

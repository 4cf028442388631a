/** The frame of every page: sign-in, navigation, and the page that the address names. */
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { ApiError, failureText, keepToken, onUnauthorized, signedInToken } from "../api/client.ts";
import { Notice } from "../parts/notice.tsx";
import { Announcer, announceToReader } from "./announcer.tsx";
import { Link, usePlace } from "./navigation.tsx";
import { consoleSections, sectionAt, shownPage } from "./pages.tsx";
import { type ConsoleSession, ConsoleSessionContext, loadSession } from "./session.ts";
import { SignIn } from "./sign-in.tsx";

type State = "starting" | "signed out" | { readonly session: ConsoleSession } | { readonly failure: string };

export function App() {
  const [state, setState] = useState<State>("starting");
  const start = useCallback(async () => {
    try {
      setState({ session: await loadSession() });
    } catch (error) {
      const isRefused = error instanceof ApiError && error.status === 401;
      setState(isRefused ? "signed out" : { failure: failureText(error) });
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

interface FrameProps {
  readonly session: ConsoleSession;
  readonly onSignOut: (() => void) | undefined;
}

function Frame({ session, onSignOut }: FrameProps) {
  const place = usePlace();
  const { title, page } = shownPage(place);
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
    announceToReader(title);
  }, [address, title]);
  const current = sectionAt(place);

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
            {consoleSections.map((section) => (
              <li key={section.title}>
                <Link to={section.at} current={section === current}>
                  {section.title}
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

const KEY = "sluice-console-theme";
const themes = ["system", "light", "dark"] as const;
type Theme = (typeof themes)[number];

const stored = (): Theme => themes.find((theme) => theme === localStorage.getItem(KEY)) ?? "system";

function ThemeSwitch() {
  const [theme, setTheme] = useState<Theme>(stored);
  useEffect(() => {
    document.documentElement.dataset.theme = theme;
    localStorage.setItem(KEY, theme);
  }, [theme]);
  return (
    <label class="theme">
      <span class="sr-only">Colours</span>
      <select value={theme} onChange={({ currentTarget }) => setTheme(currentTarget.value as Theme)}>
        <option value="system">System colours</option>
        <option value="light">Light</option>
        <option value="dark">Dark</option>
      </select>
    </label>
  );
}

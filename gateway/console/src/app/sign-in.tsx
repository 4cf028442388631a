/** Asks for the admin API's token. */
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, failureText, keepToken, read } from "../api/client.ts";

export function SignIn({ onSignedIn }: { readonly onSignedIn: () => void }) {
  const [failure, setFailure] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => input.current?.focus(), []);

  async function signIn(event: SubmitEvent): Promise<void> {
    event.preventDefault();
    if (isBusy) return;
    const token = input.current?.value.trim() ?? "";
    if (token === "") return setFailure("Enter the token.");
    setBusy(true);
    keepToken(token);
    try {
      await read("plugins/enabled");
      onSignedIn();
    } catch (error) {
      keepToken(null);
      const isRefused = error instanceof ApiError && error.status === 401;
      setFailure(isRefused ? "The admin API does not accept this token." : failureText(error));
      setBusy(false);
      input.current?.focus();
    }
  }

  return (
    <main class="sign-in">
      <h1>Sign in to Sluice</h1>
      <form onSubmit={signIn} noValidate>
        <label for="token">Token of the admin API</label>
        <input
          id="token"
          ref={input}
          type="password"
          autoComplete="off"
          aria-invalid={failure !== undefined}
          aria-describedby={failure === undefined ? "token-hint" : "token-failure token-hint"}
        />
        {failure !== undefined && (
          <p id="token-failure" class="field-error" role="alert">
            {failure}
          </p>
        )}
        <p id="token-hint" class="hint">
          The value of <code>SLUICE_ADMIN_TOKEN</code>, or a Kubernetes token if the listener accepts these. This tab
          keeps it until you sign out or close the tab.
        </p>
        <button type="submit" class="primary" aria-busy={isBusy}>
          Sign in
        </button>
      </form>
    </main>
  );
}

/**
 * Shows how long the steps of one request take: gets a debug token, offers a command that sends the request with this
 * token, and reads the durations in the output of the command. The user runs the command, because the page may send
 * requests to its own origin only.
 */
import { useEffect, useRef, useState } from "preact/hooks";
import { failureText, requestJson } from "../../api/client.ts";
import { CopyField } from "../../parts/copy-field.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { formatDuration } from "../../parts/format.ts";
import { MethodSelect } from "../../parts/method-select.tsx";
import { Notice } from "../../parts/notice.tsx";
import { curlCommand, readServerTiming, type TimedStep } from "./trace-command.ts";

export interface TracedRequest {
  readonly method: string;
  readonly url: string;
}

interface DebugTokenBody {
  readonly header: string;
  readonly token: string;
  /** Unix time in seconds. */
  readonly expires_at: number;
  readonly unanswered: readonly { readonly node: string; readonly reason: string }[];
}

interface TraceDialogProps {
  readonly request: TracedRequest;
  readonly onClose: () => void;
}

export function TraceDialog({ request, onClose }: TraceDialogProps) {
  const [method, setMethod] = useState(request.method);
  const [url, setUrl] = useState(request.url);
  const [made, setMade] = useState<DebugTokenBody>();
  const [failure, setFailure] = useState<string>();
  const [answer, setAnswer] = useState("");

  async function makeToken(event: Event): Promise<void> {
    event.preventDefault();
    setFailure(undefined);
    if (!/^https?:\/\/./.test(url.trim())) return setFailure("Enter a URL such as http://shop.example/cart.");
    try {
      setMade((await requestJson<DebugTokenBody>("debug-tokens", { method: "POST", json: {} })).body);
    } catch (error) {
      setFailure(failureText(error));
    }
  }

  return (
    <Dialog title="Trace a request" onClose={onClose}>
      <form class="trace" onSubmit={makeToken} noValidate>
        <p>
          A request with a debug token returns how long each plugin, the gateway and the upstream took. The console
          cannot send such a request itself. It shows a command to run where the gateway can be reached.
        </p>
        <div class="row">
          <MethodSelect id="trace-method" value={method} onChange={setMethod} />
          <div class="field grow">
            <label for="trace-url">URL</label>
            <input
              id="trace-url"
              type="text"
              value={url}
              placeholder="http://shop.example/cart"
              spellcheck={false}
              autoComplete="off"
              onInput={({ currentTarget }) => setUrl(currentTarget.value)}
            />
          </div>
          <button type="submit" class={made ? undefined : "primary"}>
            {made ? "Make a new token" : "Make a debug token"}
          </button>
        </div>
        {failure !== undefined && <Notice kind="error">{failure}</Notice>}
      </form>
      {made && <SentTrace key={made.token} made={made} command={curlCommand({ ...made, method, url: url.trim() })} />}
      {made && <PastedTimings answer={answer} onAnswer={setAnswer} />}
      <p class="actions">
        <button type="button" onClick={onClose}>
          Close
        </button>
      </p>
    </Dialog>
  );
}

function SentTrace({ made, command }: { readonly made: DebugTokenBody; readonly command: string }) {
  const result = useRef<HTMLDivElement>(null);
  useEffect(() => result.current?.focus(), []);
  return (
    <div ref={result} tabIndex={-1} class="trace-command">
      {made.unanswered.map(({ node, reason }) => (
        <Notice key={node} kind="warning">
          The node {node} does not know the token: {reason}
        </Notice>
      ))}
      <CopyField id="trace-command" label="Command" value={command} wraps />
      <p class="hint">
        Add the headers that the request needs, such as an API key. The token is valid until{" "}
        {new Date(made.expires_at * 1000).toISOString().slice(11, 19)} UTC, and gives no other right.
      </p>
    </div>
  );
}

interface PastedTimingsProps {
  readonly answer: string;
  readonly onAnswer: (text: string) => void;
}

function PastedTimings({ answer, onAnswer }: PastedTimingsProps) {
  const steps = readServerTiming(answer);
  return (
    <>
      <div class="field">
        <label for="trace-answer">Output of the command</label>
        <textarea
          id="trace-answer"
          rows={3}
          value={answer}
          spellcheck={false}
          placeholder="Server-Timing: route;desc=&quot;shop&quot;, gateway;dur=0.82, total;dur=1.78"
          onInput={({ currentTarget }) => onAnswer(currentTarget.value)}
        />
      </div>
      {answer.trim() !== "" && steps.length === 0 && (
        <Notice kind="warning">
          The response has no header Server-Timing: the token has expired, or another server answered.
        </Notice>
      )}
      {steps.length > 0 && <Timings steps={steps} />}
    </>
  );
}

function Timings({ steps }: { readonly steps: readonly TimedStep[] }) {
  const longest = Math.max(...steps.map(({ duration }) => duration ?? 0));
  return (
    <table class="timings">
      <caption class="sr-only">Durations</caption>
      <thead>
        <tr>
          <th scope="col">Step</th>
          <th scope="col">Description</th>
          <th scope="col" class="numeric">
            Duration
          </th>
          <th scope="col">
            <span class="sr-only">Share</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {steps.map(({ name, duration, description }) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td>{description}</td>
            <td class="numeric">{duration === null ? "" : formatDuration(duration)}</td>
            <td>
              {duration !== null && <progress value={duration} max={longest || 1} aria-label={`Share of ${name}`} />}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

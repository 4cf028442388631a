/** Explains why a request gets its answer. */
import type { FleetExplanation } from "@sluice/model";
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, failureText, requestJson } from "../../api/client.ts";
import { announceToReader } from "../../app/announcer.tsx";
import { hrefOf } from "../../app/navigation.tsx";
import { MethodSelect } from "../../parts/method-select.tsx";
import { Notice } from "../../parts/notice.tsx";
import { headersFromText, isConnectionUrl, verdictOf } from "./explained.ts";
import { ExplanationView } from "./explanation-view.tsx";

interface FieldErrors {
  readonly [member: string]: unknown;
}

export function ExplainPage({ query }: { readonly query: URLSearchParams }) {
  const [url, setUrl] = useState(query.get("url") ?? "");
  const [method, setMethod] = useState(query.get("method") ?? "GET");
  const [headers, setHeaders] = useState("");
  const [client, setClient] = useState(query.get("client") ?? "");
  const [body, setBody] = useState("");
  const [explained, setExplained] = useState<FleetExplanation>();
  const [failure, setFailure] = useState<string>();
  const [fields, setFields] = useState<FieldErrors>({});
  const [isBusy, setBusy] = useState(false);
  const result = useRef<HTMLHeadingElement>(null);
  const isSubmitted = useRef(false);

  // The result of a link comes without the user's action, which alone may move the focus.
  useEffect(() => {
    if (explained && isSubmitted.current) result.current?.focus();
  }, [explained]);

  // A link to this page with a request, such as that of a listed request, explains it at once.
  useEffect(() => {
    if (url !== "") void explain();
  }, []);

  function submit(event: Event): void {
    event.preventDefault();
    isSubmitted.current = true;
    // Headers and body may contain secrets. Replacing the address does not load the page again.
    history.replaceState(null, "", hrefOf(["explain"], { url: url.trim(), method, client: client.trim() }));
    void explain();
  }

  async function explain(): Promise<void> {
    if (isBusy) return;
    setBusy(true);
    setFailure(undefined);
    setFields({});
    try {
      const read = headersFromText(headers);
      if (typeof read === "string") return setFields({ headers: read });
      const json = {
        url: url.trim(),
        ...(!isConnectionUrl(url.trim()) && { method }),
        headers: read,
        ...(client.trim() !== "" && { client_address: client.trim() }),
        ...(body !== "" && { body }),
      };
      const { body: answer } = await requestJson<FleetExplanation>("explain", { method: "POST", json });
      setExplained(answer);
      announceToReader(verdictOf(answer).sentence);
    } catch (error) {
      setExplained(undefined);
      if (error instanceof ApiError && error.body.fields) setFields(Object(error.body.fields));
      else setFailure(failureText(error));
    } finally {
      setBusy(false);
    }
  }

  const errorOf = (member: string): string | undefined =>
    fields[member] === undefined
      ? undefined
      : typeof fields[member] === "string"
        ? fields[member]
        : JSON.stringify(fields[member]);

  return (
    <>
      <h1>Explain a request</h1>
      <p class="lead">
        Describe a request. The gateway says how it would route and answer the request, and why. Nothing is sent or
        counted. A connection to a stream listener has a URL such as tls://mail.example:9443 or tcp://10.0.0.7:9100.
      </p>
      <form class="explain-form" onSubmit={submit} noValidate>
        <div class="row">
          <MethodSelect id="method" value={method} onChange={setMethod} />
          <TextField
            id="url"
            label="URL"
            value={url}
            set={setUrl}
            error={errorOf("url")}
            placeholder="http://api.example/users?page=2"
            required
          />
          <button type="submit" class="primary" aria-busy={isBusy}>
            Explain
          </button>
        </div>
        <details
          open={
            query.has("consumer") || headers !== "" || client !== "" || body !== "" || Object.keys(fields).length > 0
          }
        >
          <summary>Headers, client address, body</summary>
          <div class="columns">
            <TextField
              id="headers"
              label="Headers, one per line"
              value={headers}
              set={setHeaders}
              error={errorOf("headers")}
              placeholder={"apikey: …\naccept: application/json"}
              hasLines
            />
            <TextField id="body" label="Body" value={body} set={setBody} error={errorOf("body")} hasLines />
            <TextField
              id="client"
              label="Client address"
              value={client}
              set={setClient}
              error={errorOf("client_address")}
              placeholder="127.0.0.1"
            />
          </div>
        </details>
      </form>
      {failure !== undefined && <Notice kind="error">{failure}</Notice>}
      {query.has("consumer") && headers === "" && <MissingHeaders consumer={query.get("consumer") ?? ""} />}
      {explained && <ExplanationView explanation={explained} heading={result} />}
    </>
  );
}

/** Lists of requests contain no headers, so a request that is explained from a list lacks its credential. */
const MissingHeaders = ({ consumer }: { readonly consumer: string }) => (
  <Notice kind="warning">
    Lists of requests contain no headers.{" "}
    {consumer === ""
      ? "If the request was sent with headers that matter, such as apikey or Authorization, add them."
      : `The listed request was sent by the consumer ${consumer}: add the header with a credential of this consumer, such as apikey.`}
  </Notice>
);

interface TextFieldProps {
  readonly id: string;
  readonly label: string;
  readonly value: string;
  readonly set: (value: string) => void;
  readonly error: string | undefined;
  readonly placeholder?: string;
  readonly required?: boolean;
  readonly hasLines?: boolean;
}

function TextField({ label, set, error, hasLines = false, ...common }: TextFieldProps) {
  const { id } = common;
  const input = {
    ...common,
    spellcheck: false,
    "aria-invalid": error !== undefined,
    "aria-describedby": error === undefined ? undefined : `${id}-error`,
    onInput: (event: { readonly currentTarget: { readonly value: string } }) => set(event.currentTarget.value),
  };
  return (
    <div class="field grow">
      <label for={id}>{label}</label>
      {hasLines ? <textarea {...input} rows={4} /> : <input {...input} type="text" autoComplete="off" />}
      {error !== undefined && (
        <p class="field-error" id={`${id}-error`} role="alert">
          {error}
        </p>
      )}
    </div>
  );
}

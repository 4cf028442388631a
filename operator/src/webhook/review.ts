/** AdmissionReview (admission.k8s.io/v1): the API server's question and our answer, as plain data. Pure. */
import { describeResourceViolation, type Resource, sluiceKind } from "@sluice/crds";
import { judge } from "./judge.ts";

const REVIEW = { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview" } as const;

export interface AdmissionResponse {
  readonly uid: string;
  readonly allowed: boolean;
  /** Why not: one violation a line, each with its path. */
  readonly status?: { readonly code: number; readonly message: string };
  readonly warnings?: readonly string[];
}

export interface AdmissionReview {
  readonly apiVersion: string;
  readonly kind: string;
  readonly response: AdmissionResponse;
}

/** A body that is no question of this version; the caller answers 400 with the sentence. */
export interface NotAsked {
  readonly fault: string;
}

export interface ReviewOptions {
  readonly homeNamespace: string;
  /** Whether the resource is for this Sluice to look at. Default: every one is. */
  readonly isOwn?: (resource: Resource) => boolean;
}

type Members = Readonly<Record<string, unknown>>;

/** The API server cuts warnings that are longer. */
const LONGEST_WARNING = 256;

export function review(body: unknown, options: ReviewOptions): AdmissionReview | NotAsked {
  if (!isRecord(body) || body.kind !== REVIEW.kind) return { fault: "expected an AdmissionReview" };
  if (body.apiVersion !== REVIEW.apiVersion)
    return { fault: `expected an AdmissionReview of ${REVIEW.apiVersion}, not of ${JSON.stringify(body.apiVersion)}` };
  const { request } = body;
  if (!isRecord(request) || typeof request.uid !== "string" || request.uid === "")
    return { fault: "the AdmissionReview has no request with a uid" };
  return { ...REVIEW, response: { uid: request.uid, ...answer(request, options) } };
}

function answer(request: Members, options: ReviewOptions): Omit<AdmissionResponse, "uid"> {
  const { isOwn = () => true } = options;
  const { object, operation, namespace, name } = request;
  // Nothing of what is asked about a deletion or a subresource is ours to refuse.
  if ((operation !== "CREATE" && operation !== "UPDATE") || (request.subResource ?? "") !== "")
    return { allowed: true };
  if (!isRecord(object)) return { allowed: true };
  const metadata = { ...(isRecord(object.metadata) ? object.metadata : {}) };
  // The names in the request hold: an object that is created may leave out its namespace, or its name for a generated one.
  const resource = {
    ...object,
    metadata: {
      ...metadata,
      name: metadata.name || name || "unnamed",
      namespace: namespace ?? metadata.namespace ?? "",
    },
  } as unknown as Resource;
  if (!sluiceKind(resource) || !isOwn(resource)) return { allowed: true };
  const { violations, warnings } = judge(resource, options);
  return {
    allowed: violations.length === 0,
    ...(violations.length > 0 && {
      status: { code: 422, message: violations.map(describeResourceViolation).join("\n") },
    }),
    ...(warnings.length > 0 && { warnings: warnings.map((warning) => warning.slice(0, LONGEST_WARNING)) }),
  };
}

const isRecord = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value);

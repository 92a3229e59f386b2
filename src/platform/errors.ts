/**
 * Every `error` value of the interface, one row each (decision D6). `docs/errors.md` and the
 * OpenAPI document are generated from it. `message` is the default text of the answer; `advice`
 * tells the caller the next step.
 */

export interface ErrorRow {
  status: number
  /** Status on routes that need an API key, whose status lists are closed (decision D54). */
  keyedStatus?: number
  message: string
  advice: string
  /** The next step on the command line, if a command shows more than the message. */
  command?: string
}

/** The rows of the public document. */
const publicErrors = {
  bad_request: {
    status: 400,
    message: 'The request is not valid HTTP for this service.',
    advice:
      'Check the request line, the Host header and the framing; send one plain HTTP/1.1 request.',
  },
  unsupported_version: {
    status: 400,
    message: 'The version header is malformed or names a version that is not supported.',
    advice: 'Leave the header out or send the date in supported_version.',
  },
  invalid_parameter: {
    status: 400,
    message: 'A path or query parameter is not valid.',
    advice: 'Correct the parameter that the message names; send each query parameter at most once.',
  },
  invalid_idempotency_key: {
    status: 400,
    message:
      'The Idempotency-Key header must have 16 to 128 characters of A-Z a-z 0-9 . _ ~ : and -.',
    advice: 'Send a fresh random key with each new request, and the same one with its repeats.',
  },
  api_key_in_url: {
    status: 400,
    message: 'The URL holds an API key.',
    advice:
      'Send the key as Authorization: Bearer alone. Replace this key, because URLs are logged.',
  },
  invalid_json: {
    status: 400,
    message: 'The body is not acceptable JSON.',
    advice: 'Send one JSON object in UTF-8, without a byte order mark.',
  },
  invalid_payment: {
    status: 400,
    message: 'The payment headers cannot be read as one payment.',
    advice:
      'Send one payment header of at most 8,192 bytes, or two that are equal; nothing was charged.',
  },
  purchase_key_reused: {
    status: 400,
    message: 'This Idempotency-Key was used for another resource.',
    advice: 'Use a new Idempotency-Key for each purchase; nothing was charged.',
  },
  invalid_field: {
    status: 400,
    message: 'A field of the body is not valid.',
    advice: 'Correct the field that the message names; send no field that is not in the contract.',
  },
  missing_api_key: {
    status: 401,
    message: 'This route needs an API key.',
    advice: 'Send Authorization: Bearer and the key.',
  },
  invalid_api_key: {
    status: 401,
    message: 'The API key is not valid.',
    advice:
      'Check the key: it may be mistyped, expired, revoked or not allowed from your network. If the route needs no key, leave the header out.',
  },
  session_required: {
    status: 401,
    message: 'This route needs a signed-in session.',
    advice: 'Sign in at /sign-in with a browser; an API key is not accepted here.',
  },
  payment_required: {
    status: 402,
    message:
      'This read is paid by API key, and no key was sent. This service takes no payment without a key.',
    advice: 'Send Authorization: Bearer and the key of an account that has credits.',
  },
  insufficient_credits: {
    status: 402,
    message: 'The account of this API key has too few credits.',
    advice: 'Add credits to the account; nothing was charged.',
  },
  insufficient_scope: {
    status: 403,
    message: 'The API key lacks the scope that this route needs.',
    advice: 'Use a key that has the scope named in the OpenAPI document.',
  },
  owner_required: {
    status: 403,
    message: 'Only an owner of the account may do this.',
    advice: 'Ask an owner of the account. The page Team names them.',
  },
  agent_reporting_locked: {
    status: 403,
    message: 'The operator has locked agent reporting for this account.',
    advice: 'Request a review, or ask the operator to unlock the account.',
  },
  test_key: {
    status: 403,
    message: 'A test key reaches sandbox data alone.',
    advice: 'Use a key that begins with svc_live_.',
  },
  cross_origin: {
    status: 403,
    message: 'This request does not come from a page of this service.',
    advice:
      'Send it from a page of this service: with Sec-Fetch-Site: same-origin, or with an Origin header that names it.',
  },
  not_found: {
    status: 404,
    message: 'There is no such resource.',
    advice: 'Check the path against the OpenAPI document.',
  },
  candidate_not_found: {
    status: 404,
    message: 'There is no public candidate of this username.',
    advice:
      'Search for the candidate; a hidden candidate is answered like one that does not exist, and a test key finds fictional candidates alone.',
  },
  score_not_found: {
    status: 404,
    message: 'There is no public score with this id.',
    advice:
      'Check the id. The score may have been replaced or is no longer shared: the Link header of the candidate names the current score.',
  },
  score_credential_not_found: {
    status: 404,
    message: 'This score has no credential.',
    advice:
      'Read the score: if scoreVc is null, the score has no credential. After a revocation the new one follows within minutes.',
  },
  skill_not_found: {
    status: 404,
    message: 'No skill has this id.',
    advice: 'Look the id up in the catalog at /standard/v1/skills.',
  },
  status_token_not_found: {
    status: 404,
    message: 'No credential has this status token and digest.',
    advice: 'Use the credentialStatus.id of the credential exactly as issued.',
  },
  status_list_not_found: {
    status: 404,
    message: 'There is no such status list.',
    advice: 'Use the statusListCredential of the credential exactly as issued.',
  },
  webhook_endpoint_not_found: {
    status: 404,
    message: 'This account has no such webhook endpoint.',
    advice: 'List the endpoints of the account and use one of their ids.',
    command: '`assay webhooks endpoints` shows all.',
  },
  method_not_allowed: {
    status: 405,
    message: 'This path does not take this method.',
    advice: 'Use one of the methods in the Allow header.',
  },
  request_timeout: {
    status: 408,
    message: 'The request did not arrive in time.',
    advice: 'Send all headers within 10 seconds, and the whole request within 15.',
  },
  idempotency_key_reused: {
    status: 409,
    message: 'This Idempotency-Key was used for a request with other content.',
    advice: 'Use a new key for each new request; repeat a key only with the same request.',
  },
  idempotency_key_spent: {
    status: 409,
    message: 'The resource that this Idempotency-Key created has been deleted.',
    advice: 'Use a new key; nothing was created.',
  },
  webhook_endpoint_disabled: {
    status: 409,
    message: 'The webhook endpoint is disabled.',
    advice: 'Create another endpoint, or ask the operator to enable this one.',
    command: 'Run `assay webhooks enable` first.',
  },
  agent_reporting_unlocked: {
    status: 409,
    message: 'Agent reporting is not locked for this account.',
    advice: 'Send your reports; there is nothing to review.',
  },
  webhook_endpoints_maximum: {
    status: 409,
    message: 'The account has as many active webhook endpoints as it may have.',
    advice: 'Disable an endpoint that is not needed any more, then try again.',
    command: 'Disable one first, or raise WEBHOOK_ENDPOINTS_MAX.',
  },
  payload_too_large: {
    status: 413,
    keyedStatus: 400,
    message: 'The body is larger than this route accepts.',
    advice: 'Send at most the number of bytes that the message names.',
  },
  unsupported_media_type: {
    status: 415,
    keyedStatus: 400,
    message: 'The content type or content encoding is not supported.',
    advice:
      'Send application/json in UTF-8, or application/ld+json to the verifier, without a content encoding.',
  },
  expectation_failed: {
    status: 417,
    message: 'The Expect header asks for something this service does not do.',
    advice: 'Leave the Expect header out, or send 100-continue.',
  },
  rate_limited: {
    status: 429,
    message: 'Too many requests.',
    advice: 'Wait as many seconds as Retry-After says; a retry then succeeds.',
  },
  headers_too_large: {
    status: 431,
    message: 'The request line and headers are larger than 16 KiB.',
    advice: 'Send a shorter URL and fewer or shorter headers.',
  },
  internal_error: {
    status: 500,
    message: 'The service failed while it answered.',
    advice: 'Retry; if it lasts, give the operator the X-Request-Id.',
  },
  overloaded: {
    status: 503,
    message: 'The service is busy.',
    advice: 'Retry after as many seconds as Retry-After says.',
  },
  unavailable: {
    status: 503,
    message: 'A part of the service that this answer needs is not available.',
    advice: 'Retry after as many seconds as Retry-After says.',
  },
  payment_facilitator_unavailable: {
    status: 503,
    message: 'Payments cannot be verified at the moment.',
    advice:
      'Send the same payment again after as many seconds as Retry-After says; nothing was charged.',
  },
  payment_settlement_pending: {
    status: 503,
    message: 'Whether the payment was made is not known yet.',
    advice:
      'Send the same payment again after as many seconds as Retry-After says, and do not sign another; it is charged once at most.',
  },
  metering_suspended: {
    status: 503,
    message: 'The credits of this account are being checked.',
    advice: 'Ask the operator to check the books of the account; nothing was charged.',
  },
  webhooks_not_configured: {
    status: 503,
    message: 'The service has no key to encrypt webhook secrets.',
    advice: 'Ask the operator to set SECRETS_KEYRING.',
    command: 'Set SECRETS_KEYRING.',
  },
  signing_not_configured: {
    status: 503,
    message: 'Score signing is not configured.',
    advice: 'Ask the operator to create a signing key with `assay keys create`.',
  },
} as const satisfies Record<string, ErrorRow>

/** The rows that only operators meet. */
const operatorErrors = {
  missing_operator_token: {
    status: 401,
    message: 'This route needs an operator token.',
    advice: 'Send Authorization: Bearer and the token.',
    command: '`assay operators create-token` makes one.',
  },
  invalid_operator_token: {
    status: 401,
    message: 'The operator token is not valid.',
    advice:
      'Check the token: it may be mistyped, expired, revoked or not allowed from your network. An API key is not accepted here.',
  },
  operator_token_not_found: {
    status: 404,
    message: 'There is no such operator token.',
    advice: 'List the tokens and use one of their ids.',
    command: '`assay operators list-tokens` shows them.',
  },
  operator_role_required: {
    status: 403,
    message: 'This action needs a higher operator role.',
    advice: 'Use a token or a user with the role that the operation names.',
  },
  user_not_found: {
    status: 404,
    message: 'There is no such user.',
    advice: 'Check the mail address.',
    command: '`assay users list` shows all users.',
  },
  worker_not_found: {
    status: 404,
    message: 'There is no such worker.',
    advice: 'Check the username.',
  },
  source_not_found: {
    status: 404,
    message: 'There is no such source.',
    advice: 'List the sources and use one of their ids.',
    command: '`assay sources list` shows them.',
  },
  dispute_not_found: {
    status: 404,
    message: 'There is no such dispute.',
    advice: 'List the disputes and use one of their ids.',
    command: '`assay disputes list` shows them.',
  },
  score_makers_missing: {
    status: 503,
    message: 'The engine or the vocabulary of the score is missing or altered.',
    advice: 'Put the released file back into engines/, then try again.',
  },
  evidence_not_found: {
    status: 404,
    message: 'There is no such evidence.',
    advice: 'List the evidence and use its ids.',
    command: '`assay evidence list` shows it.',
  },
  credential_not_found: {
    status: 404,
    message: 'The worker has no credential.',
    advice: 'List the credentials, and use a username that one of them is about.',
  },
  signing_key_not_found: {
    status: 404,
    message: 'There is no such signing key.',
    advice: 'Use the id of a key in the key document.',
    command: '`assay keys list` shows all keys.',
  },
  engine_not_found: {
    status: 404,
    message: 'There is no such engine.',
    advice: 'List the engines and use a version with its SHA-256.',
    command: '`assay engines list` shows all engines.',
  },
  evidence_not_theirs: {
    status: 404,
    message: 'The worker has no such evidence.',
    advice: 'Name items of evidence of this worker.',
  },
  payment_not_found: {
    status: 404,
    message: 'There is no such payment.',
    advice: 'List the payments and use one of their ids.',
  },
  account_not_found: {
    status: 404,
    message: 'There is no such account.',
    advice: 'Use the name or the id of an account.',
    command: '`assay accounts list` shows all accounts.',
  },
  unlock_review_not_found: {
    status: 404,
    message: 'The account has no open review.',
    advice: 'List the open reviews.',
    command: '`assay reports reviews` shows all.',
  },
  member_not_found: {
    status: 404,
    message: 'The account has no such member.',
    advice: 'List the members of the account and use one of their mail addresses.',
    command: '`assay accounts members` shows them.',
  },
  invitation_not_found: {
    status: 404,
    message: 'There is no such open invitation.',
    advice: 'It may have been answered, withdrawn or have ended: invite once more.',
    command: '`assay accounts members` shows them.',
  },
  api_key_not_found: {
    status: 404,
    message: 'This account has no such API key.',
    advice: 'List the API keys of the account and use one of their ids.',
    command: '`assay api-keys list ACCOUNT` shows them.',
  },
  webhook_event_not_found: {
    status: 404,
    message: 'This endpoint was sent no such event, or the event is no longer kept.',
    advice: 'List the deliveries of the endpoint and use one of their event ids.',
  },
  webhook_resend_running: {
    status: 409,
    message: 'A bulk resend to this webhook endpoint is under way.',
    advice: 'Wait until its events are sent; they leave at twenty a second.',
  },
  webhook_secret_rotating: {
    status: 409,
    message: 'A rotation of the signing secret is under way.',
    advice: 'Activate the announced secret, or wait until the old one has ended.',
    command: 'Wait until it ends, or, if a secret has leaked, run `assay webhooks replace-secret`.',
  },
  webhook_secret_not_announced: {
    status: 409,
    message: 'No signing secret is announced for this endpoint.',
    advice: 'Rotate the secret first; an announced secret begins to sign by itself.',
    command: 'Announce one with `assay webhooks rotate-secret`.',
  },
  webhook_secret_changed: {
    status: 409,
    message: 'Another secret signs now; nothing was replaced.',
    advice: 'List the endpoints, and send the present `secretPrefix` if that secret leaked.',
  },
  account_name_taken: {
    status: 409,
    message: 'An account with this name exists already.',
    advice: 'Use another name.',
    command: 'Use another name.',
  },
  user_disabled: {
    status: 409,
    message: 'The user is disabled.',
    advice: 'Enable the user first.',
    command: 'Run `assay users enable` first.',
  },
  user_without_account: {
    status: 409,
    message: 'The user is in no account.',
    advice: 'Invite the user to an account first.',
    command: 'Run `assay users invite` first.',
  },
  invited_already: {
    status: 409,
    message: 'The address is invited to the account already.',
    advice: 'Send the invitation again.',
    command: '`assay users resend` sends the invitation again.',
  },
  members_maximum: {
    status: 409,
    message: 'The account has the maximum of members and open invitations.',
    advice: 'Withdraw an invitation, or remove a member first.',
    command: 'Withdraw an invitation first.',
  },
  last_owner: {
    status: 409,
    message: 'The account has no other owner.',
    advice: 'Make another member an owner first.',
    command: 'Run `assay members make-owner` first.',
  },
  api_keys_maximum: {
    status: 409,
    message: 'The account has as many valid API keys as it may have.',
    advice: 'Revoke a key that is not used any more, then try again.',
    command: 'Revoke one first: `assay api-keys revoke ID`.',
  },
  api_key_revoked: {
    status: 409,
    message: 'The API key is revoked.',
    advice: 'Create another key.',
  },
  api_key_not_rotatable: {
    status: 409,
    message: 'The API key is revoked, has expired, or was rotated before.',
    advice: 'List the API keys, and rotate the latest one of its line or create another.',
  },
  credit_entry_repeated: {
    status: 409,
    message: 'An equal entry was made in the last ten minutes.',
    advice: 'Send `again`, or a reference of your own, to enter it once more.',
    command:
      'To enter the same again, repeat the command with --yes or with a --reference of your own.',
  },
  credit_reference_used: {
    status: 409,
    message: 'The reference was entered before.',
    advice: 'Use another reference for another entry.',
  },
  credits_too_few: {
    status: 409,
    message: 'The account has too few credits, and a balance never goes below zero.',
    advice: 'Take away at most the balance.',
  },
  credit_month_state: {
    status: 409,
    message: 'The month cannot be archived.',
    advice: 'Archive a past month that was audited.',
  },
  payment_state: {
    status: 409,
    message: 'The payment is not in a state for this.',
    advice: 'List the payments; if the message has a time, try again after it.',
  },
  identity_state: {
    status: 409,
    message: 'The identity is not in a state for this.',
    advice: 'Read the history of the identity.',
    command: '`assay identity history` shows its changes.',
  },
  signing_key_not_pending: {
    status: 409,
    message: 'No key is pending.',
    advice: 'Create a key on the machine that is to hold it.',
    command: 'Run `assay keys create` first.',
  },
  signing_key_too_new: {
    status: 409,
    message: 'Verifiers that cache the key document may not know the new key.',
    advice: 'Wait ten minutes after a key is created before it signs.',
    command:
      'Wait until then, or add --now and accept that they reject new credentials until then.',
  },
  signing_key_elsewhere: {
    status: 409,
    message: 'The private key that signed the credential is not on this machine.',
    advice: 'Ask for the native proof.',
    command: 'Use --proof native.',
  },
  signing_key_not_revoked: {
    status: 409,
    message: 'The signing key is not revoked.',
    advice: 'Revoke the key on the machine that holds it.',
  },
  evidence_revoked: {
    status: 409,
    message: 'The evidence is revoked, for ever.',
    advice: 'Leave it out.',
  },
  evidence_excluded: {
    status: 409,
    message: 'The evidence is excluded by a dispute.',
    advice: 'End the dispute first.',
  },
  evidence_disputed: {
    status: 409,
    message: 'The evidence is disputed.',
    advice: 'End the dispute first.',
  },
  score_absent: {
    status: 409,
    message: 'The worker has no score.',
    advice: 'Wait until a score is computed.',
  },
  dispute_already_open: {
    status: 409,
    message: 'A dispute about the same is open.',
    advice: 'End it first.',
  },
  dispute_state: {
    status: 409,
    message: 'The dispute is not in a state for this.',
    advice: 'An open dispute is reviewed first; an ended one is final.',
  },
  dispute_decision: {
    status: 409,
    message: 'This decision is not possible for the dispute.',
    advice: 'Uphold or reject the dispute as a whole, or name a part of its items.',
  },
  scoring_unavailable: {
    status: 503,
    message: 'No score can be computed or signed on this machine.',
    advice: 'Mend the cause that the message names, then try again.',
  },
} as const satisfies Record<string, ErrorRow>

export const errorTable = { ...publicErrors, ...operatorErrors }

export type ErrorName = keyof typeof errorTable

/**
 * The cause of an error, by its row: the numbers and names behind a refusal, for the developer who
 * reads the request log. Values come from contracts, limits and books, never from the caller.
 */
export interface ErrorCauses {
  insufficient_scope: { needed: string; held: readonly string[] }
  /** The name is null if the contract has no such parameter. */
  invalid_parameter: { in: 'path' | 'query'; name: string | null; rule: string }
  invalid_field: { rule: string }
  invalid_json: { rule: string }
  rate_limited: { bucket: 'calls' | 'not found'; limit: number; windowS: number; resetS: number }
  insufficient_credits: { price: number; balance: number }
  candidate_not_found: NotFoundCause
  score_not_found: NotFoundCause
  score_credential_not_found: NotFoundCause
  webhook_endpoints_maximum: { count: number; max: number }
  api_keys_maximum: { count: number; max: number }
  idempotency_key_reused: { made: KeyedThing }
  idempotency_key_spent: { made: KeyedThing }
  invalid_api_key: { endedAt: string; successorId: string | null }
}

/** The thing that a call with an Idempotency-Key makes. */
type KeyedThing = 'a webhook endpoint' | 'an agent decision report'

/** How much of the not-found limit of the key is used. */
export interface NotFoundCause {
  used: number
  limit: number
}

type CauseOf<Name> = Name extends keyof ErrorCauses ? ErrorCauses[Name] : never

/** Returns the status of an error. `isKeyed`: the route needs an API key. */
export function errorStatus(name: ErrorName, isKeyed: boolean): number {
  const { status, keyedStatus = status }: ErrorRow = errorTable[name]
  return isKeyed ? keyedStatus : status
}

/** An operator meets every error. */
export const operatorErrorNames = Object.keys(errorTable) as ErrorName[]

export const publicErrorNames = Object.keys(publicErrors) as ErrorName[]

/** An expected refusal as a value, rendered only at the HTTP edge. */
export interface Refusal<Name extends ErrorName = ErrorName> {
  refusal: Name
  /**
   * Replaces the row's message and advice. The caller sees it, so it holds no internal detail.
   */
  message?: string
  headers?: Record<string, string>
  cause?: CauseOf<Name>
}

/** Returns what the caller reads: what happened, and the next step. */
export function refusalText({ refusal, message }: Pick<Refusal, 'refusal' | 'message'>): string {
  const row = errorTable[refusal]
  return message ?? `${row.message} ${row.advice}`
}

export function refuse<const Name extends ErrorName>(
  refusal: Name,
  more: Omit<Refusal, 'refusal'> = {},
): Refusal<Name> {
  return { refusal, ...more } as Refusal<Name>
}

/** Thrown where a refusal cannot be returned, such as while a body is read. */
export class RefusedError extends Error {
  override readonly name = 'RefusedError'
  readonly refusal: Refusal

  constructor(refusal: Refusal) {
    super(refusal.message ?? errorTable[refusal.refusal].message)
    this.refusal = refusal
  }
}

/**
 * Thrown when a dependency of this process does not answer, such as the database: 503 with
 * Retry-After at the edge.
 */
export class UnavailableError extends Error {
  override readonly name = 'UnavailableError'
  readonly retryAfterSeconds: number
  /** Replaces the row's message. The caller sees it, so it holds no internal detail. */
  readonly publicMessage: string | undefined

  constructor(
    detail: string,
    options: { retryAfterSeconds?: number; publicMessage?: string; cause?: unknown } = {},
  ) {
    super(detail, { cause: options.cause })
    this.retryAfterSeconds = options.retryAfterSeconds ?? 1
    this.publicMessage = options.publicMessage
  }
}

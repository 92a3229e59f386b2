/** Generated from the OpenAPI document by `npm run generate`: do not edit. */

export type AgentDecisionCandidate = {
  kind: 'candidate'
  username: string
}

export type AgentDecisionReport = {
  schemaVersion: 'service.agent_decision_report.v1'
  /** The id of the report. */
  id: string
  /** The account that reported. */
  userId: string
  apiKeyId: string | null
  /** must be {"kind":"candidate","username":…} with a username of 3 to 30 characters, or {"kind":"score","scoreId":…} with 64 hexadecimal characters */
  subject: AgentDecisionCandidate | AgentDecisionScore
  /** must be one of shortlisted, rejected, contacted, interview_requested, offer_extended, hired, no_action */
  decision: 'shortlisted' | 'rejected' | 'contacted' | 'interview_requested' | 'offer_extended' | 'hired' | 'no_action'
  /** must be one of pending, positive, negative, neutral, unknown */
  outcome: 'pending' | 'positive' | 'negative' | 'neutral' | 'unknown'
  agentName: string | null
  agentVersion: string | null
  jobRef: string | null
  /** must be at most 10 different codes, each 1 to 64 characters of a-z 0-9 _ . : and - */
  reasonCodes: Array<string>
  notes: string | null
  /** must be an object; what is in it is yours */
  metadata: Record<string, unknown>
  createdAt: string
}

export type AgentDecisionReportCreated = {
  schemaVersion: 'service.agent_decision_report_create.v1'
  report: AgentDecisionReport
  /** Whether the key had been used for this report before. */
  replayed: boolean
}

export type AgentDecisionReportList = {
  schemaVersion: 'service.agent_decision_reports.v1'
  reports: Array<AgentDecisionReport>
}

export type AgentDecisionScore = {
  kind: 'score'
  scoreId: string
}

export type ApiKey = {
  id: string
  name: string
  environment: 'live' | 'test'
  /** The beginning of the key. The key itself is not kept. */
  shown: string
  scopes: Array<'candidates:read' | 'scores:read' | 'webhooks:write' | 'agent-decisions:write'>
  allowedFrom: Array<string> | null
  predecessor: string | null
  createdAt: string
  expiresAt: string | null
  revokedAt: string | null
  lastUsedAt: string | null
}

export type ApiKeyChanged = {
  schemaVersion: 'service.api_key.v1'
  apiKey: ApiKey
}

export type ApiKeyCreated = {
  schemaVersion: 'service.api_key_create.v1'
  apiKey: ApiKey
  /** Sent as Authorization: Bearer. It is in this answer alone. */
  key: string
}

export type ApiKeyList = {
  schemaVersion: 'service.api_keys.v1'
  apiKeys: Array<ApiKey>
}

export type ApiKeyRequest = {
  /** must be text of 1 to 80 characters */
  name: string
  /** must be live or test */
  environment: 'live' | 'test'
  /** must be 1 to 4 scopes, each once */
  scopes: Array<'candidates:read' | 'scores:read' | 'webhooks:write' | 'agent-decisions:write'>
  /** must be a whole number from 1 to 3650; absent: valid until it is revoked */
  validDays?: number
  /** must be 1 to 20 networks such as 192.0.2.0/24; absent: any address */
  allowedFrom?: Array<string>
}

export type ApiKeyRotation = {
  /** must be a whole number from 0 to 168 */
  overlapHours: number
}

export type CandidateDetail = {
  username: string
  displayName: string
  title: string | null
  bio: string | null
  avatarUrl: string | null
  /** /u/ and the username. */
  profilePath: string
  memberSince: string | null
  skills: Array<CandidateSkill>
  skillCount: number
  verifiedSkillCount: number
  score: CandidateScore | null
}

export type CandidatePreview = {
  username: string
  displayName: string
  title: string | null
  avatarUrl: string | null
  /** /u/ and the username. */
  profilePath: string
  /** At most five skills, verified ones first. */
  topSkills: Array<CandidateSkill>
  /** The skills that the query matches. */
  matchedSkills: Array<CandidateSkill>
  skillCount: number
  verifiedSkillCount: number
}

export type CandidateScore = {
  score: number
  confidence: ScoreConfidence
  scoreBand: 'emerging' | 'developing' | 'verified' | 'strong' | 'exceptional'
  issuedAt: string
  evidenceCount: number
  engineVersion: string
  scoreVc: ScoreCredentialReference | null
}

export type CandidateSearchResult = {
  query: string
  candidates: Array<CandidatePreview>
  resultCount: number
}

export type CandidateSkill = {
  name: string
  verified: boolean
  level: string | null
}

export type ConsentChangedData = {
  /** The worker of the event. */
  workerId: string
  /** The permission that changed. */
  permission: 'public_profile' | 'search_listing' | 'score_sharing'
  /** Whether it is granted now. */
  granted: boolean
  previousGranted: boolean | null
  /** Rises with each change of any permission of the worker. */
  consentVersion: number
  /** From when it holds. */
  effectiveAt: string
}

export type ConsentChangedEvent = {
  schemaVersion: 'service.webhook_event.v1'
  /** Opaque; the same at every delivery of this event. */
  id: string
  type: 'candidate.consent_changed'
  /** When it happened. */
  createdAt: string
  data: ConsentChangedData
}

export type CreditEntry = {
  at: string
  /** A void refunds a charge. */
  kind: 'grant' | 'adjustment' | 'charge' | 'void'
  /** Added to the balance; negative for a charge. */
  credits: number
  meter: string | null
  operation: string | null
  apiKeyId: string | null
  requestId: string | null
  reason: string | null
}

export type Credits = {
  schemaVersion: 'service.credits.v1'
  /** Whole credits. */
  balance: number
  /** Whether charges wait until the books are checked. */
  suspended: boolean
  entries: Array<CreditEntry>
}

export type DisputeOpenedData = {
  /** The worker of the event. */
  workerId: string
  /** The dispute. */
  disputeId: string
  /** The subject of the dispute. */
  kind: 'score' | 'evidence' | 'identity'
  snapshotId: string | null
  /** Whether the score is not shown while the dispute is open. */
  restricted: boolean
  /** When the dispute was opened. */
  openedAt: string
}

export type DisputeOpenedEvent = {
  schemaVersion: 'service.webhook_event.v1'
  /** Opaque; the same at every delivery of this event. */
  id: string
  type: 'dispute.opened'
  /** When it happened. */
  createdAt: string
  data: DisputeOpenedData
}

export type DisputeResolvedData = {
  /** The worker of the event. */
  workerId: string
  /** The dispute. */
  disputeId: string
  /** The subject of the dispute. */
  kind: 'score' | 'evidence' | 'identity'
  snapshotId: string | null
  /** Whether the score is not shown while the dispute is open. */
  restricted: boolean
  /** When the dispute was opened. */
  openedAt: string
  /** How it ended. */
  resolution: 'upheld' | 'partly_upheld' | 'rejected' | 'withdrawn'
  /** Whether the score is another one now. */
  scoreChanged: boolean
  resultingSnapshotId: string | null
  /** When it ended. */
  resolvedAt: string
}

export type DisputeResolvedEvent = {
  schemaVersion: 'service.webhook_event.v1'
  /** Opaque; the same at every delivery of this event. */
  id: string
  type: 'dispute.resolved'
  /** When it happened. */
  createdAt: string
  data: DisputeResolvedData
}

export type Error = {
  /** Which error; the examples show the values. New values can be added. */
  error: string
  /** For people; may change at any time. */
  message?: string
  /** Only on version errors. */
  supported_version?: string
}

export type ErrorDescription = {
  error: string
  status: number
  message: string
  advice: string
}

export type EvidenceRevokedData = {
  /** The worker of the event. */
  workerId: string
  /** The record. */
  evidenceId: string
  /** Its type, a word of the vocabulary. */
  evidenceType: string
  /** The skills it spoke for. */
  skillIds: Array<string>
  /** Why it was removed. */
  reason: 'source_removed' | 'source_invalid' | 'worker_request' | 'dispute_upheld' | 'policy'
  /** How many items of evidence still count. */
  evidenceCount: number
  /** How many independent groups of sources they come from. */
  sourceCount: number
  snapshotId: string | null
  scoreVcSha256: string | null
  scoreVcStatusToken: string | null
  /** When it was removed. */
  revokedAt: string
}

export type EvidenceRevokedEvent = {
  schemaVersion: 'service.webhook_event.v1'
  /** Opaque; the same at every delivery of this event. */
  id: string
  type: 'evidence.revoked'
  /** When it happened. */
  createdAt: string
  data: EvidenceRevokedData
}

export type LoggedRequest = {
  /** X-Request-Id of the response. */
  requestId: string
  /** When the request began. */
  at: string
  apiKeyId: string | null
  /** Operation id of the call. */
  operation: string
  /** 499: the caller left before the response. */
  status: number
  error: string | null
  creditsCharged: number
  durationMs: number
  /** The /24 or /48 of the client. */
  network: string
}

export type Member = {
  userId: string
  email: string
  name: string | null
  /** must be owner or member. Owners manage members, API keys and credits. */
  role: 'owner' | 'member'
  joinedAt: string
}

export type MemberInvitation = {
  /** must be a mail address */
  email: string
  /** must be owner or member. Owners manage members, API keys and credits. */
  role: 'owner' | 'member'
}

export type MemberInvited = {
  schemaVersion: 'service.member_invited.v1'
  /** In lower case. */
  email: string
  /** Whether the user receives a mail. If not, tell the user to open /sign-in. */
  mailed: boolean
}

export type MemberList = {
  schemaVersion: 'service.members.v1'
  members: Array<Member>
}

export type MemberRemoved = {
  schemaVersion: 'service.member_removed.v1'
  userId: string
}

export type OpenApiDocument = {
  openapi: string
  info: Record<string, unknown>
  paths: Record<string, unknown>
  [name: string]: unknown
}

/** How to pay on the spot; PAYMENT-REQUIRED holds the same in base64. */
export type PaymentChallenge = {
  x402Version: 1
  accepts: Array<PaymentRequirement>
}

export type PaymentRequirement = {
  scheme: 'exact'
  network: 'base' | 'base-sepolia'
  /** Atomic units of the asset. */
  amount?: string
  /** Atomic units of the asset. */
  maxAmountRequired: string
  resource: string
  description: string
  mimeType?: 'application/json'
  payTo: string
  asset: string
  maxTimeoutSeconds?: number
  extra: {
    name: string
    version: string
    nonce: string
    endpoint: 'score_lookup' | 'candidate_lookup' | 'candidate_search'
    idempotencyKey: string
    [name: string]: unknown
  }
  [name: string]: unknown
}

export type PresentedCredential = {
  "@context": Array<string>
  type: Array<string>
  issuer: string
  issuanceDate?: string
  credentialSubject: Record<string, unknown>
  credentialStatus?: Record<string, unknown>
  proof: Record<string, unknown>
  [name: string]: unknown
}

export type ProvenanceEnvelope = {
  payloadType: 'application/vnd.in-toto+json'
  /** The statement, in base64. */
  payload: string
  signatures: Array<{
    /** The verification method of the key. */
    keyid: string
    /** Ed25519, in base64. */
    sig: string
  }>
}

export type PublicScore = {
  schemaVersion: 'service.public_score.v1'
  id: string
  score: number
  confidence: ScoreConfidence
  scoreBand: 'emerging' | 'developing' | 'verified' | 'strong' | 'exceptional'
  issuedAt: string
  evidenceCount: number
  engineVersion: string
  scoreVc: ScoreCredentialReference | null
  profile: ScoredProfile
}

export type ReportAgentDecisionRequest = {
  /** must be {"kind":"candidate","username":…} with a username of 3 to 30 characters, or {"kind":"score","scoreId":…} with 64 hexadecimal characters */
  subject: AgentDecisionCandidate | AgentDecisionScore
  /** must be one of shortlisted, rejected, contacted, interview_requested, offer_extended, hired, no_action */
  decision: 'shortlisted' | 'rejected' | 'contacted' | 'interview_requested' | 'offer_extended' | 'hired' | 'no_action'
  /** must be one of pending, positive, negative, neutral, unknown */
  outcome?: 'pending' | 'positive' | 'negative' | 'neutral' | 'unknown'
  /** must be text of at most 80 characters */
  agentName?: string
  /** must be text of at most 80 characters */
  agentVersion?: string
  /** must be text of at most 120 characters */
  jobRef?: string
  /** must be at most 10 different codes, each 1 to 64 characters of a-z 0-9 _ . : and - */
  reasonCodes?: Array<string>
  /** must be text of at most 1000 characters */
  notes?: string
  /** must be an object; what is in it is yours */
  metadata?: Record<string, unknown>
}

export type RequestLog = {
  schemaVersion: 'service.request_log.v1'
  requests: Array<LoggedRequest>
}

export type SandboxCredential = {
  /** The form of the proof. */
  form: 'native'
  document: ScoreCredential
}

export type SandboxScore = {
  schemaVersion: 'service.sandbox_score.v1'
  score: PublicScore
  credential: SandboxCredential | null
  statusUrl: string | null
  statusListUrl: string | null
}

export type ScoreConfidence = {
  low: number
  high: number
}

export type ScoreCredential = {
  "@context": Array<string>
  id: string
  type: Array<string>
  issuer: string
  issuanceDate: string
  validFrom: string
  validUntil: string
  credentialSubject: Record<string, unknown>
  credentialStatus: Record<string, unknown>
  proof: Record<string, unknown>
  [name: string]: unknown
}

export type ScoreCredentialReference = {
  sha256: string
  statusUrl: string | null
  statusListCredential: string | null
}

export type ScoreCredentialStatus = {
  schemaVersion: 'service.score_vc_status.v1'
  status: 'active' | 'revoked'
  revoked: boolean
  /** Only when revoked. */
  revokedAt?: string
  checkedAt: string
}

export type ScoreRevisedData = {
  /** The worker of the event. */
  workerId: string
  /** The score as computed; the id of the public score. */
  snapshotId: string
  /** From 0 to 1000. */
  score: number
  /** The low end of the range around the score. */
  confidenceLow: number
  /** The high end of the range around the score. */
  confidenceHigh: number
  /** How many items of evidence count. */
  evidenceCount: number
  /** How many independent groups of sources they come from. */
  sourceCount: number
  /** SHA-256 of the payload of the score's credential. */
  scoreVcSha256: string
  /** Asks for the status of the score's credential. */
  scoreVcStatusToken: string
  /** When score and credential were issued. */
  issuedAt: string
  /** The score that it replaces. */
  previousSnapshotId: string
  /** Its value. */
  previousScore: number
  previousScoreVcSha256: string | null
  previousScoreVcStatusToken: string | null
  /** The cause of the revision: a correction, revoked evidence, an upheld dispute, a recalled engine, or evidence of another worker. */
  reason: 'correction' | 'evidence_revoked' | 'dispute_upheld' | 'engine_correction' | 'identity_change'
  disputeId: string | null
  /** When it was revised. */
  revisedAt: string
}

export type ScoreRevisedEvent = {
  schemaVersion: 'service.webhook_event.v1'
  /** Opaque; the same at every delivery of this event. */
  id: string
  type: 'score.revised'
  /** When it happened. */
  createdAt: string
  data: ScoreRevisedData
}

export type ScoreUpdatedData = {
  /** The worker of the event. */
  workerId: string
  /** The score as computed; the id of the public score. */
  snapshotId: string
  /** From 0 to 1000. */
  score: number
  /** The low end of the range around the score. */
  confidenceLow: number
  /** The high end of the range around the score. */
  confidenceHigh: number
  /** How many items of evidence count. */
  evidenceCount: number
  /** How many independent groups of sources they come from. */
  sourceCount: number
  /** SHA-256 of the payload of the score's credential. */
  scoreVcSha256: string
  /** Asks for the status of the score's credential. */
  scoreVcStatusToken: string
  /** When score and credential were issued. */
  issuedAt: string
}

export type ScoreUpdatedEvent = {
  schemaVersion: 'service.webhook_event.v1'
  /** Opaque; the same at every delivery of this event. */
  id: string
  type: 'score.updated'
  /** When it happened. */
  createdAt: string
  data: ScoreUpdatedData
}

export type ScoredProfile = {
  username: string
  displayName: string
  avatarUrl: string | null
  /** /u/ and the username. */
  profilePath: string
}

export type Session = {
  id: string
  /** Whether this session made the request. */
  current: boolean
  /** Such as `Firefox on Linux`. */
  browser: string
  /** The network of the sign-in, with the last bits of the address cut off. */
  network: string
  createdAt: string
  /** Up to two minutes behind. */
  lastSeenAt: string
  /** The session ends then at the latest, and earlier if it is not used. */
  endsAt: string
}

export type SessionList = {
  schemaVersion: 'service.sessions.v1'
  sessions: Array<Session>
}

export type SessionsEnded = {
  schemaVersion: 'service.sessions_ended.v1'
  /** How many sessions this request has ended. */
  ended: number
}

export type Skill = {
  "@context": string
  "@type": 'Skill'
  /** The absolute URL of this record. */
  "@id": string
  id: string
  version: string
  label: string
  aliases: Array<string>
  domain: 'technical' | 'creative' | 'interpersonal' | 'domain' | 'foundational'
  subdomain?: string | null
  category: Array<string>
  description: string
  evidence_types: Array<{
    type: string
    weight: number
    /** The evidence to look at, and the difference between strong and weak. */
    signal: string
  }>
  /** 0: does not decay. */
  decay_half_life_months: number
  depends_on: Array<string>
  related_to: Array<string>
  proficiency_rubric: {
    novice: string
    intermediate: string
    advanced: string
    expert: string
  }
  /** sha256: and the hex digest of the canonical JSON of the record without it. */
  anchored: string
}

export type SkillCatalog = {
  "@context": string
  "@type": 'SkillCatalog'
  version: string
  count: number
  skills: Array<Skill>
  [name: string]: unknown
}

export type SkillNotFound = {
  error: 'skill_not_found'
  id: string
}

export type SkillNotes = {
  "@context": string
  "@type": 'SkillNotes'
  /** The absolute URL of these notes. */
  "@id": string
  about: string
  /** The version of the record that the notes cover. */
  about_version: string
  weights_rationale: string
  half_life_rationale: string
  /** The part of the rubric that describes a role instead of proficiency. */
  role_note: null | string
  sources: Array<{
    title: string
    publisher: string
    identifier: string
  }>
  /** Empty until a practitioner has reviewed the record. */
  reviews: Array<{
    reviewer: string
    reviewed_at: string
    comment: string
  }>
  license: string
}

export type StatusListCredential = {
  "@context": Array<string>
  type: Array<string>
  issuer: string
  validFrom: string
  validUntil?: string
  credentialSubject: Record<string, unknown>
  proof: Record<string, unknown>
  [name: string]: unknown
}

export type UnlockReview = {
  schemaVersion: 'service.agent_unlock_review.v1'
  status: 'pending'
  requestedAt: string
}

export type UnlockReviewRequest = {
  /** must be text of at most 1000 characters */
  note?: string
}

export type Usage = {
  schemaVersion: 'service.usage.v1'
  from: string
  to: string
  by: 'day' | 'meter' | 'operation' | 'key' | 'status'
  rows: Array<UsageRow>
}

export type UsageRow = {
  /** The day, meter, operation id, id of the key, or status. */
  group: string
  /** Calls that were charged; by status all calls. */
  calls: number
  /** The number of these calls that were refunded. */
  refunded: number
  /** Credits that were charged and not refunded. */
  credits: number
}

export type VerifyScoreCredentialResult = {
  schemaVersion: 'service.score_vc_verify.v1'
  valid: boolean
  signatureValid: boolean
  issuerMatch: boolean
  revocation: {
    checked: boolean
    revoked: boolean
    revokedAt?: string | null
  }
  credential?: Record<string, unknown>
  notes: Array<string>
  reason?: string
  message: string
  presented: Record<string, unknown>
  [name: string]: unknown
}

export type WebhookChangeRequest = Record<string, unknown>

export type WebhookDelivery = {
  /** The id of the attempt, which is a header of its request. */
  id: string
  /** The id of the event. */
  eventId: string
  /** The type of the event. */
  eventType: 'score.updated' | 'score.revised' | 'evidence.revoked' | 'dispute.opened' | 'dispute.resolved' | 'candidate.consent_changed'
  /** The first attempt is 1. */
  attempt: number
  /** The cause of the delivery: the event itself, a resend (`manual`), a replay of missed events (`recovery`), or a test. */
  trigger: 'event' | 'manual' | 'recovery' | 'test'
  /** `interrupted`: the attempt is made again. */
  status: 'succeeded' | 'failed' | 'interrupted'
  /** When the attempt began. */
  requestedAt: string
  durationMs: number | null
  responseStatus: number | null
  responseBody: string | null
  errorCode: string | null
  nextAttemptAt: string | null
}

export type WebhookDeliveryList = {
  schemaVersion: 'service.webhook_deliveries.v1'
  deliveries: Array<WebhookDelivery>
}

export type WebhookEndpoint = {
  schemaVersion: 'service.webhook_endpoint.v1'
  /** The id of the endpoint. */
  id: string
  /** The account that owns it. */
  userId: string
  /** Events are sent to this URL. */
  url: string
  description: string | null
  eventTypes: Array<'score.updated' | 'score.revised' | 'evidence.revoked' | 'dispute.opened' | 'dispute.resolved' | 'candidate.consent_changed'>
  /** The beginning of the signing secret. */
  secretPrefix: string
  /** The time of its creation. */
  createdAt: string
  /** The time of its last change. */
  updatedAt: string
  disabledAt: string | null
}

export type WebhookEndpointChanged = {
  endpoint: WebhookEndpoint
}

export type WebhookEndpointCreated = {
  schemaVersion: 'service.webhook_endpoint_create.v1'
  endpoint: WebhookEndpoint
  /** Signs every delivery. Keep it: it is not shown again. */
  signingSecret: string
}

export type WebhookEndpointList = {
  schemaVersion: 'service.webhook_endpoints.v1'
  endpoints: Array<WebhookEndpoint>
}

export type WebhookEndpointRequest = {
  /** must be an https URL of a public host, at most 2048 characters */
  url: string
  /** must be 1 to 6 event types, each once */
  events: Array<'score.updated' | 'score.revised' | 'evidence.revoked' | 'dispute.opened' | 'dispute.resolved' | 'candidate.consent_changed'>
  /** must be text of at most 120 characters */
  description?: string
}

export type WebhookEndpointState = {
  schemaVersion: 'service.webhook_endpoint_state.v1'
  /** The id of the endpoint. */
  endpointId: string
  pausedAt: string | null
  /** The beginning of the secret that signs now. */
  secretPrefix: string
  nextSecretSignsFrom: string | null
  previousSecretEndsAt: string | null
}

export type WebhookEventFeed = {
  schemaVersion: 'service.webhook_events.v1'
  events: Array<ScoreUpdatedEvent | ScoreRevisedEvent | EvidenceRevokedEvent | DisputeOpenedEvent | DisputeResolvedEvent | ConsentChangedEvent>
  /** Opaque. The value of `after` for the next call, at any time. */
  next: string
  /** Whether more events may be available now. */
  hasMore: boolean
}

export type WebhookResend = {
  schemaVersion: 'service.webhook_resend.v1'
  /** The id of the event that is sent again. */
  eventId: string
  /** The id of the endpoint. */
  endpointId: string
  /** When the delivery was queued. */
  queuedAt: string
}

export type WebhookSecret = {
  schemaVersion: 'service.webhook_secret.v1'
  /** The id of the endpoint. */
  endpointId: string
  /** Keep it: it is not shown again. */
  signingSecret: string
  /** When it begins to sign. */
  signsFrom: string
}

export type WebhookSecretReplacementRequest = {
  /** must be the `secretPrefix` of the endpoint, 18 characters */
  secretPrefix: string
}

export type WebhookSentEvent = {
  schemaVersion: 'service.webhook_sent_event.v1'
  /** The id of the endpoint. */
  endpointId: string
  /** The id of the event. */
  eventId: string
  /** The type of the event. */
  eventType: 'score.updated' | 'score.revised' | 'evidence.revoked' | 'dispute.opened' | 'dispute.resolved' | 'candidate.consent_changed'
  /** When the event happened. */
  createdAt: string
  /** The status of the latest delivery. `exhausted`: every attempt failed. */
  status: 'pending' | 'sending' | 'succeeded' | 'exhausted' | 'cancelled'
  /** The body as it is signed and sent. */
  payload: string
  deliveries: Array<WebhookDelivery>
}

export type WebhookTestQueued = {
  schemaVersion: 'service.webhook_test.v1'
  /** The id of the test event. It begins with `evt_test_`. */
  eventId: string
  /** The requested type. */
  eventType: 'score.updated' | 'score.revised' | 'evidence.revoked' | 'dispute.opened' | 'dispute.resolved' | 'candidate.consent_changed'
  /** The id of the endpoint. */
  endpointId: string
  /** When the event was queued. */
  queuedAt: string
}

export type WebhookTestRequest = {
  /** must be one of score.updated, score.revised, evidence.revoked, dispute.opened, dispute.resolved, candidate.consent_changed */
  eventType: 'score.updated' | 'score.revised' | 'evidence.revoked' | 'dispute.opened' | 'dispute.resolved' | 'candidate.consent_changed'
}

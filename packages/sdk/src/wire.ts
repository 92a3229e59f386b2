/** Generated from the OpenAPI document by `npm run generate`: do not edit. */

/** A credential in force. */
export type ActiveCredentialStatus = {
  /** Names the form of this object. */
  schemaVersion: 'service.score_vc_status.v1'
  /** The credential is not revoked. */
  status: 'active'
  /** The credential is not revoked. */
  revoked: false
  /** When the service read the status. */
  checkedAt: string
}

/** A candidate. */
export type AgentDecisionCandidate = {
  /** The decision is about a candidate. */
  kind: 'candidate'
  /** The username of the candidate, with or without a leading @. */
  username: string
}

/** A report of a decision. Only the account that made it can read it. */
export type AgentDecisionReport = {
  /** Names the form of this object. */
  schemaVersion: 'service.agent_decision_report.v1'
  /** The id of the report. */
  id: string
  /** The account that reported. */
  userId: string
  /** Id of the API key that made the report. Null if it is not known. */
  apiKeyId: string | null
  /** must be {"kind":"candidate","username":…} with a username of 3 to 30 characters, or {"kind":"score","scoreId":…} with 64 hexadecimal characters */
  subject: AgentDecisionCandidate | AgentDecisionScore
  /** must be one of shortlisted, rejected, contacted, interview_requested, offer_extended, hired, no_action */
  decision: 'shortlisted' | 'rejected' | 'contacted' | 'interview_requested' | 'offer_extended' | 'hired' | 'no_action'
  /** must be one of pending, positive, negative, neutral, unknown */
  outcome: 'pending' | 'positive' | 'negative' | 'neutral' | 'unknown'
  /** The name of the agent. Null if it was not given. */
  agentName: string | null
  /** The version of the agent. Null if it was not given. */
  agentVersion: string | null
  /** Your name of the job. Null if it was not given. */
  jobRef: string | null
  /** must be at most 10 different codes, each 1 to 64 characters of a-z 0-9 _ . : and - */
  reasonCodes: Array<string>
  /** Your notes. Null if they were not given. */
  notes: string | null
  /** must be an object; what is in it is yours */
  metadata: Record<string, unknown>
  /** When the service received the report. */
  createdAt: string
}

export type AgentDecisionReportCreated = {
  /** Names the form of this object. */
  schemaVersion: 'service.agent_decision_report_create.v1'
  report: AgentDecisionReport
  /** Whether the key had been used for this report before. */
  replayed: boolean
}

export type AgentDecisionReportList = {
  /** Names the form of this object. */
  schemaVersion: 'service.agent_decision_reports.v1'
  /** The newest report comes first. */
  reports: Array<AgentDecisionReport>
}

/** A score. */
export type AgentDecisionScore = {
  /** The decision is about a score. */
  kind: 'score'
  /** The id of the score, in either case. */
  scoreId: string
}

export type CandidateDetail = {
  /** Names the candidate in paths. */
  username: string
  /** The name that the candidate shows. */
  displayName: string
  /** The professional title. Null if the candidate gives none. */
  title: string | null
  /** What the candidate writes about themselves. Null if there is none. */
  bio: string | null
  /** The https URL of a picture. Null if the candidate gives none. */
  avatarUrl: string | null
  /** The path of the public profile: /u/ and the username. */
  profilePath: string
  /** The month in which the candidate joined. Null if it is not known. */
  memberSince: string | null
  /** The skills on the profile. */
  skills: Array<CandidateSkill>
  /** Skills on the profile. */
  skillCount: number
  /** Skills on the profile that evidence supports. */
  verifiedSkillCount: number
  /** The public score. Null if there is none, or if the candidate does not share it. */
  score: CandidateScore | null
}

/** A candidate in a search result. */
export type CandidatePreview = {
  /** Names the candidate in paths. */
  username: string
  /** The name that the candidate shows. */
  displayName: string
  /** The professional title. Null if the candidate gives none. */
  title: string | null
  /** The https URL of a picture. Null if the candidate gives none. */
  avatarUrl: string | null
  /** The path of the public profile: /u/ and the username. */
  profilePath: string
  /** At most five skills, verified ones first. */
  topSkills: Array<CandidateSkill>
  /** The skills that the query matches. */
  matchedSkills: Array<CandidateSkill>
  /** Skills on the profile. */
  skillCount: number
  /** Skills on the profile that evidence supports. */
  verifiedSkillCount: number
}

/** The public score of a candidate. */
export type CandidateScore = {
  /** From 0 to 1000. */
  score: number
  confidence: ScoreConfidence
  /** The band of the score. /standard/v1/score-bands.jsonld defines the bands. */
  scoreBand: 'emerging' | 'developing' | 'verified' | 'strong' | 'exceptional'
  /** When the score was issued. */
  issuedAt: string
  /** Items of evidence that the score rests on. */
  evidenceCount: number
  /** The version of the engine that computed the score. */
  engineVersion: string
  /** The credential of the score. Null if it has none. */
  scoreVc: ScoreCredentialReference | null
}

export type CandidateSearchResult = {
  /** The words of the search. */
  query: string
  /** The best match comes first. */
  candidates: Array<CandidatePreview>
  /** Candidates in this answer. */
  resultCount: number
}

/** A skill of a candidate. */
export type CandidateSkill = {
  /** The name of the skill, as on the profile. */
  name: string
  /** Whether evidence supports the skill. */
  verified: boolean
  /** The level of the skill, such as advanced. Null if the profile names none. */
  level: string | null
}

/** A permission that changed. */
export type ConsentChangedData = {
  /** The worker of the event. */
  workerId: string
  /** The permission that changed. */
  permission: 'public_profile' | 'search_listing' | 'score_sharing'
  /** Whether it is granted now. */
  granted: boolean
  /** Whether the permission was granted before. Null if it was undecided. */
  previousGranted: boolean | null
  /** Rises with each change of any permission of the worker. */
  consentVersion: number
  /** From when it holds. */
  effectiveAt: string
}

/** An event: what is sent to endpoints, and listed in the feed. */
export type ConsentChangedEvent = {
  /** Names the form of this object. */
  schemaVersion: 'service.webhook_event.v1'
  /** Names the event. Opaque; the same at every delivery of this event. */
  id: string
  /** The type of the event. */
  type: 'candidate.consent_changed'
  /** When it happened. */
  createdAt: string
  data: ConsentChangedData
}

/** A dispute that was opened. */
export type DisputeOpenedData = {
  /** The worker of the event. */
  workerId: string
  /** The dispute. */
  disputeId: string
  /** The subject of the dispute. */
  kind: 'score' | 'evidence' | 'identity'
  /** The score at that time. Null if there was none. */
  snapshotId: string | null
  /** Whether the score is not shown while the dispute is open. */
  restricted: boolean
  /** When the dispute was opened. */
  openedAt: string
}

/** An event: what is sent to endpoints, and listed in the feed. */
export type DisputeOpenedEvent = {
  /** Names the form of this object. */
  schemaVersion: 'service.webhook_event.v1'
  /** Names the event. Opaque; the same at every delivery of this event. */
  id: string
  /** The type of the event. */
  type: 'dispute.opened'
  /** When it happened. */
  createdAt: string
  data: DisputeOpenedData
}

/** A dispute that was decided. */
export type DisputeResolvedData = {
  /** The worker of the event. */
  workerId: string
  /** The dispute. */
  disputeId: string
  /** The subject of the dispute. */
  kind: 'score' | 'evidence' | 'identity'
  /** The score at that time. Null if there was none. */
  snapshotId: string | null
  /** Whether the score is not shown while the dispute is open. */
  restricted: boolean
  /** When the dispute was opened. */
  openedAt: string
  /** How it ended. */
  resolution: 'upheld' | 'partly_upheld' | 'rejected' | 'withdrawn'
  /** Whether the score is another one now. */
  scoreChanged: boolean
  /** The score after the decision. Null if there is none. */
  resultingSnapshotId: string | null
  /** When it ended. */
  resolvedAt: string
}

/** An event: what is sent to endpoints, and listed in the feed. */
export type DisputeResolvedEvent = {
  /** Names the form of this object. */
  schemaVersion: 'service.webhook_event.v1'
  /** Names the event. Opaque; the same at every delivery of this event. */
  id: string
  /** The type of the event. */
  type: 'dispute.resolved'
  /** When it happened. */
  createdAt: string
  data: DisputeResolvedData
}

export type ErrorDescription = {
  /** Names the error. */
  error: string
  /** The HTTP status. */
  status: number
  /** The HTTP status on routes that need an API key, if it is another one. */
  keyedStatus?: number
  /** The usual text of the error. */
  message: string
  /** The next step for the caller. */
  advice: string
}

/** The body of every error. */
export type ErrorResponse = {
  /** Names the error and does not change. New values can be added: treat an unknown one by its status. */
  error: string
  /** Explains the error to a developer. The text can change at any time. */
  message?: string
  /** Only on version errors. */
  supported_version?: string
}

/** A record that no longer counts. */
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
  /** A score that the record was part of; one event for each. Null if there was none. */
  snapshotId: string | null
  /** The credential of that score. Null if it had none. */
  scoreVcSha256: string | null
  /** Asks for the status of the credential of that score. Null if it had none. */
  scoreVcStatusToken: string | null
  /** When it was removed. */
  revokedAt: string
}

/** An event: what is sent to endpoints, and listed in the feed. */
export type EvidenceRevokedEvent = {
  /** Names the form of this object. */
  schemaVersion: 'service.webhook_event.v1'
  /** Names the event. Opaque; the same at every delivery of this event. */
  id: string
  /** The type of the event. */
  type: 'evidence.revoked'
  /** When it happened. */
  createdAt: string
  data: EvidenceRevokedData
}

/** An OpenAPI 3.1 document. */
export type OpenApiDocument = {
  /** The version of OpenAPI. */
  openapi: string
  /** The title and the version of the interface. */
  info: Record<string, unknown>
  /** Every path with its operations. */
  paths: Record<string, unknown>
  [name: string]: unknown
}

/** How to pay for this request; PAYMENT-REQUIRED holds the same in base64. */
export type PaymentChallenge = {
  /** The version of x402. */
  x402Version: 1
  /** The ways to pay. */
  accepts: Array<PaymentRequirement>
}

/** One way to pay for the call. */
export type PaymentRequirement = {
  /** The exact amount is paid. */
  scheme: 'exact'
  /** The network of the asset. */
  network: 'base' | 'base-sepolia'
  /** Atomic units of the asset. */
  amount?: string
  /** Atomic units of the asset. */
  maxAmountRequired: string
  /** The URL that the payment is for. */
  resource: string
  /** The name of the resource. */
  description: string
  /** The media type of the resource. */
  mimeType?: 'application/json'
  /** The address that receives the payment. */
  payTo: string
  /** The contract of the token. */
  asset: string
  /** Seconds for which a payment may be valid. */
  maxTimeoutSeconds?: number
  /** The token, and the names of this purchase. */
  extra: {
    /** The name of the token in the domain of its signatures (EIP-712). */
    name: string
    /** The version of the token in the domain of its signatures (EIP-712). */
    version: string
    /** Names this challenge. */
    nonce: string
    /** The meter of the call. */
    endpoint: 'score_lookup' | 'candidate_lookup' | 'candidate_search'
    /** Names this purchase; a repeat with it is charged once. */
    idempotencyKey: string
    [name: string]: unknown
  }
  [name: string]: unknown
}

/** A credential exactly as it was issued, with every member. */
export type PresentedCredential = {
  /** As in the credential. */
  "@context": Array<string>
  /** As in the credential. */
  type: Array<string>
  /** As in the credential. */
  issuer: string
  /** As in the credential. */
  issuanceDate?: string
  /** As in the credential. */
  credentialSubject: Record<string, unknown>
  /** As in the credential. */
  credentialStatus?: Record<string, unknown>
  /** As in the credential. Native proofs and Data Integrity proofs are read. */
  proof: Record<string, unknown>
  [name: string]: unknown
}

/** A public score. */
export type PublicScore = {
  /** Names the form of this object. */
  schemaVersion: 'service.public_score.v1'
  /** Names the score in paths. A recomputed score has another id. */
  id: string
  /** From 0 to 1000. */
  score: number
  confidence: ScoreConfidence
  /** The band of the score. /standard/v1/score-bands.jsonld defines the bands. */
  scoreBand: 'emerging' | 'developing' | 'verified' | 'strong' | 'exceptional'
  /** When the score was issued. */
  issuedAt: string
  /** Items of evidence that the score rests on. */
  evidenceCount: number
  /** The version of the engine that computed the score. */
  engineVersion: string
  /** The credential of the score. Null if it has none. */
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

/** A revoked credential. */
export type RevokedCredentialStatus = {
  /** Names the form of this object. */
  schemaVersion: 'service.score_vc_status.v1'
  /** The credential is revoked. */
  status: 'revoked'
  /** The credential is revoked. */
  revoked: true
  /** When the credential was revoked. */
  revokedAt: string
  /** When the service read the status. */
  checkedAt: string
}

/** A credential of the sandbox. */
export type SandboxCredential = {
  /** The form of the proof. */
  form: 'native'
  document: ScoreCredential
}

export type SandboxScore = {
  /** Names the form of this object. */
  schemaVersion: 'service.sandbox_score.v1'
  score: PublicScore
  /** The credential of the score. Null if it has none. */
  credential: SandboxCredential | null
  /** The URL that says whether the credential is revoked. Null without one. */
  statusUrl: string | null
  /** The URL of the signed list of revocations that covers the credential. Null without one. */
  statusListUrl: string | null
}

/** The range around the score. More evidence makes it narrower. */
export type ScoreConfidence = {
  /** The low end of the range. */
  low: number
  /** The high end of the range. */
  high: number
}

/** A signed score. Keep it as it is: each change breaks the signature. */
export type ScoreCredential = {
  /** The JSON-LD contexts that define the members. */
  "@context": Array<string>
  /** Names the credential. */
  id: string
  /** The types of the credential. */
  type: Array<string>
  /** The did:web identifier of the service that signed it. */
  issuer: string
  /** When the credential was issued. */
  issuanceDate: string
  /** When it begins to be valid. */
  validFrom: string
  /** When it ends to be valid. */
  validUntil: string
  /** The claims: the candidate, the score and its range. */
  credentialSubject: Record<string, unknown>
  /** The entry of the credential in the list of revocations. */
  credentialStatus: Record<string, unknown>
  /** The signature, in the requested form. */
  proof: Record<string, unknown>
  [name: string]: unknown
}

/** The credential of the score. */
export type ScoreCredentialReference = {
  /** SHA-256 of the payload of the credential. */
  sha256: string
  /** The URL that says whether the credential is revoked. */
  statusUrl: string | null
  /** The URL of the signed list of revocations that covers the credential. */
  statusListCredential: string | null
}

/** Whether a credential is revoked. */
export type ScoreCredentialStatus = ActiveCredentialStatus | RevokedCredentialStatus

/** A score that replaces a wrong one. */
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
  /** The value of the replaced score. */
  previousScore: number
  /** The credential of the replaced score. Null if it had none. */
  previousScoreVcSha256: string | null
  /** Asks for the status of the credential of the replaced score. Null if it had none. */
  previousScoreVcStatusToken: string | null
  /** The cause of the revision: a correction, revoked evidence, an upheld dispute, a recalled engine, or evidence of another worker. */
  reason: 'correction' | 'evidence_revoked' | 'dispute_upheld' | 'engine_correction' | 'identity_change'
  /** The dispute that led to the revision. Null if none did. */
  disputeId: string | null
  /** When it was revised. */
  revisedAt: string
}

/** An event: what is sent to endpoints, and listed in the feed. */
export type ScoreRevisedEvent = {
  /** Names the form of this object. */
  schemaVersion: 'service.webhook_event.v1'
  /** Names the event. Opaque; the same at every delivery of this event. */
  id: string
  /** The type of the event. */
  type: 'score.revised'
  /** When it happened. */
  createdAt: string
  data: ScoreRevisedData
}

/** A new score. */
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

/** An event: what is sent to endpoints, and listed in the feed. */
export type ScoreUpdatedEvent = {
  /** Names the form of this object. */
  schemaVersion: 'service.webhook_event.v1'
  /** Names the event. Opaque; the same at every delivery of this event. */
  id: string
  /** The type of the event. */
  type: 'score.updated'
  /** When it happened. */
  createdAt: string
  data: ScoreUpdatedData
}

/** The candidate of the score. */
export type ScoredProfile = {
  /** Names the candidate in paths. */
  username: string
  /** The name that the candidate shows. */
  displayName: string
  /** The https URL of a picture. Null if the candidate gives none. */
  avatarUrl: string | null
  /** The path of the public profile: /u/ and the username. */
  profilePath: string
}

/** One skill of the standard. */
export type Skill = {
  /** The URL of the JSON-LD context that defines the members. */
  "@context": string
  /** The type of the record. */
  "@type": 'Skill'
  /** The absolute URL of this record. */
  "@id": string
  /** The id of the skill: hss: and its slug. */
  id: string
  /** The version of this record. */
  version: string
  /** The name of the skill. */
  label: string
  /** Other names of the skill. */
  aliases: Array<string>
  /** The domain of the skill. */
  domain: 'technical' | 'creative' | 'interpersonal' | 'domain' | 'foundational'
  /** The part of the domain. Null or absent if there is none. */
  subdomain?: string | null
  /** The categories of the skill. */
  category: Array<string>
  /** What the skill is. */
  description: string
  /** The evidence that counts for this skill, with weights. */
  evidence_types: Array<{
    /** The type of evidence, a word of the vocabulary. */
    type: string
    /** How much the type counts for this skill. The weights of a skill add up to 1. */
    weight: number
    /** The evidence to look at, and the difference between strong and weak. */
    signal: string
  }>
  /** Months after which evidence counts half. 0: it does not decay. */
  decay_half_life_months: number
  /** Skills that this one builds on. */
  depends_on: Array<string>
  /** Skills that are close to this one. */
  related_to: Array<string>
  /** What a worker does at each level. */
  proficiency_rubric: {
    /** What a novice does. */
    novice: string
    /** What a worker of intermediate level does. */
    intermediate: string
    /** What a worker of advanced level does. */
    advanced: string
    /** What an expert does. */
    expert: string
  }
  /** sha256: and the hex digest of the canonical JSON of the record without it. */
  anchored: string
}

/** Every skill of one release. */
export type SkillCatalog = {
  /** The URL of the JSON-LD context that defines the members. */
  "@context": string
  /** The type of the document. */
  "@type": 'SkillCatalog'
  /** The version of the release. */
  version: string
  /** Skills in the catalog. */
  count: number
  /** Every skill of the release. */
  skills: Array<Skill>
  [name: string]: unknown
}

/** No skill has this id. */
export type SkillNotFound = {
  /** Names the error. */
  error: 'skill_not_found'
  /** The id of the skill: hss: and its slug. */
  id: string
}

/** The reasons for the numbers of one skill. */
export type SkillNotes = {
  /** The URL of the JSON-LD context that defines the members. */
  "@context": string
  /** The type of the document. */
  "@type": 'SkillNotes'
  /** The absolute URL of these notes. */
  "@id": string
  /** The id of the skill: hss: and its slug. */
  about: string
  /** The version of the record that the notes cover. */
  about_version: string
  /** The reason for the weights. */
  weights_rationale: string
  /** The reason for the half-life. */
  half_life_rationale: string
  /** The part of the rubric that describes a role instead of proficiency. Null if there is none. */
  role_note: string | null
  /** The literature that the reasons rest on. */
  sources: Array<{
    /** The title of the source. */
    title: string
    /** The publisher of the source. */
    publisher: string
    /** A DOI as a URL, a URL, or the number of a standard. */
    identifier: string
  }>
  /** Empty until a practitioner has reviewed the record. */
  reviews: Array<{
    /** The name of the reviewer. */
    reviewer: string
    /** The day of the review. */
    reviewed_at: string
    /** The finding of the reviewer. */
    comment: string
  }>
  /** The license of the notes. */
  license: string
}

/** A signed list of revocations. */
export type StatusListCredential = {
  /** The JSON-LD contexts that define the members. */
  "@context": Array<string>
  /** The types of the list. */
  type: Array<string>
  /** The did:web identifier of the service that signed it. */
  issuer: string
  /** When the list begins to be valid. */
  validFrom: string
  /** When the list ends to be valid. Fetch it again then. */
  validUntil?: string
  /** The list: one bit for each credential. */
  credentialSubject: Record<string, unknown>
  /** The signature, in the requested form. */
  proof: Record<string, unknown>
  [name: string]: unknown
}

export type UnlockReview = {
  /** Names the form of this object. */
  schemaVersion: 'service.agent_unlock_review.v1'
  /** The operator has not decided yet. */
  status: 'pending'
  /** When the review was requested. */
  requestedAt: string
}

export type UnlockReviewRequest = {
  /** must be text of at most 1000 characters */
  note?: string
}

/** The claims of the credential. Absent unless issuer and signature are right. */
export type VerifiedClaims = {
  /** The did:web identifier of the service. */
  issuer?: string
  /** The URL of the candidate. */
  subject?: string
  /** The score. */
  score?: number
  /** The band of the score. */
  scoreBand?: string
  /** The low end of the range around the score. */
  confidenceLow?: number
  /** The high end of the range around the score. */
  confidenceHigh?: number
  /** When the credential was issued. */
  issuedAt?: string
  /** Names the engine that computed the score. */
  engineId?: string
  /** The version of the engine. */
  engineVersion?: string
  /** SHA-256 of the file of the engine. */
  engineBinarySha256?: string
  /** Names the key that signed. */
  verificationMethod?: string
  [name: string]: unknown
}

export type VerifyScoreCredentialResult = {
  /** Names the form of this object. */
  schemaVersion: 'service.score_vc_verify.v1'
  /** Whether every check passed. Rely on this member. */
  valid: boolean
  /** Whether a key of this service signed exactly these members. */
  signatureValid: boolean
  /** Whether the credential names this service. */
  issuerMatch: boolean
  /** The status of the credential. */
  revocation: {
    /** Whether the status was read. */
    checked: boolean
    /** Whether the credential is revoked. */
    revoked: boolean
    /** When the credential was revoked. Absent or null if it is not. */
    revokedAt?: string | null
  }
  credential?: VerifiedClaims
  /** Codes of further facts, such as the form of the proof or a retired key. */
  notes: Array<string>
  /** Names the first check that failed. Absent if the credential is valid. */
  reason?: string
  /** Explains the verdict to a reader. */
  message: string
  /** Facts of the request that no check has confirmed, such as its digests. For finding mistakes. */
  presented: Record<string, unknown>
  [name: string]: unknown
}

/** One attempt to deliver an event. */
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
  /** Milliseconds of the attempt. Null if it was not finished. */
  durationMs: number | null
  /** The HTTP status of the receiver. Null without a response. */
  responseStatus: number | null
  /** The first 2 KiB of the response that arrived within a second. Null if none did. */
  responseBody: string | null
  /** Why the attempt failed. Null if it succeeded. */
  errorCode: string | null
  /** The cause of `tls_error` or `dns_error` in words, such as `certificate has expired`. Null if none is known. */
  errorCause: string | null
  /** The `X-Request-Id` of the response to the call that caused the delivery, such as a test or a resend. Null if no call did. */
  requestId: string | null
  /** When the next attempt follows. Null once the delivery has ended. */
  nextAttemptAt: string | null
}

export type WebhookDeliveryList = {
  /** Names the form of this object. */
  schemaVersion: 'service.webhook_deliveries.v1'
  /** The newest attempt comes first. */
  deliveries: Array<WebhookDelivery>
}

/** A receiver of events. */
export type WebhookEndpoint = {
  /** Names the form of this object. */
  schemaVersion: 'service.webhook_endpoint.v1'
  /** The id of the endpoint. */
  id: string
  /** The account that owns it. */
  userId: string
  /** Events are sent to this URL. */
  url: string
  /** Your description. Null if there is none. */
  description: string | null
  /** The types that it is subscribed to. */
  eventTypes: Array<'score.updated' | 'score.revised' | 'evidence.revoked' | 'dispute.opened' | 'dispute.resolved' | 'candidate.consent_changed'>
  /** The beginning of the signing secret. */
  secretPrefix: string
  /** The time of its creation. */
  createdAt: string
  /** The time of its last change. */
  updatedAt: string
  /** Since when nothing is sent to it. Null while it is active. */
  disabledAt: string | null
}

export type WebhookEndpointChanged = {
  endpoint: WebhookEndpoint
}

export type WebhookEndpointCreated = {
  /** Names the form of this object. */
  schemaVersion: 'service.webhook_endpoint_create.v1'
  endpoint: WebhookEndpoint
  /** Signs every delivery. Keep it: it is not shown again. */
  signingSecret: string
}

export type WebhookEndpointList = {
  /** Names the form of this object. */
  schemaVersion: 'service.webhook_endpoints.v1'
  /** The active endpoints. */
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

export type WebhookEventFeed = {
  /** Names the form of this object. */
  schemaVersion: 'service.webhook_events.v1'
  /** The oldest event comes first. */
  events: Array<ScoreUpdatedEvent | ScoreRevisedEvent | EvidenceRevokedEvent | DisputeOpenedEvent | DisputeResolvedEvent | ConsentChangedEvent>
  /** The position of each event, which deliveries call `Service-Webhook-Sequence`. As text, it is the `after` that continues behind the event. */
  positions: Array<number>
  /** Opaque. The value of `after` for the next call, at any time. */
  next: string
  /** Whether more events may be available now. */
  hasMore: boolean
}

export type WebhookTestQueued = {
  /** Names the form of this object. */
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

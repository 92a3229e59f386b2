/** Pure: examples for the contract. */
import { schemaVersion } from '../../edge/http/identifiers.ts'
import type { CandidateDetail, PublicScore, SearchResult } from './schema.ts'

const worker = {
  username: 'ada-lovelace',
  displayName: 'Ada Lovelace',
  avatarUrl: null,
  profilePath: '/u/ada-lovelace',
}
const skills = [
  { name: 'TypeScript', verified: true, level: 'advanced' },
  { name: 'Technical writing', verified: false, level: null },
]
const token = '1a7674eb4ee78df7e1ac439a93c3fa8e3c945784d4dec9fd8e3011738b2f1d62'
const score = {
  score: 742,
  confidence: { low: 701, high: 778 },
  scoreBand: 'strong' as const,
  issuedAt: '2026-05-14T09:00:00Z',
  evidenceCount: 18,
  engineVersion: '2.0.0',
  scoreVc: {
    sha256: '5198254e5730f1642c3bdf23cb57b7d642ca869c92dd949a88e491e661d8f2a2',
    statusUrl: `https://scores.example.org/standard/v1/score-vc-status/${token}`,
    statusListCredential:
      'https://scores.example.org/standard/v1/status-lists/score-vc-revocation/k3x7qzm2ab',
  },
}

export const examples: { search: SearchResult; detail: CandidateDetail; score: PublicScore } = {
  search: {
    query: 'typescript',
    candidates: [
      {
        ...worker,
        title: 'Software engineer',
        topSkills: skills,
        matchedSkills: skills.slice(0, 1),
        skillCount: 2,
        verifiedSkillCount: 1,
      },
    ],
    resultCount: 1,
  },
  detail: {
    ...worker,
    title: 'Software engineer',
    bio: null,
    memberSince: '2026-05',
    skills,
    skillCount: 2,
    verifiedSkillCount: 1,
    score,
  },
  score: {
    schemaVersion: schemaVersion('public_score'),
    id: '9f2c1a7674eb4ee78df7e1ac439a93c3fa8e3c945784d4dec9fd8e3011738b2f',
    ...score,
    profile: worker,
  },
}

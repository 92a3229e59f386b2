/**
 * Pure: the meaning of each term of `std:`, as RDFS classes and properties, and of each controlled
 * word, as SKOS concepts. A test compares the terms with those of the context.
 */
import { credentialType, nativeProofType } from '../platform/http/identifiers.ts'
import { standardUrls } from './context.ts'
import type { ControlledLists, Release } from './source.ts'

export interface ClassTerm {
  kind: 'class'
  label: string
  comment: string
}

export interface PropertyTerm {
  kind: 'property'
  label: string
  comment: string
  /** Name of the class that has it. Absent: a node without a class of its own. */
  domain?: string
  /** `std:` class or a type of another vocabulary. */
  range: string
  note?: string
}

export type Term = ClassTerm | PropertyTerm

const text = 'xsd:string'
const integer = 'xsd:integer'
const skill = 'Skill'
const catalog = 'SkillCatalog'
const bands = 'ScoreBandDefinitionSet'
const profile = 'ScoredProfile'
const notes = 'SkillNotes'

function property(
  label: string,
  range: string,
  comment: string,
  more: { domain?: string; note?: string } = {},
): PropertyTerm {
  return { kind: 'property', label, range, comment, ...more }
}

/** Proficiency, not position: the same reading applies to each level. */
const levelNote =
  'A level describes performance that can be observed, not a job title or years of experience.'

/** The terms by name. A credential signs some of these names, so none is ever removed. */
export const terms: Readonly<Record<string, Term>> = {
  Skill: {
    kind: 'class',
    label: 'Skill',
    comment:
      'An ability that a worker shows in work or in an assessment, with a rubric and the evidence that counts for it.',
  },
  domain: property(
    'domain',
    text,
    'The domain of the skill: the notation of a concept in the scheme of domains.',
    {
      domain: skill,
    },
  ),
  subdomain: property(
    'subdomain',
    text,
    'The part of the domain: the notation of a concept in the scheme of subdomains.',
    { domain: skill },
  ),
  category: property(
    'category',
    text,
    'A group of skills across domains: the notation of a concept in the scheme of categories.',
    { domain: skill },
  ),
  evidenceType: property(
    'evidence type',
    'rdfs:Resource',
    'A type of evidence that counts for the skill, with its weight and its signal.',
    { domain: skill },
  ),
  evidenceKind: property(
    'evidence kind',
    text,
    'The kind of evidence: the notation of a concept in the scheme of evidence kinds.',
  ),
  weight: property(
    'weight',
    'xsd:double',
    'The share of this type of evidence in the score of the skill, from 0 to 1. The weights of a skill sum to 1.',
    { note: 'Weights are expert judgement. They are not estimated from data.' },
  ),
  signal: property(
    'signal',
    text,
    'The evidence to look at, and the difference between strong and weak evidence.',
  ),
  decayHalfLifeMonths: property(
    'decay half-life in months',
    integer,
    'The months after which an item of evidence weighs half. 0: the evidence does not lose weight.',
    { domain: skill, note: 'Half-lives are expert judgement. They are not estimated from data.' },
  ),
  dependsOn: property(
    'depends on',
    'Skill',
    'A skill without which this one cannot be performed. The relation has no circle.',
    { domain: skill },
  ),
  proficiencyRubric: property(
    'proficiency rubric',
    'rdfs:Resource',
    'The description of the four levels of proficiency.',
    { domain: skill },
  ),
  novice: property('novice', text, 'The lowest level: values 0 to 249.', { note: levelNote }),
  intermediate: property('intermediate', text, 'The second level: values 250 to 499.', {
    note: levelNote,
  }),
  advanced: property('advanced', text, 'The third level: values 500 to 749.', { note: levelNote }),
  expert: property('expert', text, 'The highest level: values 750 to 1000.', {
    note: `${levelNote} The texts of some records describe a role at this level, such as setting rules for others. Their notes say so.`,
  }),
  anchored: property(
    'anchor',
    text,
    'sha256: and the hex digest of the canonical JSON (RFC 8785) of the record without this member.',
    { domain: skill },
  ),
  SkillCatalog: {
    kind: 'class',
    label: 'Skill catalog',
    comment: 'All skills of one release, with the controlled lists that they refer to.',
  },
  count: property('count', integer, 'The number of skills in the catalog.', { domain: catalog }),
  catalogHash: property(
    'catalog hash',
    text,
    'sha256: and the hex digest of the canonical JSON of the sorted anchors. It names exactly these records.',
    { domain: catalog },
  ),
  controlledLists: property(
    'controlled lists',
    'rdf:JSON',
    'The controlled lists of the release as JSON: domains, subdomains, categories, evidence types.',
    { domain: catalog },
  ),
  deprecatedSkill: property(
    'deprecated skill',
    'Skill',
    'A skill that dcterms:isReplacedBy another one. Its record stays.',
    { domain: catalog },
  ),
  hasSkill: property('has skill', 'Skill', 'A skill of the catalog.', { domain: catalog }),
  SkillNotes: {
    kind: 'class',
    label: 'Skill notes',
    comment:
      'The reasons for the weights and the half-life of one skill, with sources and reviews. The notes change no score.',
  },
  about: property('about', 'Skill', 'The skill that the notes are about.', { domain: notes }),
  aboutVersion: property('about version', text, 'The version of the record that the notes cover.', {
    domain: notes,
  }),
  weightsRationale: property(
    'rationale for the weights',
    text,
    'The reason why the types of evidence have their weights.',
    { domain: notes },
  ),
  halfLifeRationale: property(
    'rationale for the half-life',
    text,
    'The reason why evidence loses weight at this pace.',
    { domain: notes },
  ),
  roleNote: property(
    'note on role',
    text,
    'The part of the rubric that describes a role instead of proficiency.',
    { domain: notes },
  ),
  source: property('source', 'rdfs:Resource', 'A publication that the notes rest on.', {
    domain: notes,
  }),
  review: property(
    'review',
    'rdfs:Resource',
    'The result of a review of the record by a practitioner.',
    { domain: notes },
  ),
  reviewer: property('reviewer', text, 'The name and the competence of the reviewer.'),
  reviewedAt: property('reviewed at', 'xsd:date', 'The day of the review.'),
  ScoreBandDefinitionSet: {
    kind: 'class',
    label: 'Score band definition set',
    comment: 'The bands of the overall score, in rising order and without a gap.',
  },
  scoreScale: property('score scale', 'rdfs:Resource', 'The scale of the score.', {
    domain: bands,
  }),
  min: property('minimum', integer, 'The lowest value, inclusive.'),
  max: property('maximum', integer, 'The highest value, inclusive.'),
  valueType: property('value type', text, 'The type of a value on the scale.'),
  higherIsBetter: property(
    'higher is better',
    'xsd:boolean',
    'Whether a higher value means more proficiency.',
  ),
  interval: property('interval', text, 'The meaning of the range of a score.'),
  scoreBandDefinition: property('score band definition', 'rdf:List', 'The bands as a list.', {
    domain: bands,
  }),
  band: property('band', text, 'The name of the band in scores and credentials.'),
  [credentialType]: {
    kind: 'class',
    label: 'Score credential',
    comment: 'A verifiable credential that states the score of a worker at one time.',
  },
  [nativeProofType]: {
    kind: 'class',
    label: 'Native proof',
    comment: 'The Ed25519 signature over the canonical JSON of a score credential.',
  },
  ScoredProfile: {
    kind: 'class',
    label: 'Scored profile',
    comment: 'The public profile of a worker, as the subject of a score credential.',
  },
  score: property('score', integer, 'The overall score, from 0 to 1000.', { domain: profile }),
  scoreBand: property('score band', text, 'The name of the band of the score.', {
    domain: profile,
  }),
  confidenceLow: property(
    'low end of the range',
    integer,
    'The score minus the half width that follows from the amount of evidence.',
    { domain: profile },
  ),
  confidenceHigh: property(
    'high end of the range',
    integer,
    'The score plus the half width that follows from the amount of evidence.',
    { domain: profile },
  ),
  evidenceCount: property('evidence count', integer, 'The number of items that count.', {
    domain: profile,
  }),
  engineId: property('engine id', 'rdfs:Resource', 'The document that describes the engine.', {
    domain: profile,
  }),
  engineVersion: property('engine version', text, 'The version of the engine.', {
    domain: profile,
  }),
  engineBinarySha256: property(
    'SHA-256 of the engine',
    text,
    'The hex digest of the file that computed the score.',
    { domain: profile },
  ),
}

export interface Concept {
  /** The value in records. */
  notation: string
  /** After the `#` of the namespace. */
  name: string
  label: string
  definition?: string
  /** Name of a wider concept of another scheme. */
  broader?: string
}

export interface ConceptScheme {
  name: string
  label: string
  comment: string
  concepts: readonly Concept[]
}

/** Returns the controlled words. A concept has the value of the records as its notation. */
export function conceptSchemes(controlled: ControlledLists): readonly ConceptScheme[] {
  return [
    {
      name: 'Domains',
      label: 'Domains',
      comment: 'Each skill has exactly one domain.',
      concepts: controlled.domains.map(({ slug, label, description }) => ({
        notation: slug,
        name: `domain-${slug}`,
        label,
        definition: description,
      })),
    },
    {
      name: 'Subdomains',
      label: 'Subdomains',
      comment: 'Each skill has at most one subdomain, which belongs to its domain.',
      concepts: controlled.subdomains.map(({ slug, label, domain }) => ({
        notation: slug,
        name: `subdomain-${slug}`,
        label,
        broader: `domain-${domain}`,
      })),
    },
    {
      name: 'Categories',
      label: 'Categories',
      comment: 'Each skill has one to three categories, which cross the domains.',
      concepts: controlled.categories.map(({ slug, label }) => ({
        notation: slug,
        name: `category-${slug}`,
        label,
      })),
    },
    {
      name: 'EvidenceKinds',
      label: 'Evidence kinds',
      comment: 'The kinds of evidence. A self-attestation has no weight in any skill.',
      concepts: controlled.evidence_types.map(({ slug, label, description }) => ({
        notation: slug,
        name: `evidence-${slug}`,
        label,
        definition: description,
      })),
    },
  ]
}

/** Returns the document of `/standard/v1/vocab`. */
export function vocabularyDocument(
  publicUrl: string,
  { controlled, release }: { controlled: ControlledLists; release: Release },
) {
  const { vocab } = standardUrls(publicUrl)
  const document = vocab.slice(0, -1)
  const defined = { 'rdfs:isDefinedBy': { '@id': document } }
  return {
    '@context': {
      std: vocab,
      rdf: 'http://www.w3.org/1999/02/22-rdf-syntax-ns#',
      rdfs: 'http://www.w3.org/2000/01/rdf-schema#',
      skos: 'http://www.w3.org/2004/02/skos/core#',
      owl: 'http://www.w3.org/2002/07/owl#',
      dcterms: 'http://purl.org/dc/terms/',
      xsd: 'http://www.w3.org/2001/XMLSchema#',
      '@language': 'en',
    },
    '@graph': [
      {
        '@id': document,
        '@type': 'owl:Ontology',
        'dcterms:title': 'Terms of the skill standard',
        'dcterms:license': { '@id': release.license },
        'owl:versionInfo': release.version,
      },
      ...Object.entries(terms).map(([name, term]) => ({
        '@id': `std:${name}`,
        ...termNode(term),
        ...defined,
      })),
      ...conceptSchemes(controlled).flatMap(({ name, label, comment, concepts }) => [
        {
          '@id': `std:${name}`,
          '@type': 'skos:ConceptScheme',
          'rdfs:label': label,
          'rdfs:comment': comment,
          ...defined,
        },
        ...concepts.map((concept) => ({
          '@id': `std:${concept.name}`,
          '@type': 'skos:Concept',
          'skos:inScheme': { '@id': `std:${name}` },
          'skos:notation': { '@value': concept.notation },
          'skos:prefLabel': concept.label,
          ...(concept.definition === undefined ? {} : { 'skos:definition': concept.definition }),
          ...(concept.broader === undefined
            ? {}
            : { 'skos:broadMatch': { '@id': `std:${concept.broader}` } }),
          ...defined,
        })),
      ]),
    ],
  }
}

function termNode(term: Term): Record<string, unknown> {
  const texts = { 'rdfs:label': term.label, 'rdfs:comment': term.comment }
  if (term.kind === 'class') return { '@type': 'rdfs:Class', ...texts }
  const { domain, range, note } = term
  return {
    '@type': 'rdf:Property',
    ...texts,
    ...(domain === undefined ? {} : { 'rdfs:domain': { '@id': `std:${domain}` } }),
    'rdfs:range': { '@id': range.includes(':') ? range : `std:${range}` },
    ...(note === undefined ? {} : { 'skos:note': note }),
  }
}

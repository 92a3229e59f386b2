/**
 * Pure: the meaning of each term of `std:`, as RDFS classes and properties, and of each controlled
 * word, as SKOS concepts. A test compares the terms with those of the context.
 */
import { credentialType, nativeProofType } from '../edge/http/identifiers.ts'
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

/** Proficiency, not position: the same reading applies to each level. */
const levelNote =
  'A level describes performance that can be observed, not a job title or years of experience.'

/**
 * Columns: name, label, class that has the property, range, comment, note. A `-` in both middle
 * columns makes a class.
 */
const table = `
Skill | Skill | - | - | An ability that a worker shows in work or in an assessment, with a rubric and the evidence that counts for it.
domain | domain | Skill | xsd:string | The domain of the skill: the notation of a concept in the scheme of domains.
subdomain | subdomain | Skill | xsd:string | The part of the domain: the notation of a concept in the scheme of subdomains.
category | category | Skill | xsd:string | A group of skills across domains: the notation of a concept in the scheme of categories.
evidenceType | evidence type | Skill | rdfs:Resource | A type of evidence that counts for the skill, with its weight and its signal.
evidenceKind | evidence kind | - | xsd:string | The kind of evidence: the notation of a concept in the scheme of evidence kinds.
weight | weight | - | xsd:double | The share of this type of evidence in the score of the skill, from 0 to 1. The weights of a skill sum to 1. | Weights are expert judgement. They are not estimated from data.
signal | signal | - | xsd:string | The evidence to look at, and the difference between strong and weak evidence.
decayHalfLifeMonths | decay half-life in months | Skill | xsd:integer | The months after which an item of evidence weighs half. 0: the evidence does not lose weight. | Half-lives are expert judgement. They are not estimated from data.
dependsOn | depends on | Skill | Skill | A skill without which this one cannot be performed. The relation has no circle.
proficiencyRubric | proficiency rubric | Skill | rdfs:Resource | The description of the four levels of proficiency.
novice | novice | - | xsd:string | The lowest level: values 0 to 249. | ${levelNote}
intermediate | intermediate | - | xsd:string | The second level: values 250 to 499. | ${levelNote}
advanced | advanced | - | xsd:string | The third level: values 500 to 749. | ${levelNote}
expert | expert | - | xsd:string | The highest level: values 750 to 1000. | ${levelNote} The texts of some records describe a role at this level, such as setting rules for others. Their notes say so.
anchored | anchor | Skill | xsd:string | sha256: and the hex digest of the canonical JSON (RFC 8785) of the record without this member.
SkillCatalog | Skill catalog | - | - | All skills of one release, with the controlled lists that they refer to.
count | count | SkillCatalog | xsd:integer | The number of skills in the catalog.
catalogHash | catalog hash | SkillCatalog | xsd:string | sha256: and the hex digest of the canonical JSON of the sorted anchors. It names exactly these records.
controlledLists | controlled lists | SkillCatalog | rdf:JSON | The controlled lists of the release as JSON: domains, subdomains, categories, evidence types.
deprecatedSkill | deprecated skill | SkillCatalog | Skill | A skill that dcterms:isReplacedBy another one. Its record stays.
hasSkill | has skill | SkillCatalog | Skill | A skill of the catalog.
SkillNotes | Skill notes | - | - | The reasons for the weights and the half-life of one skill, with sources and reviews. The notes change no score.
about | about | SkillNotes | Skill | The skill that the notes are about.
aboutVersion | about version | SkillNotes | xsd:string | The version of the record that the notes cover.
weightsRationale | rationale for the weights | SkillNotes | xsd:string | The reason why the types of evidence have their weights.
halfLifeRationale | rationale for the half-life | SkillNotes | xsd:string | The reason why evidence loses weight at this pace.
roleNote | note on role | SkillNotes | xsd:string | The part of the rubric that describes a role instead of proficiency.
source | source | SkillNotes | rdfs:Resource | A publication that the notes rest on.
review | review | SkillNotes | rdfs:Resource | The result of a review of the record by a practitioner.
reviewer | reviewer | - | xsd:string | The name and the competence of the reviewer.
reviewedAt | reviewed at | - | xsd:date | The day of the review.
ScoreBandDefinitionSet | Score band definition set | - | - | The bands of the overall score, in rising order and without a gap.
scoreScale | score scale | ScoreBandDefinitionSet | rdfs:Resource | The scale of the score.
min | minimum | - | xsd:integer | The lowest value, inclusive.
max | maximum | - | xsd:integer | The highest value, inclusive.
valueType | value type | - | xsd:string | The type of a value on the scale.
higherIsBetter | higher is better | - | xsd:boolean | Whether a higher value means more proficiency.
interval | interval | - | xsd:string | The meaning of the range of a score.
scoreBandDefinition | score band definition | ScoreBandDefinitionSet | rdf:List | The bands as a list.
band | band | - | xsd:string | The name of the band in scores and credentials.
${credentialType} | Score credential | - | - | A verifiable credential that states the score of a worker at one time.
${nativeProofType} | Native proof | - | - | The Ed25519 signature over the canonical JSON of a score credential.
ScoredProfile | Scored profile | - | - | The public profile of a worker, as the subject of a score credential.
score | score | ScoredProfile | xsd:integer | The overall score, from 0 to 1000.
scoreBand | score band | ScoredProfile | xsd:string | The name of the band of the score.
confidenceLow | low end of the range | ScoredProfile | xsd:integer | The score minus the half width that follows from the amount of evidence.
confidenceHigh | high end of the range | ScoredProfile | xsd:integer | The score plus the half width that follows from the amount of evidence.
evidenceCount | evidence count | ScoredProfile | xsd:integer | The number of items that count.
engineId | engine id | ScoredProfile | rdfs:Resource | The document that describes the engine.
engineVersion | engine version | ScoredProfile | xsd:string | The version of the engine.
engineBinarySha256 | SHA-256 of the engine | ScoredProfile | xsd:string | The hex digest of the file that computed the score.
`

/** The terms by name. A credential signs some of these names, so none is ever removed. */
export const terms: Readonly<Record<string, Term>> = Object.fromEntries(
  table
    .trim()
    .split('\n')
    .map((line): [string, Term] => {
      const [name = '', label = '', domain = '', range = '', comment = '', note] = line.split(' | ')
      if (range === '-') return [name, { kind: 'class', label, comment }]
      return [
        name,
        {
          kind: 'property',
          label,
          range,
          comment,
          ...(domain !== '-' && { domain }),
          ...(note !== undefined && { note }),
        },
      ]
    }),
)

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

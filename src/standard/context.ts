/**
 * Pure: the one JSON-LD context for skill records, catalog, bands and score credentials (decision
 * D31). A credential lists it after the W3C v2 context, whose terms are protected. Therefore every
 * term here stands inside the scope of a type, and only prefixes and types stand at the top. An
 * alias of `id` for `@id` at the top would make every record invalid, because a record has both.
 */
import { credentialType, nativeProofType } from '../edge/http/identifiers.ts'

/** Paths of the pages for people. JSON-LD documents link to them, and they link back. */
export const standardPagePaths = {
  skills: '/standard',
  bands: '/standard/bands',
  terms: '/standard/vocab',
  skill: (slug: string) => `/standard/skills/${slug}`,
}

/**
 * Returns the absolute addresses of the skill standard. `publicUrl` has no trailing slash, e.g.
 * `https://scores.example.org`.
 */
export function standardUrls(publicUrl: string) {
  const base = `${publicUrl}/standard/v1`
  return {
    context: `${base}/context.jsonld`,
    skills: `${base}/skills`,
    bands: `${base}/score-bands.jsonld`,
    skillsCsv: `${base}/skills.csv`,
    skillsQuads: `${base}/skills.nq`,
    crosswalk: `${base}/crosswalk.csv`,
    notesCsv: `${base}/notes.csv`,
    releases: `${base}/releases`,
    notes: (slug: string) => `${base}/skills/${slug}/notes`,
    release: (version: string) => `${base}/releases/${version}`,
    /** Ends where the name of a term begins. */
    vocab: `${base}/vocab#`,
    skill: (slug: string) => `${base}/skills/${slug}`,
  }
}

export function contextDocument(publicUrl: string) {
  const { vocab, skills } = standardUrls(publicUrl)
  return {
    '@context': {
      '@version': 1.1,
      '@protected': true,
      std: vocab,
      hss: `${skills}/`,
      skos: 'http://www.w3.org/2004/02/skos/core#',
      schema: 'https://schema.org/',
      dcterms: 'http://purl.org/dc/terms/',
      xsd,
      ...skillStandardTypes,
      ...credentialTypes(vocab),
    },
  }
}

const xsd = 'http://www.w3.org/2001/XMLSchema#'
const security = 'https://w3id.org/security#'

/** `@id` references are written as `hss:slug`. A set claims no order. */
const skillReferences = { '@type': '@id', '@container': '@set' }

const shared = {
  '@protected': true,
  version: 'schema:version',
  description: 'schema:description',
}

const skillStandardTypes = {
  Skill: {
    '@id': 'std:Skill',
    '@context': {
      ...shared,
      // A literal here: the name of the node is `@id`.
      id: 'schema:identifier',
      label: 'skos:prefLabel',
      aliases: { '@id': 'skos:altLabel', '@container': '@set' },
      // Literals: mapped as vocabulary, the value `domain` would become the name of the property.
      domain: 'std:domain',
      subdomain: 'std:subdomain',
      category: { '@id': 'std:category', '@container': '@set' },
      evidence_types: {
        '@id': 'std:evidenceType',
        '@container': '@set',
        '@context': {
          '@protected': true,
          type: 'std:evidenceKind',
          // Has no type: as a decimal, 0.35 would become the invalid text "3.5E-1".
          weight: 'std:weight',
          signal: 'std:signal',
        },
      },
      decay_half_life_months: 'std:decayHalfLifeMonths',
      depends_on: { '@id': 'std:dependsOn', ...skillReferences },
      related_to: { '@id': 'skos:related', ...skillReferences },
      proficiency_rubric: {
        '@id': 'std:proficiencyRubric',
        '@context': {
          '@protected': true,
          novice: 'std:novice',
          intermediate: 'std:intermediate',
          advanced: 'std:advanced',
          expert: 'std:expert',
        },
      },
      anchored: 'std:anchored',
    },
  },
  SkillCatalog: {
    '@id': 'std:SkillCatalog',
    '@context': {
      ...shared,
      count: 'std:count',
      catalog_hash: 'std:catalogHash',
      license: { '@id': 'dcterms:license', '@type': '@id' },
      released_at: { '@id': 'dcterms:issued', '@type': 'xsd:dateTime' },
      controlled: { '@id': 'std:controlledLists', '@type': '@json' },
      deprecated: {
        '@id': 'std:deprecatedSkill',
        '@container': '@set',
        '@context': {
          '@protected': true,
          id: '@id',
          successor: { '@id': 'dcterms:isReplacedBy', '@type': '@id' },
        },
      },
      skills: { '@id': 'std:hasSkill', '@container': '@set' },
    },
  },
  SkillNotes: {
    '@id': 'std:SkillNotes',
    '@context': {
      '@protected': true,
      about: { '@id': 'std:about', '@type': '@id' },
      about_version: 'std:aboutVersion',
      weights_rationale: 'std:weightsRationale',
      half_life_rationale: 'std:halfLifeRationale',
      role_note: 'std:roleNote',
      license: { '@id': 'dcterms:license', '@type': '@id' },
      sources: {
        '@id': 'std:source',
        '@container': '@set',
        '@context': {
          '@protected': true,
          title: 'dcterms:title',
          publisher: 'dcterms:publisher',
          identifier: 'dcterms:identifier',
        },
      },
      reviews: {
        '@id': 'std:review',
        '@container': '@set',
        '@context': {
          '@protected': true,
          reviewer: 'std:reviewer',
          reviewed_at: { '@id': 'std:reviewedAt', '@type': 'xsd:date' },
          comment: 'skos:note',
        },
      },
    },
  },
  ScoreBandDefinitionSet: {
    '@id': 'std:ScoreBandDefinitionSet',
    '@context': {
      ...shared,
      notes: { '@id': 'skos:note', '@container': '@set' },
      score_scale: {
        '@id': 'std:scoreScale',
        '@context': {
          '@protected': true,
          min: 'std:min',
          max: 'std:max',
          type: 'std:valueType',
          higher_is_better: 'std:higherIsBetter',
          interval: 'std:interval',
        },
      },
      bands: {
        '@id': 'std:scoreBandDefinition',
        '@container': '@list',
        '@context': {
          '@protected': true,
          band: 'std:band',
          label: 'skos:prefLabel',
          min: 'std:min',
          max: 'std:max',
          meaning: 'skos:definition',
          guidance: 'skos:scopeNote',
        },
      },
    },
  },
}

/**
 * Signed credentials depend on these names, so none may ever change. They are written in full, so
 * that no prefix can be re-bound under them.
 */
function credentialTypes(vocab: string) {
  const integer = (name: string) => ({ '@id': `${vocab}${name}`, '@type': `${xsd}integer` })
  return {
    [credentialType]: {
      '@id': `${vocab}${credentialType}`,
      '@context': {
        '@protected': true,
        // The W3C v2 context has dropped this term; the verify request of the specification still
        // has it.
        issuanceDate: {
          '@id': 'https://www.w3.org/2018/credentials#issuanceDate',
          '@type': `${xsd}dateTime`,
        },
      },
    },
    [nativeProofType]: {
      '@id': `${vocab}${nativeProofType}`,
      '@context': nativeProofTerms,
    },
    ScoredProfile: {
      '@id': `${vocab}ScoredProfile`,
      '@context': {
        '@protected': true,
        id: '@id',
        type: '@type',
        score: integer('score'),
        scoreBand: `${vocab}scoreBand`,
        confidenceLow: integer('confidenceLow'),
        confidenceHigh: integer('confidenceHigh'),
        evidenceCount: integer('evidenceCount'),
        engineId: { '@id': `${vocab}engineId`, '@type': '@id' },
        engineVersion: `${vocab}engineVersion`,
        engineBinarySha256: `${vocab}engineBinarySha256`,
      },
    },
  }
}

/**
 * The members of the native proof, with the names that the W3C v2 context gives to those of its own
 * proof type.
 */
const nativeProofTerms = {
  '@protected': true,
  id: '@id',
  type: '@type',
  created: { '@id': 'http://purl.org/dc/terms/created', '@type': `${xsd}dateTime` },
  verificationMethod: { '@id': `${security}verificationMethod`, '@type': '@id' },
  proofPurpose: {
    '@id': `${security}proofPurpose`,
    '@type': '@vocab',
    '@context': {
      '@protected': true,
      id: '@id',
      type: '@type',
      assertionMethod: {
        '@id': `${security}assertionMethod`,
        '@type': '@id',
        '@container': '@set',
      },
    },
  },
  proofValue: { '@id': `${security}proofValue`, '@type': `${security}multibase` },
}

/**
 * Pure: sixty fictional workers. The demo registers them with their evidence; the sandbox shows
 * them with a score from memory, the same in every deployment and at any time.
 */
export interface FictionalWorker {
  handle: string
  displayName: string
  title: string
  /** Days between the registration and the day on which the demo was seeded. */
  joinedDaysAgo: number
  /** Handle of the organisation that attests to the work. */
  employer: string
  /** Permissions and checks that this worker does not have in the demo. */
  lacks: readonly Lack[]
  career: readonly SkillEvidence[]
  /** In the sandbox. Null: the candidate shows no score. */
  score: FictionalScore | null
}

/** The amount and level of the evidence for one skill. */
export interface SkillEvidence {
  /** The skill id without `hss:`. */
  slug: string
  /** On the rubric's scale; the items lie around it. */
  value: number
  items: number
  /** Age of the newest item in days. */
  daysAgo: number
}

export interface FictionalScore {
  score: number
  low: number
  high: number
  evidenceCount: number
  /**
   * `none`: a public score without a credential. `revoked`: the status and the list show the
   * revocation.
   */
  credential: 'issued' | 'revoked' | 'none'
}

const lacks = {
  l: 'search_listing',
  p: 'public_profile',
  s: 'score_sharing',
  t: 'terms',
  i: 'identity',
} as const

export type Lack = (typeof lacks)[keyof typeof lacks]

/**
 * Columns: handle, name, title, joined days ago, employer, letters of `lacks`, skills, score of the
 * sandbox. A skill is a name, a value and the number of items. After `@` stands the age of the
 * newest item in days. A score is the engine's for this evidence on 2026-05-14, with low, high and
 * the number of items; one with `!` has no credential, one with `x` a revoked one.
 */
const table = `
amara-okonkwo | Amara Okonkwo | Backend engineer | 380 | harbour | - | typescript 860 7, api-design 830 5, sql 790 4, debugging 810 4, mentoring 720 3 | 740 545 1000 23
sofia-lindqvist | Sofia Lindqvist | Principal engineer | 396 | harbour | - | software-architecture 935 8, api-design 920 7, data-modelling 905 6, mentoring 890 6, written-communication 900 5, team-leadership 860 4 | 862 692 1000 36
kenji-morita | Kenji Morita | Site reliability engineer | 390 | harbour | - | linux-administration 840 6, observability 800 5, containerisation 770 4, security-incident-response 700 3 | 696 521 946 18
teun-visser | Teun Visser | Apprentice developer | 310 | harbour | - | programming-fundamentals 560 5, git 540 4, html-and-css 610 4, teamwork 640 3 | 495 289 830 16
piotr-zielinski | Piotr Zieliński | Warehouse clerk | 300 | freight | - | inventory-management 520 4, spreadsheet-modelling 430 2, customs-clearance 380 2 | 322 185 652 8
lucia-marchetti | Lucia Marchetti | Restaurant manager | 260 | kitchen | - | food-safety 840 5, professional-cooking 780 4, team-leadership 740 4, procurement 650 3 | 664 464 950 16 x
noor-haddad | Noor Haddad | Ward nurse | 398 | clinic | - | medication-administration 760 7, infection-prevention 700 6, personal-care 780 7, active-listening 690 6 | 654 478 931 26
ravi-menon | Ravi Menon | Data engineer | 350 | harbour | - | data-pipelines 780 5, python 760 5, sql 800 4, data-modelling 700 3 | 700 540 940 17
elif-kaya | Elif Kaya | Junior analyst | 230 | ledger | - | spreadsheet-modelling 520 4, data-visualisation 480 3, statistical-analysis 410 3 | 378 266 678 10
mateo-rojas | Mateo Rojas | Kitchen assistant | 120 | kitchen | - | professional-cooking 250 3, food-safety 300 2, teamwork 330 2 | 195 29 516 7
hana-svoboda | Hana Svobodová | School leaver | 60 | college | - | digital-literacy 340 2, reading-comprehension 300 1, numeracy 260 1 | 197 14 581 4
ingrid-solheim | Ingrid Solheim | Machine learning engineer | 370 | harbour | - | machine-learning 850 6, python 860 6, statistical-analysis 820 4, data-visualisation 690 3 | 706 563 949 19
caio-ferraz | Caio Ferraz | Front-end developer | 330 | harbour | - | react 760 5, html-and-css 820 5, javascript 800 4, web-accessibility 690 3 | 680 490 955 17
yuki-tanabe | Yuki Tanabe | Interface designer | 290 | studio | - | interface-design 830 5, typography 740 4, visual-composition 790 4, facilitation 600 2 | 661 486 956 15
dara-ofori | Dara Ofori | Illustrator | 250 | studio | - | illustration 880 6, animation 690 3, visual-composition 820 4 | 665 508 896 13
basil-thorne | Basil Thorne | Audio producer | 220 | studio | l | audio-production 790 5, video-editing 610 3, copywriting 480 1 | 527 404 840 9
mirela-dumitru | Mirela Dumitru | Copy editor | 345 | studio | - | copy-editing 890 6, technical-writing 800 4, english-language 860 4, attention-to-detail 830 3 | 756 575 960 17
oskar-lindgren | Oskar Lindgren | Electrician | 385 | craft | - | electrical-installation 880 6, workplace-risk-assessment 760 4, solar-pv-installation 700 3, customer-service 640 2 | 655 489 943 15
fatou-diallo | Fatou Diallo | Welder | 340 | craft | - | welding 850 5, workplace-risk-assessment 640 3, computer-aided-design 500 2 | 567 420 808 10
marek-novotny | Marek Novotný | CNC machinist | 300 | craft | - | cnc-machining 800 5, computer-aided-design 690 3, attention-to-detail 740 3, plc-programming 560 2 | 626 452 911 13
keziah-brandt | Keziah Brandt | Refrigeration technician | 180 | craft | - | refrigeration-and-air-conditioning 560 4, electrical-installation 400 2, customer-service 480 2 | 365 224 690 8
lorenzo-abate | Lorenzo Abate | Site manager | 360 | craft | - | construction-site-management 780 5, workplace-risk-assessment 810 4, team-leadership 720 4, negotiation 620 2 | 640 456 932 15
sunniva-dahl | Sunniva Dahl | Solar installer | 90 | craft | - | solar-pv-installation 350 3, electrical-installation 260 2 | 180 23 483 5
tariq-benali | Tariq Benali | Intensive care nurse | 375 | clinic | - | medication-administration 900 6, infection-prevention 880 5, personal-care 830 4, de-escalation 760 3, active-listening 800 3 | 765 562 1000 21
wanjiru-kamau | Wanjiru Kamau | Care assistant | 200 | clinic | - | personal-care 510 4, first-aid 430 2, active-listening 540 3 | 401 202 745 9
emrys-vaughan | Emrys Vaughan | Paramedic in training | 110 | clinic | s | first-aid 640 3, de-escalation 520 2, personal-care 560 2 | -
pilar-quintana | Pilar Quintana | Infection control adviser | 320 | clinic | - | infection-prevention 860 3@700, medication-administration 780 2@900 | -
anselm-richter | Anselm Richter | Head chef | 395 | kitchen | - | professional-cooking 940 7, food-safety 890 5, team-leadership 820 4, inventory-management 760 3, giving-feedback 740 3 | 749 542 994 22
thuy-pham | Thủy Phạm | Pastry chef | 240 | kitchen | - | professional-cooking 770 4, food-safety 720 3, attention-to-detail 780 2 | 616 423 899 9
gideon-marsh | Gideon Marsh | Bar supervisor | 150 | kitchen | l | customer-service 710 4, de-escalation 620 3, inventory-management 480 2 | 479 296 807 9
soraya-nazari | Soraya Nazari | Chartered accountant | 392 | ledger | - | bookkeeping 910 6, financial-statement-analysis 900 6, spreadsheet-modelling 860 4, payroll-administration 790 3, numeracy 880 3 | 804 632 1000 22
bram-de-wit | Bram de Wit | Payroll clerk | 270 | ledger | - | payroll-administration 540 4, bookkeeping 430 3, attention-to-detail 500 2 | 381 207 681 9
nia-adeyemi | Nia Adeyemi | Compliance officer | 335 | ledger | - | anti-money-laundering 820 5, data-protection-compliance 790 4, legal-research 680 3, critical-thinking 760 3 | 660 507 936 15
viktor-halasz | Viktor Halász | Bookkeeper | 190 | ledger | i | bookkeeping 480 4, spreadsheet-modelling 410 3, numeracy 450 2 | -
clementine-aubert | Clémentine Aubert | Contract lawyer | 355 | chambers | - | contract-drafting 890 6, legal-research 860 5, negotiation 790 4, written-communication 840 4 | 762 613 960 19
idris-mahmoud | Idris Mahmoud | Paralegal | 210 | chambers | - | legal-research 480 4, contract-drafting 360 2, information-literacy 500 2 | 354 135 733 8
hollis-grange | Hollis Grange | Benefits caseworker | 280 | chambers | - | social-benefits-casework 740 4, conflict-resolution 690 3, active-listening 780 3, intercultural-communication 640 2 | 603 375 945 12
ruth-akintola | Ruth Akintola | Data protection officer | 305 | chambers | - | data-protection-compliance 850 5, public-speaking 610 2, stakeholder-management 700 3 | 593 429 874 10
esme-fairweather | Esme Fairweather | Primary school teacher | 365 | college | - | classroom-teaching 860 5, instructional-design 780 4, giving-feedback 810 4, facilitation 740 3 | 694 485 960 16
julio-barrera | Julio Barrera | Vocational trainer | 315 | college | - | facilitation 800 4, instructional-design 720 4, welding 690 2, mentoring 780 3 | 637 432 955 13
agnes-holub | Agnes Holubová | Language tutor | 170 | college | - | english-language 880 4, classroom-teaching 620 3, intercultural-communication 760 3 | 631 469 890 10
devon-ashworth | Devon Ashworth | Graduate | 75 | college | - | critical-thinking 580 2, written-communication 610 2, information-literacy 560 1, self-directed-learning 520 1 | 504 268 901 6
lilja-stefans | Lilja Stefáns | Student | 40 | college | - | programming-fundamentals 380 1, logical-reasoning 470 1 | 248 11 679 2
bongani-dube | Bongani Dube | Logistics planner | 325 | freight | - | inventory-management 780 5, customs-clearance 740 4, spreadsheet-modelling 690 3, problem-solving 720 3 | 650 468 945 15
xiu-ying-luo | Xiùyīng Luò | Customs agent | 285 | freight | - | customs-clearance 860 5, attention-to-detail 800 3, english-language 640 2, customer-service 600 2 | 640 478 926 12
rafael-pinto | Rafael Pinto | Forklift driver | 130 | freight | - | inventory-management 290 3, teamwork 400 2, time-management 340 1 | 229 67 531 5
saoirse-keane | Saoirse Keane | Procurement lead | 348 | freight | - | procurement 830 5, negotiation 810 4, stakeholder-management 760 3, financial-statement-analysis 620 2 | 664 472 936 14
anton-berger | Anton Berger | Farm manager | 262 | fields | - | crop-management 790 5, inventory-management 600 3, team-leadership 660 3 | 555 375 843 11
makena-otieno | Makena Otieno | Agronomist | 225 | fields | - | crop-management 870 5, statistical-analysis 680 3, public-speaking 590 2 | 576 445 800 8
tobiah-lund | Tobiah Lund | Seasonal worker | 50 | fields | - | crop-management 340 2, teamwork 470 1 | -
zofia-wrona | Zofia Wrona | Project manager | 372 | harbour | - | project-management 840 5, stakeholder-management 810 4, facilitation 770 3, time-management 720 3, conflict-resolution 700 3 | 699 488 997 18
hamza-elmasri | Hamza Elmasri | Security engineer | 342 | harbour | - | application-security 880 6, security-incident-response 860 5, computer-networking 800 4, python 720 3 | 726 543 960 18
greta-sund | Greta Sund | Support technician | 160 | harbour | - | it-support 470 4, computer-networking 380 2, customer-service 520 3 | 341 170 645 9
nikhil-rao | Nikhil Rao | Mobile developer | 245 | harbour | - | mobile-app-development 740 4, automated-testing 640 3, git 700 3 | 552 354 873 10 !
orla-finnegan | Orla Finnegan | Technical writer | 275 | studio | - | technical-writing 840 5, copy-editing 760 3, information-literacy 720 3 | 632 458 897 11
pascal-moreau | Pascal Moreau | Photographer | 195 | studio | - | photography 810 5, visual-composition 760 3, interior-design 500 1 | 571 404 856 9
shanthi-perera | Shanthi Perera | Sales consultant | 215 | freight | p | consultative-selling 700 4, negotiation 640 3, active-listening 660 2 | -
callum-reid | Callum Reid | Recruiter | 185 | chambers | - | selection-interviewing 540 4, active-listening 560 3, intercultural-communication 400 2 | 382 195 723 9
dunya-sharif | Dunya Sharif | Cloud engineer | 298 | harbour | - | cloud-infrastructure 820 5, continuous-delivery 780 4, containerisation 800 4, observability 690 3 | 656 451 944 16
emil-kraus | Emil Kraus | Volunteer | 30 | college | t | first-aid 450 1, teamwork 520 1 | -
`

export const fictionalWorkers: readonly FictionalWorker[] = table
  .trim()
  .split('\n')
  .map((line) => {
    const [handle = '', displayName = '', title = '', joined, employer = '', ...rest] =
      line.split(' | ')
    const [lacking = '', career = '', score = ''] = rest
    return {
      handle,
      displayName,
      title,
      joinedDaysAgo: Number(joined),
      employer,
      lacks: lacking.split('').flatMap((letter) => lackOf(letter) ?? []),
      career: career.split(', ').map(parseSkill),
      score: score === '-' ? null : parseScore(score),
    }
  })

function lackOf(letter: string): Lack | undefined {
  return Object.entries(lacks).find(([known]) => known === letter)?.[1]
}

function parseSkill(text: string): SkillEvidence {
  const [slug = '', value, amount = ''] = text.split(' ')
  const [items, daysAgo = 0] = amount.split('@').map(Number)
  return { slug, value: Number(value), items: Number(items), daysAgo }
}

function parseScore(text: string): FictionalScore {
  const [score = 0, low = 0, high = 0, evidenceCount = 0] = text.split(' ').map(Number)
  const credential = text.endsWith('!') ? 'none' : text.endsWith('x') ? 'revoked' : 'issued'
  return { score, low, high, evidenceCount, credential }
}

/** Returns the skills of a profile. `labels` holds skill labels by skill id. */
export function profileSkills(
  career: readonly SkillEvidence[],
  labels: ReadonlyMap<string, string>,
) {
  return career.map(({ slug, value, items }) => ({
    name: labels.get(`hss:${slug}`) ?? slug,
    verified: items > 2,
    level: levelOf(value),
  }))
}

/** Maps a value to a level of the proficiency rubric. */
function levelOf(value: number): 'novice' | 'intermediate' | 'advanced' | 'expert' {
  if (value >= 750) return 'expert'
  if (value >= 500) return 'advanced'
  return value >= 250 ? 'intermediate' : 'novice'
}

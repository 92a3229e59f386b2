/**
 * Pure: forty fictional candidates, the same in every deployment and at any time. Their ranges are
 * about as wide as the engine makes them.
 */
import type { Profile, ProfileSkill } from '../workers/profile.ts'

export interface FictionalCandidate {
  profile: Omit<Profile, 'memberSince'> & { memberSince: string }
  /** Null for a candidate who shows no score, so that developers can try that case too. */
  score: FictionalScore | null
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

/**
 * Columns: username | name | title | skills | score low high evidence.
 * A skill is a name and the first letter of its level or `-`, followed by `*` if it is verified.
 * The score `-` means that the candidate shares none. A score with `!` has no credential, one with
 * `x` a revoked one.
 */
const table = `
amara-okoye | Amara Okoye | Software Engineer | TypeScript a*, React a*, JavaScript e*, Automated testing i | 742 585 998 21
anselm-brandt | Anselm Brandt | Electrician | Electrical installation e*, Workplace risk assessment a*, First aid i* | 688 510 972 14
ayesha-rahman | Ayesha Rahman | Data Analyst | SQL a*, Data visualisation a*, Spreadsheet modelling i, Statistical analysis i* | 604 420 896 12
beatriz_lobo | Beatriz Lobo | UX Designer | Interface design a*, Typography i*, Web accessibility a | 571 378 875 9
bjorn-dahl | Bjørn Dahl | Welder | Welding e*, Workplace risk assessment i* | 623 433 923 10
carys-pugh | Carys Pugh | Technical Writer | Technical writing e*, Copy-editing a*, Git n, Written communication a* | 655 486 927 17
chidi-eze | Chidi Eze | Site Reliability Engineer | Linux administration e*, Observability a*, Cloud infrastructure a*, Containerisation a* | 761 619 997 26
clara-vogt | Clara Vogt | Accountant | Bookkeeping a*, Financial statement analysis i*, Payroll administration i | 512 316 820 8
dao-nguyen | Dao Nguyen | Chef de Partie | Professional cooking a*, Food safety a*, Teamwork - | 498 299 810 7
dmitri-sokol | Dmitri Sokol | CNC Machinist | CNC machining e*, Computer-aided design i*, PLC programming n | 634 447 930 11
elif-aydin | Elif Aydın | Product Manager | Stakeholder management a*, Project management a*, Facilitation i | 547 351 855 8
emeka-nwosu | Emeka Nwosu | Machine Learning Engineer | Machine learning a*, Python e*, Data pipelines i*, SQL i | 709 546 973 19
esther-kim | Esther Kim | Nurse | Medication administration a*, Infection prevention and control a*, Personal care a | 666 485 954 13
farid-haddad | Farid Haddad | Network Technician | Computer networking a*, IT support a*, Linux administration i | 529 333 837 8
freya-lind | Freya Lind | Graphic Designer | Graphic design a*, Illustration a, Typography a*, Visual composition i | 583 393 883 10
gael-moreau | Gaël Moreau | Backend Developer | Java a*, SQL i*, API design a*, Software architecture i | 637 462 917 15
greta-holm | Greta Holm | Teacher | Classroom teaching e*, Instructional design i*, Giving feedback a | 601 408 905 9 x
hana-sato | Hana Satō | Illustrator | Illustration e*, Animation i, Visual composition a* | 560 361 872 7
henrik-maas | Henrik Maas | Solar Installer | Solar PV installation a*, Electrical installation i*, First aid - | 474 272 790 6
imani-odhiambo | Imani Odhiambo | Customer Service Lead | Customer service a*, De-escalation a*, Team leadership i | 488 286 804 6
ivan-petrov | Ivan Petrov | Java Developer | Java e*, JavaScript n, Debugging a*, Git a | 620 436 912 12
jaya-menon | Jaya Menon | Security Analyst | Application security a*, Security incident response a*, Python i | 696 524 972 16
jonas-weiss | Jonas Weiß | Audio Producer | Audio production a*, Video editing i | 405 197 729 4
kaia-tamm | Kaia Tamm | Front-end Developer | HTML and CSS e*, JavaScript a*, Web accessibility a*, React i | 678 506 954 16
kofi-asante | Kofi Asante | Procurement Officer | Procurement a*, Negotiation i, Customs clearance i* | 457 255 773 6
lena-fischer | Lena Fischer | Photographer | Photography a, Video editing n | -
luca-conti | Luca Conti | Site Manager | Construction site management a*, Workplace risk assessment a*, Time management - | 536 340 844 8
mairead-burke | Mairéad Burke | Solicitor | Contract drafting e*, Legal research a*, Negotiation a* | 715 549 983 18
mateo-rios | Mateo Ríos | Student | Programming fundamentals n, Python n | -
mei-lin-chan | Mei-Lin Chan | Data Engineer | Data pipelines a*, Data modelling a*, SQL e*, Python a | 728 568 988 20
nadia-karim | Nadia Karim | Recruiter | Selection interviewing a*, Active listening i, Intercultural communication i | 369 161 693 4
nils-aker | Nils Aker | HVAC Technician | Refrigeration and air conditioning a*, Customer service - | 441 236 761 5
oriol-serra | Oriol Serra | Mobile Developer | Mobile app development a*, TypeScript i*, API design i | 593 406 889 11 !
priya-nair | Priya Nair | Cloud Engineer | Cloud infrastructure e*, Continuous delivery a*, Containerisation a*, Git a | 751 600 999 23
quentin-roy | Quentin Roy | Copywriter | Copywriting a*, Copy-editing i, English language a | 418 213 738 5 !
rosa-delgado | Rosa Delgado | Social Worker | Social benefits casework a*, Conflict resolution a, Active listening a* | 539 343 847 8
sami-virtanen | Sami Virtanen | Farm Manager | Crop management a*, Inventory management i | -
tamsin-hale | Tamsin Hale | Trainer | Facilitation a*, Public speaking a, Mentoring i* | 486 287 798 7
tomasz-zielinski | Tomasz Zieliński | Architect | Interior design a*, Computer-aided design a*, Visual composition - | 552 356 860 8
zainab-bello | Zainab Bello | Graduate | Reading comprehension i, Digital literacy i | 251 40 579 3
`

const levels: Record<string, string> = {
  n: 'novice',
  i: 'intermediate',
  a: 'advanced',
  e: 'expert',
}

export const fictionalCandidates: readonly FictionalCandidate[] = table
  .trim()
  .split('\n')
  .map((line, i) => {
    const [username = '', displayName = '', title = '', skills = '', score = ''] = line.split(' | ')
    return {
      profile: {
        username,
        displayName,
        title,
        bio: i % 3 === 0 ? `${displayName} exists in the sandbox only.` : null,
        avatarUrl: null,
        memberSince: `202${i % 6}-${String((i % 12) + 1).padStart(2, '0')}`,
        skills: skills.split(', ').map(skillOf),
      },
      score: score === '-' ? null : scoreOf(score),
    }
  })

function skillOf(text: string): ProfileSkill {
  const space = text.lastIndexOf(' ')
  const [letter = '', star] = text.slice(space + 1)
  return { name: text.slice(0, space), verified: star === '*', level: levels[letter] ?? null }
}

function scoreOf(text: string): FictionalScore {
  const [score = 0, low = 0, high = 0, evidenceCount = 0] = text.split(' ').map(Number)
  const credential = text.endsWith('!') ? 'none' : text.endsWith('x') ? 'revoked' : 'issued'
  return { score, low, high, evidenceCount, credential }
}

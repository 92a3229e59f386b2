// hsc 1.0.0: made from src/scoring-core by `npm run generate`. Never edited, never deleted once released.

// whole.ts
/**
 * Pure: division of whole numbers, exact. A quotient of doubles may round up to the next whole number; the remainder never errs, so it
 * is taken away first. All operands stay below 2^53.
 */

/** The whole part of dividend / divisor; neither is negative. */
export function floorOf(dividend        , divisor        )         {
  return (dividend - (dividend % divisor)) / divisor
}

/** The least whole number that is not below dividend / divisor. */
export function ceilOf(dividend        , divisor        )         {
  const remainder = dividend % divisor
  return (dividend - remainder) / divisor + (remainder === 0 ? 0 : 1)
}

// civil-date.ts
/** Pure: `YYYY-MM-DD` and days since 1970-01-01 (UTC, Gregorian also before 1582), by whole numbers alone. Years 0000 to 9999. */

/** Days from 0000-03-01 to 1970-01-01. Years begin in March, so that the leap day is the last of a year. */
const epochFromMarch = 719_468
const daysPerEra = 146_097
const yearsPerEra = 400
/** Four centuries more, so that January and February of the year 0000 are not negative. */
const erasBefore = 1

/** Null when it is no date of the calendar. */
export function dayOfDate(date        )                {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(date)) return null
  const year = Number(date.slice(0, 4))
  const month = Number(date.slice(5, 7))
  const day = Number(date.slice(8, 10))
  if (month < 1 || month > 12 || day < 1) return null
  const marchYear = (month > 2 ? year : year - 1) + yearsPerEra * erasBefore
  const marchMonth = month > 2 ? month - 3 : month + 9
  const yearOfEra = marchYear % yearsPerEra
  const leapDays = floorOf(yearOfEra, 4) - floorOf(yearOfEra, 100)
  const dayOfEra = yearOfEra * 365 + leapDays + daysBefore(marchMonth) + day - 1
  const since = floorOf(marchYear, yearsPerEra) * daysPerEra + dayOfEra
  const found = since - daysPerEra * erasBefore - epochFromMarch
  // 30 February would be 2 March.
  return dateOfDay(found) === date ? found : null
}

/** @throws RangeError outside the years 0000 to 9999 */
export function dateOfDay(day        )         {
  if (!Number.isInteger(day) || day < -719_528 || day > 2_932_896)
    throw new RangeError(`no day of the years 0000 to 9999: ${day}`)
  const since = day + epochFromMarch + daysPerEra * erasBefore
  const dayOfEra = since % daysPerEra
  const leapDays = floorOf(dayOfEra, 1_460) - floorOf(dayOfEra, 36_524) + floorOf(dayOfEra, 146_096)
  const yearOfEra = floorOf(dayOfEra - leapDays, 365)
  const dayOfYear = dayOfEra - (365 * yearOfEra + floorOf(yearOfEra, 4) - floorOf(yearOfEra, 100))
  const marchMonth = floorOf(5 * dayOfYear + 2, 153)
  const month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
  const marchYear = yearOfEra + (floorOf(since, daysPerEra) - erasBefore) * yearsPerEra
  const year = month > 2 ? marchYear : marchYear + 1
  const dayOfMonth = dayOfYear - daysBefore(marchMonth) + 1
  return `${digits(year, 4)}-${digits(month, 2)}-${digits(dayOfMonth, 2)}`
}

/** Days of a year that begins in March before its month 0 (March) to 11 (February). */
function daysBefore(marchMonth        )         {
  return floorOf(153 * marchMonth + 2, 5)
}

function digits(number        , width        )         {
  return String(number).padStart(width, '0')
}

// decay-table.ts
/**
 * Pure: halves[i] = round(2^20 · 2^(−i/256)), i from 0 to 256: one half-life in 256 steps. The SHA-256 of its canonical JSON
 * (`[1048576,1045741,…,524288]`, no white space) is
 * 676f678d86d37db4805f134a64fcd1b370d7fe59651755978fae503123897ba6.
 */
// biome-ignore format: a table
export const halves = [
  1_048_576, 1_045_741, 1_042_913, 1_040_093, 1_037_281, 1_034_476, 1_031_679, 1_028_889, 1_026_107, 1_023_333,
  1_020_566, 1_017_806, 1_015_054, 1_012_309, 1_009_572, 1_006_842, 1_004_120, 1_001_405, 998_697, 995_997,
  993_303, 990_618, 987_939, 985_268, 982_604, 979_947, 977_297, 974_654, 972_019, 969_391,
  966_770, 964_155, 961_548, 958_948, 956_356, 953_770, 951_191, 948_619, 946_054, 943_496,
  940_944, 938_400, 935_863, 933_332, 930_809, 928_292, 925_782, 923_278, 920_782, 918_292,
  915_809, 913_333, 910_863, 908_400, 905_944, 903_494, 901_051, 898_615, 896_185, 893_762,
  891_345, 888_935, 886_532, 884_134, 881_744, 879_360, 876_982, 874_611, 872_246, 869_887,
  867_535, 865_189, 862_850, 860_517, 858_190, 855_869, 853_555, 851_247, 848_946, 846_650,
  844_361, 842_078, 839_801, 837_530, 835_265, 833_007, 830_754, 828_508, 826_268, 824_034,
  821_806, 819_583, 817_367, 815_157, 812_953, 810_755, 808_563, 806_376, 804_196, 802_021,
  799_853, 797_690, 795_533, 793_382, 791_237, 789_097, 786_964, 784_836, 782_714, 780_597,
  778_487, 776_382, 774_282, 772_189, 770_101, 768_018, 765_942, 763_871, 761_805, 759_745,
  757_691, 755_642, 753_599, 751_561, 749_529, 747_502, 745_481, 743_465, 741_455, 739_450,
  737_451, 735_457, 733_468, 731_485, 729_507, 727_535, 725_567, 723_605, 721_649, 719_698,
  717_752, 715_811, 713_875, 711_945, 710_020, 708_100, 706_185, 704_276, 702_372, 700_472,
  698_578, 696_689, 694_806, 692_927, 691_053, 689_185, 687_321, 685_463, 683_609, 681_761,
  679_917, 678_079, 676_245, 674_417, 672_593, 670_775, 668_961, 667_152, 665_348, 663_549,
  661_755, 659_966, 658_181, 656_401, 654_627, 652_856, 651_091, 649_331, 647_575, 645_824,
  644_078, 642_336, 640_599, 638_867, 637_140, 635_417, 633_699, 631_985, 630_276, 628_572,
  626_872, 625_177, 623_487, 621_801, 620_120, 618_443, 616_771, 615_103, 613_440, 611_781,
  610_127, 608_477, 606_832, 605_191, 603_555, 601_923, 600_295, 598_672, 597_053, 595_439,
  593_829, 592_223, 590_622, 589_025, 587_432, 585_844, 584_260, 582_680, 581_104, 579_533,
  577_966, 576_403, 574_845, 573_290, 571_740, 570_194, 568_652, 567_115, 565_581, 564_052,
  562_527, 561_006, 559_489, 557_976, 556_467, 554_963, 553_462, 551_966, 550_473, 548_985,
  547_500, 546_020, 544_543, 543_071, 541_603, 540_138, 538_678, 537_221, 535_768, 534_320,
  532_875, 531_434, 529_997, 528_564, 527_135, 525_709, 524_288,
]

// decay.ts
/** Pure: how much of an item's weight is left at an age (HSC-1 step 4). */

/** What nothing has decayed from: 2^20. */
export const undecayed = 1_048_576

/** A month is 30.4375 days: 487 / 16. */
const sixteenthDaysPerMonth = 487

/** Past so many half-lives nothing is left of 2^20; a shift by 32 would start again from none. */
const halfLivesMax = 20

/**
 * What is left of 2^20 after `ageDays`: halved for every whole half-life, in between read off the table and interpolated. Off by
 * less than 2.4 millionths: 0.5 of the table, 0.9 of the straight line, 1 of the rounding. A half-life of 0 months: nothing decays.
 */
export function decayOf(ageDays        , halfLifeMonths        )         {
  if (halfLifeMonths === 0) return undecayed
  const elapsed = ageDays * 16
  const halfLife = halfLifeMonths * sixteenthDaysPerMonth
  const halvings = floorOf(elapsed, halfLife)
  if (halvings > halfLivesMax) return 0
  const steps = (elapsed % halfLife) * 256
  const step = floorOf(steps, halfLife)
  const before = halves[step] ?? 0
  const after = halves[step + 1] ?? 0
  return (before - floorOf((before - after) * (steps % halfLife), halfLife)) >> halvings
}

/** Whole days in which the weight of an item of any age halves at least; null when it does not decay. */
export function halvesInDays(halfLifeMonths        )                {
  if (halfLifeMonths === 0) return null
  return floorOf(halfLifeMonths * sixteenthDaysPerMonth + 15, 16)
}

// parameters.ts
/** Pure: what HSC-1 is tuned by. A change of any of these is a new version of the engine. */

export const engineId = 'hsc'

/** Raised with every change of the room; any change of a golden result is at least a new minor version. */
export const engineVersion = '1.0.0'

export const parameters = {
  /** Mass of the prior in a skill's score, in millionths of an item, and the value it stands at. */
  scorePrior: 100_000,
  scorePriorValue: 250,
  /** Mass of the unknown in a skill's interval: all of it at 0 gives `low`, all of it at 1000 gives `high`. At least `scorePrior`. */
  intervalPrior: 300_000,
  /** A skill is verified from this mass and this assurance (permille) of some item. */
  verifiedMass: 300_000,
  verifiedAssurance: 700,
  /** What the mean of the best one, two, … five skills counts for the whole, in permille. */
  ladder: [700, 820, 900, 960, 1_000],
}

/** Items a candidate may have. */
export const evidenceMax = 10_000

export const valueMax = 1_000

/** Lower ends of a skill's levels, highest first: four equal parts of the rubric's scale. */
const levels = [
  { from: 750, name: 'expert' },
  { from: 500, name: 'advanced' },
  { from: 250, name: 'intermediate' },
  { from: 0, name: 'novice' },
]

/** Lower ends of the bands of the whole score, highest first. */
const bands = [
  { from: 750, name: 'exceptional' },
  { from: 600, name: 'strong' },
  { from: 450, name: 'verified' },
  { from: 300, name: 'developing' },
  { from: 0, name: 'emerging' },
]

export function levelOf(score        )        {
  for (const { from, name } of levels) if (score >= from) return name
  return 'novice'
}

export function bandOf(score        )       {
  for (const { from, name } of bands) if (score >= from) return name
  return 'emerging'
}

// evidence.ts
/**
 * Pure: what the core is given, and which of it counts (HSC-1 steps 1 and 3). The shapes are closed: nothing about the person is among
 * them, no name, age, school, picture or place.
 */

/** By skill id. */

/** An item on its way through the steps; the later fields are 0 until their step has set them. */

                                                  

/** What may count for one skill. */

/**
 * The items that may count, by skill; no skill without any.
 * @throws RangeError on numbers outside their ranges: whoever calls has checked the evidence long before.
 */
export function consideredBySkill({ evidence, vocabulary, asOfDay }            ) {
  if (evidence.length > evidenceMax)
    throw new RangeError(`${evidence.length} items of evidence; at most ${evidenceMax} are scored`)
  whole('asOfDay', asOfDay, dayRange)
  const bySkill = new Map                       ()
  for (const item of evidence) {
    checkItem(item)
    // The vocabulary is asked once for a skill, not once for an item: that is a third of the time.
    const heard = bySkill.get(item.skillId)
    const rule = heard?.rule ?? ruleOf(vocabulary, item.skillId)
    if (rule === undefined || dropReasonOf(item, rule, asOfDay) !== null) continue
    const considered = consider(item, rule)
    if (heard === undefined) bySkill.set(item.skillId, { rule, items: [considered] })
    else heard.items.push(considered)
  }
  return bySkill
}

/** Why the item does not count whatever else there is, or null when it may. `rule` is that of its skill. */
export function dropReasonOf(
  item          ,
  rule                       ,
  asOfDay        ,
)                    {
  if (rule === undefined) return 'unknown_skill'
  if (weightOf(rule, item.type) === undefined) return 'unknown_type'
  if (item.observedDay > asOfDay) return 'future'
  if (item.excluded === true) return 'excluded'
  return item.assurance === 0 ? 'assurance_zero' : null
}

export function consider(item          , rule           )             {
  const weight = weightOf(rule, item.type) ?? 0
  whole('a weight', weight, permille)
  return { item, base: weight * item.assurance, decay: 0, decayed: 0, rank: 0, mass: 0 }
}

/** Undefined for a skill that is not in the vocabulary. */
export function ruleOf(vocabulary            , skillId        )                        {
  const rule = Object.hasOwn(vocabulary, skillId) ? vocabulary[skillId] : undefined
  if (rule !== undefined) whole('halfLifeMonths', rule.halfLifeMonths, halfLifeRange)
  return rule
}

/** What every object has besides, such as `constructor`, is no number. */
function weightOf({ weightPermille }           , type        )                     {
  const weight = weightPermille[type]
  return typeof weight === 'number' ? weight : undefined
}

const permille        = { min: 0, max: 1_000 }
const valueRange        = { min: 0, max: valueMax }
/** A century; products of it stay far below 2^53. */
const halfLifeRange        = { min: 0, max: 1_200 }
/** The years 0000 to 9999. */
const dayRange        = { min: -719_528, max: 2_932_896 }

function checkItem({ assurance, value, observedDay }          )       {
  whole('assurance', assurance, permille)
  whole('value', value, valueRange)
  whole('observedDay', observedDay, dayRange)
}

function whole(name        , given        , { min, max }       )       {
  if (!Number.isInteger(given) || given < min || given > max)
    throw new RangeError(`${name} is a whole number from ${min} to ${max}, not ${given}`)
}

// order.ts
/** Pure: sorting in place, for lists that are mostly of a handful of items. */

/** Up to here it is quicker by hand: a call of `sort` alone costs as much as ordering a few. */
const fewMax = 12

/** Sorts in place; the order must be total over what matters, so that it never shows how the list came. */
export function sortInPlace      (items        , order                              )       {
  if (items.length > fewMax) {
    items.sort(order)
    return
  }
  for (let end = 1; end < items.length; end++) {
    const next = items[end]
    let at = end
    for (; at > 0 && order(items[at - 1]        , next) > 0; at--) items[at] = items[at - 1]
    items[at] = next
  }
}

// duplicates.ts
/** Pure: one artefact counts once for a skill and group (HSC-1 step 2). */

/**
 * The items of one skill without duplicates: of those with the same group and digest the one with the highest base stays, then the
 * newest, then the higher value, then the lower id. Sorts what it is given.
 */
export function withoutDuplicates(items              )               {
  if (items.length === 1) return items
  sortInPlace(items, duplicateOrder)
  const kept               = []
  let last
  for (const next of items) {
    const { group, digest } = next.item
    if (last === undefined || last.item.digest !== digest || last.item.group !== group) {
      kept.push(next)
      last = next
    }
  }
  return kept
}

/** Total over all that a result is made of, so that the order of the input never shows: type and assurance decide at last. */
function duplicateOrder(one            , other            )         {
  const a = one.item
  const b = other.item
  if (a.group !== b.group) return a.group < b.group ? -1 : 1
  if (a.digest !== b.digest) return a.digest < b.digest ? -1 : 1
  if (one.base !== other.base) return other.base - one.base
  if (a.observedDay !== b.observedDay) return b.observedDay - a.observedDay
  if (a.value !== b.value) return b.value - a.value
  if (a.id !== b.id) return a.id < b.id ? -1 : 1
  if (a.type !== b.type) return a.type < b.type ? -1 : 1
  return b.assurance - a.assurance
}

// ladder.ts
/**
 * Pure: many skills, one figure (HSC-1 step 8). The mean of the best k skills counts a share that rises with k; the best of the five
 * products is the whole. Another skill never lowers it, one superb skill is worth up to 700, and breadth beyond five adds nothing.
 */

/** Rounded down; 0 without skills. Leaves `values` as they are. */
export function ladderFloor(values                   )         {
  return ladder(values, floorOf)
}

/** Rounded up. */
export function ladderCeil(values                   )         {
  return ladder(values, ceilOf)
}

function ladder(values                   , divide                                  )         {
  const best = [...values]
  sortInPlace(best, (a, b) => b - a)
  let sum = 0
  let highest = 0
  for (let k = 0; k < parameters.ladder.length && k < best.length; k++) {
    sum += best[k] ?? 0
    const whole = divide((parameters.ladder[k] ?? 0) * sum, 1_000 * (k + 1))
    if (whole > highest) highest = whole
  }
  return highest
}

// source-discount.ts
/**
 * Pure: a source that says the same again adds half as much each time (HSC-1 step 5), so that all items of one type of a group never
 * weigh more than twice the heaviest. Heaviest first, not newest first: otherwise a light new item would push down a heavy old one, and
 * good news could lower a score.
 */

/** What the items of a skill come to. */

                          

/** After this place nothing is left of any item: a base is below 2^20. */
export const ranksMax = 20

/** Ranks the items of one skill, gives each its mass, and sums them up. Sorts what it is given. */
export function discountBySource(items              )         {
  sortInPlace(items, discountOrder)
  let weighted = 0
  let mass = 0
  let before
  for (const next of items) {
    const { group, type, value } = next.item
    const follows = before?.item.type === type && before.item.group === group
    next.rank = follows && before !== undefined ? before.rank + 1 : 1
    next.mass = next.rank > ranksMax ? 0 : next.decayed >> (next.rank - 1)
    weighted += next.mass * value
    mass += next.mass
    before = next
  }
  return { weighted, mass }
}

function discountOrder(one            , other            )         {
  const a = one.item
  const b = other.item
  if (a.group !== b.group) return a.group < b.group ? -1 : 1
  if (a.type !== b.type) return a.type < b.type ? -1 : 1
  if (one.decayed !== other.decayed) return other.decayed - one.decayed
  if (a.value !== b.value) return b.value - a.value
  if (a.id !== b.id) return a.id < b.id ? -1 : 1
  if (a.digest !== b.digest) return a.digest < b.digest ? -1 : 1
  return 0
}

// score.ts
/**
 * Pure: algorithm HSC-1: from evidence to a score with its interval, for each skill and for the whole. Whole numbers only, nothing
 * imported from outside this room, no clock: the same evidence, vocabulary and day give the same bytes everywhere and for ever,
 * whatever order they come in.
 */

/** Each from 0 to 1000, low ≤ score ≤ high: the range is what any prior of a stated weight could give, not a confidence interval. */

/** @throws RangeError on more than 10,000 items, and on numbers outside their ranges */
export function score(input            )              {
  const skills               = []
  const groups = new Set        ()
  let evidenceCount = 0
  for (const [skillId, skill] of consideredBySkill(input)) {
    const { kept, totals } = weigh(skill, input.asOfDay)
    evidenceCount += kept.length
    for (const { item } of kept) groups.add(item.group)
    skills.push(skillScoreOf(skillId, kept, totals))
  }
  sortInPlace(skills, skillOrder)
  const whole = wholeOf(skills)
  return {
    ...whole,
    evidenceCount,
    sourceCount: groups.size,
    skills,
    band: bandOf(whole.score),
  }
}

/** The items that are no duplicates, weighed, and what they come to. */

/** Steps 2, 4 and 5 over the items of one skill, or of one group of it: neither duplicates nor discounts cross groups. */
export function weigh({ rule, items }               , asOfDay        )          {
  const kept = withoutDuplicates(items)
  for (const considered of kept) {
    const decay = decayOf(asOfDay - considered.item.observedDay, rule.halfLifeMonths)
    considered.decay = decay
    considered.decayed = floorOf(considered.base * decay, undecayed)
  }
  return { kept, totals: discountBySource(kept) }
}

/** Step 6. low ≤ score ≤ high holds because the interval's prior weighs no less than the score's. */
export function estimateOf({ weighted, mass }        )           {
  const { scorePrior, scorePriorValue, intervalPrior } = parameters
  return {
    score: floorOf(weighted + scorePrior * scorePriorValue, mass + scorePrior),
    low: floorOf(weighted, mass + intervalPrior),
    high: ceilOf(weighted + valueMax * intervalPrior, mass + intervalPrior),
  }
}

/** Step 7. */
function skillScoreOf(skillId        , kept                       , totals        )             {
  const { score, low, high } = estimateOf(totals)
  const verified = totals.mass >= parameters.verifiedMass && kept.some(isAssured)
  return { skillId, score, low, high, mass: totals.mass, level: levelOf(score), verified }
}

function isAssured({ item }            )          {
  return item.assurance >= parameters.verifiedAssurance
}

function skillOrder(a            , b            )         {
  if (a.score !== b.score) return b.score - a.score
  return a.skillId < b.skillId ? -1 : 1
}

/** Step 8: scores, lows and highs each stand in an order of their own. */
function wholeOf(skills                     )           {
  return {
    score: ladderFloor(skills.map(({ score }) => score)),
    low: ladderFloor(skills.map(({ low }) => low)),
    high: ladderCeil(skills.map(({ high }) => high)),
  }
}

// explain.ts
/**
 * Pure: why a score is what it is, for the candidate and the operator alone. The parts of the items that are used sum exactly to the
 * totals of their skill, and those give the skill's score.
 */

              

                                       

/** @throws RangeError as `score` does */
export function explain(input            )              {
  const result = score(input)
  const items = droppedAtOnce(input)
  const bySkill = consideredBySkill(input)
  const skills                     = []
  for (const { skillId } of result.skills) {
    const considered = bySkill.get(skillId)
    if (considered === undefined) continue
    const skill = skillOf(considered, input.asOfDay)
    const others = result.skills.filter((other) => other.skillId !== skillId)
    const elsewhere = others.map((other) => other.score)
    for (const group of skill.groups.values())
      for (const item of group.items)
        items.push(explained(item, { skill, group, elsewhere, whole: result.score }))
    skills.push({ skillId, ...skill.totals, raise: raiseOf(skill.rule, skill.totals) })
  }
  items.sort(itemOrder)
  return { result, items, skills }
}

/** All items of a skill from one group: neither duplicates nor discounts cross groups, so that each is a sum of its own. */

function skillOf({ rule, items }               , asOfDay        )        {
  const groups = new Map               ()
  for (const one of items) {
    const group = groups.get(one.item.group)
    if (group !== undefined) group.items.push(one)
    else groups.set(one.item.group, { rule, items: [one], totals: nothing, hasDuplicates: false })
  }
  const totals = { weighted: 0, mass: 0 }
  for (const group of groups.values()) {
    const weighed = weigh(group, asOfDay)
    group.totals = weighed.totals
    group.hasDuplicates = weighed.kept.length < group.items.length
    totals.weighted += weighed.totals.weighted
    totals.mass += weighed.totals.mass
  }
  return { rule, asOfDay, groups, totals }
}

const nothing         = { weighted: 0, mass: 0 }

function explained(considered            , around              )                  {
  const { item, base, decay, rank, mass } = considered
  const { id, skillId } = item
  if (rank === 0) return { ...untouched, id, skillId, reason: 'duplicate', base }
  // Whoever stands behind a place that counts for nothing counts for nothing one place further up: a crowd needs no weighing again.
  const isLost = rank > ranksMax + 1 && !around.group.hasDuplicates
  const effect = isLost ? 0 : around.whole - wholeWithout(considered, around)
  const weighted = mass * item.value
  const halves = mass === 0 ? null : halvesInDays(around.skill.rule.halfLifeMonths)
  return {
    id,
    skillId,
    reason: null,
    base,
    decay,
    rank,
    mass,
    weighted,
    effect,
    halvesInDays: halves,
  }
}

const untouched = {
  base: 0,
  decay: 0,
  rank: 0,
  mass: 0,
  weighted: 0,
  effect: 0,
  halvesInDays: null,
}

/** The whole score as if the item had never been there: its group alone is weighed again. */
function wholeWithout(left            , { skill, group, elsewhere }              )         {
  const rest               = []
  for (const other of group.items) if (other !== left) rest.push(consider(other.item, skill.rule))
  if (rest.length === 0 && skill.groups.size === 1) return ladderFloor(elsewhere)
  const again = weigh({ rule: skill.rule, items: rest }, skill.asOfDay).totals
  const { totals } = skill
  const { score } = estimateOf({
    weighted: totals.weighted - group.totals.weighted + again.weighted,
    mass: totals.mass - group.totals.mass + again.mass,
  })
  return ladderFloor([...elsewhere, score])
}

function droppedAtOnce({ evidence, vocabulary, asOfDay }            )                    {
  const dropped                    = []
  for (const item of evidence) {
    const reason = dropReasonOf(item, ruleOf(vocabulary, item.skillId), asOfDay)
    if (reason !== null) dropped.push(explainDropped(item, reason))
  }
  return dropped
}

function explainDropped({ id, skillId }          , reason            )                  {
  return { ...untouched, id, skillId, reason }
}

/** Any result at least as good as `low` raises it the more, the heavier it is: so the heaviest type does most. */
function raiseOf({ weightPermille }           , totals        )                            {
  let type = ''
  let weight = -1
  for (const [name, permille] of Object.entries(weightPermille)) {
    if (permille < weight || (permille === weight && name > type)) continue
    type = name
    weight = permille
  }
  const { score: value } = estimateOf(totals)
  const mass = weight * 1_000
  const more = { weighted: totals.weighted + mass * value, mass: totals.mass + mass }
  return { type, value, low: estimateOf(more).low }
}

/** Total over what is told, so that the order of the evidence never shows, even where an id stands twice. */
function itemOrder(a                 , b                 )         {
  if (a.id !== b.id) return a.id < b.id ? -1 : 1
  if (a.skillId !== b.skillId) return a.skillId < b.skillId ? -1 : 1
  const reasonA = a.reason ?? ''
  const reasonB = b.reason ?? ''
  if (reasonA !== reasonB) return reasonA < reasonB ? -1 : 1
  return (
    b.base - a.base ||
    b.decay - a.decay ||
    a.rank - b.rank ||
    b.mass - a.mass ||
    b.weighted - a.weighted ||
    b.effect - a.effect
  )
}

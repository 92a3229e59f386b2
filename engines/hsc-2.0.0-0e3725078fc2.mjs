// hsc 2.0.0: made from src/scoring/core by `npm run generate`. Never edited, never deleted once released.

// whole.ts
/**
 * Pure: exact division of whole numbers below 2^53. A quotient of doubles may round up to the next
 * whole number. The remainder is exact, so it is subtracted first.
 */

/** Rounds down. Neither number is negative. */
export function floorOf(dividend        , divisor        )         {
  return (dividend - (dividend % divisor)) / divisor
}

/** Rounds up. Neither number is negative. */
export function ceilOf(dividend        , divisor        )         {
  const remainder = dividend % divisor
  return (dividend - remainder) / divisor + (remainder === 0 ? 0 : 1)
}

// civil-date.ts
/**
 * Pure: converts between `YYYY-MM-DD` and days since 1970-01-01 in whole numbers: UTC, years 0000
 * to 9999, Gregorian also before 1582.
 */

/** Days from 0000-03-01 to 1970-01-01. Years begin in March, so the leap day is the last of a year. */
const epochFromMarch = 719_468
const daysPerEra = 146_097
const yearsPerEra = 400
/** Four centuries more, so that January and February of the year 0000 are not negative. */
const erasBefore = 1

/** Returns null for a date that the calendar does not have. */
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
/** Pure: the share of an item that is left at an age (rule 4). */

/** The share of an item of today: 2^20. */
export const undecayed = 1_048_576

/** A month is 30.4375 days: 487 / 16. */
const sixteenthDaysPerMonth = 487

/** After more half-lives the share is 0. A shift by 32 would shift by 0. */
export const halfLivesMax = 20

/**
 * Returns the share after `ageDays`: halved for each whole half-life, in between read from the
 * table and interpolated. It differs from the curve by less than 2.4 parts of 2^20: 0.5 of the
 * table, 0.9 of the straight line, 1 of the rounding. With a half-life of 0 nothing decays.
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

/** Returns the whole days after which at most half the mass is left; null without decay. */
export function halvesInDays(halfLifeMonths        )                {
  if (halfLifeMonths === 0) return null
  return floorOf(halfLifeMonths * sixteenthDaysPerMonth + 15, 16)
}

// parameters.ts
/** Pure: the parameters of HSC-2. A change of any of these is a new version of the engine. */

export const engineId = 'hsc'

/** Any change of a golden result is at least a new minor version. */
export const engineVersion = '2.0.0'

export const parameters = {
  /** A skill has a score from this mass. At this mass its range is the score ± `halfWidthMax`. */
  massMin: 150_000,
  halfWidthMax: 500,
  /** In the bounds of the mass and of the pull, the weight of a type counts up to this permille. */
  fullMassPermille: 350,
  fullPullPermille: 500,
  /** A group pulls with one type at most like a full item at this distance, in points. */
  reach: 200,
  /** All groups together weigh and pull with one type at most like this number of full items. */
  groupsPerType: 2,
  /** A sum of pulls within ± this number counts as 0, because shares are rounded. */
  pullSlack: 1_073_741_824,
  /** In the worker's score, a skill loses its half width without decay, divided by this number. */
  cautionDivisor: 4,
  /** A group is a source of the score if one of its items has this assurance and still this mass. */
  sourceAssurance: 400,
  sourceMassMin: 25_000,
  /** A skill is verified from this mass, with at least one item of this assurance in permille. */
  verifiedMass: 300_000,
  verifiedAssurance: 700,
  /** What the mean of the best one, two, … five skills counts for the worker, in permille. */
  ladder: [700, 820, 900, 960, 1_000],
}

/** Maximum number of items of one worker. */
export const evidenceMax = 10_000

export const valueMax = 1_000

/** Lower ends of the levels of a skill and of the bands of a worker, highest first. */
const levels = { expert: 750, advanced: 500, intermediate: 250, novice: 0 }
const bands = { exceptional: 750, strong: 600, verified: 450, developing: 300, emerging: 0 }

export function levelOf(score        )        {
  return nameAt(levels, score)
}

export function bandOf(score        )       {
  return nameAt(bands, score)
}

function nameAt                     (ends                      , score        )       {
  for (const name in ends) if (score >= ends[name]) return name
  throw new RangeError(`The score is ${score}. It must not be negative.`)
}

// evidence.ts
/**
 * Pure: the input of the core. The shapes are closed. They hold no fact about the worker: no name,
 * age, school, picture or place.
 */

/** By skill id. */

/** Reasons why an item does not count, in the order in which they are examined. */

/** The years 0000 to 9999. */
export const dayMax = 2_932_896
const days = [-719_528, dayMax]

/**
 * Returns the items of each skill in new lists.
 * @throws RangeError on more than 10,000 items, and on a number outside its range
 */
export function itemsBySkill({ evidence, asOfDay }            )                          {
  check('the number of items', evidence.length, 0, evidenceMax)
  check('asOfDay', asOfDay, ...days)
  const bySkill = new Map                    ()
  for (const item of evidence) {
    check('assurance', item.assurance, 0, 1_000)
    check('value', item.value, 0, valueMax)
    check('observedDay', item.observedDay, ...days)
    const items = bySkill.get(item.skillId)
    if (items === undefined) bySkill.set(item.skillId, [item])
    else items.push(item)
  }
  return bySkill
}

/**
 * Returns undefined for a skill that is not in the vocabulary.
 * @throws RangeError on a number outside its range
 */
export function ruleOf(vocabulary            , skillId        )                        {
  const rule = Object.hasOwn(vocabulary, skillId) ? vocabulary[skillId] : undefined
  if (rule === undefined) return undefined
  check('halfLifeMonths', rule.halfLifeMonths, 0, 1_200)
  let weights = 0
  for (const type in rule.weightPermille) {
    const permille = rule.weightPermille[type] ?? 0
    check('a weight', permille, 0, 1_000)
    weights += permille
  }
  check('the sum of the weights of a skill', weights, 0, 1_000)
  return rule
}

function check(name        , number        , min        , max        )       {
  if (!Number.isInteger(number) || number < min || number > max)
    throw new RangeError(`${name} is ${number}. It must be a whole number from ${min} to ${max}.`)
}

// order.ts
/** Pure: sorting in place, for lists that mostly hold few items. */

/** Up to this length an insertion sort is faster: a call of `sort` costs as much as a short list. */
const fewMax = 12

/** The order must be total, so that the result does not depend on the order of the input. */
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

// score.ts
/**
 * Pure: algorithm HSC-2. Computes the score and the range of each skill and of the worker. Whole
 * numbers below 2^53 only, no clock, no import from outside this folder: the same evidence, rules
 * and day give the same result on every machine, in any order of the evidence.
 *
 * Units: weights and masses are millionths of an item, shares are parts of 2^20. The rules have the
 * numbers of `docs/scoring.md`.
 */

/** 0 ≤ low ≤ score ≤ high ≤ 1000. All are null if there is too little evidence. */

/** An item that counts. `cell` and `type` are its places in the running sums of its skill. */

/** The items of assurance `least` or more. `height` is the distance to the next lower assurance. */

/** Items of one skill without duplicates, newest first, with the running sums of `walk`. */

/** A skill that `assess` passes on. `reasons` are of the items that do not count, by id. */

/** @throws RangeError on more than 10,000 items, and on a number outside its range */
export const score = (input            )              => assess(input)

export function assess(input            , assessed             )              {
  const skills               = []
  const sources = new Set        ()
  let evidenceCount = 0
  for (const [skillId, own] of itemsBySkill(input)) {
    const rule = ruleOf(input.vocabulary, skillId)
    const reasons = assessed && new Map                    ()
    const skill = rule && skillOf(own, rule, input.asOfDay, reasons)
    const skillScore = skill?.items.length ? skillScoreOf(skillId, skill) : undefined
    if (reasons) assessed?.push({ skillId, own, reasons, rule, skill, skillScore })
    if (skillScore) skills.push(skillScore)
    if (skill === undefined || typeof skillScore?.score !== 'number') continue
    evidenceCount += skill.items.length
    for (const counted of skill.items) if (isSource(counted)) sources.add(counted.item.group)
  }
  sortInPlace(skills, skillOrder)
  const whole = ladder(skills, 'cautious')
  return {
    score: whole,
    low: ladder(skills, 'low'),
    high: ladder(skills, 'high', ceilOf),
    band: whole === null ? null : bandOf(whole),
    evidenceCount,
    sourceCount: sources.size,
    skills,
  }
}

/**
 * Rules 1 to 4: returns the items that count. Sorts `own`. `dropped` receives the reason of each
 * other item by its id.
 */
export function skillOf(
  own            ,
  { weightPermille, halfLifeMonths }           ,
  asOfDay        ,
  dropped                          ,
)        {
  const items            = []
  const skill        = { items, layers: [], byCell: [], byType: [], unfaded: 0 }
  const types           = []
  let cells           = []
  let before
  sortInPlace(own, duplicateOrder)
  for (const item of own) {
    const permille = weightPermille[item.type]
    const age = asOfDay - item.observedDay
    const share = age < 0 ? 0 : decayOf(age, halfLifeMonths)
    const isDuplicate = before?.group === item.group && before.digest === item.digest
    // A name that every object has, such as `constructor`, has no number.
    if (typeof permille !== 'number' || permille === 0) dropped?.set(item.id, 'unknown_type')
    else if (age < 0) dropped?.set(item.id, 'future')
    else if (item.excluded === true) dropped?.set(item.id, 'excluded')
    else if (item.assurance === 0) dropped?.set(item.id, 'assurance_zero')
    else if (share === 0) dropped?.set(item.id, 'expired')
    else if (isDuplicate) dropped?.set(item.id, 'duplicate')
    else {
      // Items are sorted by group, so `cells` are those of the present group, by type.
      if (before?.group !== item.group) cells = []
      before = item
      let type = types.indexOf(item.type)
      if (type < 0) type = types.push(item.type) - 1
      skill.byType[type] ??= 0
      cells[type] ??= skill.byCell.push(0) - 1
      const cell = cells[type] ?? 0
      const massLimit = bounded(permille, parameters.fullMassPermille)
      const pullLimit = bounded(permille, parameters.fullPullPermille) * parameters.reach
      const { assurance, value } = item
      items.push({ item, assurance, value, permille, massLimit, pullLimit, share, cell, type })
    }
  }
  sortInPlace(items, newestFirst)
  skill.layers = layersOf(items)
  return skill
}

/** One layer for each different assurance, highest first. The last one reaches down to 0. */
function layersOf(items                    )          {
  const layers          = []
  for (const { assurance } of items)
    if (!layers.some(({ least }) => least === assurance))
      layers.push({ least: assurance, height: 0 })
  sortInPlace(layers, (a, b) => b.least - a.least)
  for (const [at, layer] of layers.entries())
    layer.height = layer.least - (layers[at + 1]?.least ?? 0)
  return layers
}

/**
 * Rule 5: adds the items of each layer newest first. Each change of the bounded sum counts with the
 * share of its item. At point null the sum is of masses, otherwise of the pulls at the point.
 */
export function walk(skill       , point               , parts           )         {
  const { items, byCell, byType } = skill
  let sum = 0
  let unfaded = 0
  for (const { least, height } of skill.layers) {
    for (let cell = 0; cell < byCell.length; cell++) byCell[cell] = 0
    for (let type = 0; type < byType.length; type++) byType[type] = 0
    for (let at = 0; at < items.length; at++) {
      const counted = items[at]
      const { permille, share, cell, type } = counted
      if (counted.assurance < least) continue
      const limit = height * (point === null ? counted.massLimit : counted.pullLimit)
      const typeLimit = limit * parameters.groupsPerType
      const amount = permille * height * (point === null ? 1 : counted.value - point)
      const cellBefore = byCell[cell] ?? 0
      const cellAfter = cellBefore + amount
      const typeBefore = byType[type] ?? 0
      const typeAfter = typeBefore + bounded(cellAfter, limit) - bounded(cellBefore, limit)
      byCell[cell] = cellAfter
      byType[type] = typeAfter
      const change = bounded(typeAfter, typeLimit) - bounded(typeBefore, typeLimit)
      if (parts !== undefined) parts[at] = (parts[at] ?? 0) + share * change
      sum += share * change
      unfaded += change
    }
  }
  skill.unfaded = unfaded
  return sum
}

/** Rules 6 and 7. */
export function skillScoreOf(skillId        , skill       )             {
  const mass = floorOf(walk(skill, null), undecayed)
  const freshMass = skill.unfaded
  const verified =
    mass >= parameters.verifiedMass &&
    skill.items.some(({ assurance }) => assurance >= parameters.verifiedAssurance)
  const facts = { mass, freshMass, level: null, verified }
  if (mass < parameters.massMin)
    return { skillId, score: null, low: null, high: null, cautious: null, ...facts }
  const point = balancePoint(skill)
  const half = halfWidthOf(mass)
  const caution = floorOf(halfWidthOf(freshMass), parameters.cautionDivisor)
  return {
    skillId,
    score: point,
    low: point > half ? point - half : 0,
    high: bounded(point + half, valueMax),
    cautious: point > caution ? point - caution : 0,
    ...facts,
    level: levelOf(point),
  }
}

/**
 * Rule 6: the last point at which the pulls do not sum to less than zero. If they sum to about zero
 * at several points, the one nearest to the plain mean: the middle would let good news lower a
 * score. If no bound is reached, the mean is the balance point, so the search starts there.
 */
function balancePoint(skill       )         {
  const { pullSlack } = parameters
  let [least, most, mass, weighted] = [valueMax, 0, 0, 0]
  for (const { value, permille, assurance, share } of skill.items) {
    if (value < least) least = value
    if (value > most) most = value
    const left = floorOf(permille * assurance * share, undecayed)
    mass += left
    weighted += left * value
  }
  const mean = floorOf(weighted, mass)
  const pull = walk(skill, mean)
  if (pull > pullSlack && walk(skill, mean + 1) < -pullSlack) return mean
  const [from, to] = pull < 0 ? [least, mean] : [mean, most + 1]
  const found = lastPoint(skill, 0, from, to)
  const { last, above = walk(skill, last), below = walk(skill, last + 1) } = found
  if (above > pullSlack && below < -pullSlack) return last
  const first = lastPoint(skill, pullSlack + 1, least - 1, last + 1).last + 1
  const end = lastPoint(skill, -pullSlack, last, most + 1).last
  return mean < first ? first : bounded(mean, end)
}

/**
 * Finds the last point with pulls of at least `pull`, by halving: `last` has them, `next` does not.
 * `above` and `below` are the pulls there and at the next point, if they were computed.
 */
function lastPoint(skill       , pull        , last        , next        ) {
  let above
  let below
  while (next - last > 1) {
    const middle = (last + next) >> 1
    const sum = walk(skill, middle)
    if (sum >= pull) [last, above] = [middle, sum]
    else [next, below] = [middle, sum]
  }
  return { last, above, below }
}

/** Rule 7: the smallest h with h² × mass ≥ 500² × 150,000, for a mass from 150,000. */
function halfWidthOf(mass        )         {
  const { massMin, halfWidthMax } = parameters
  let half         = halfWidthMax
  let tooFew = 0
  while (half - tooFew > 1) {
    const middle = (half + tooFew) >> 1
    if (middle * middle * mass < halfWidthMax * halfWidthMax * massMin) tooFew = middle
    else half = middle
  }
  return half
}

/** Rule 8. Null without a scored skill. */
export function ladder(
  skills                       ,
  field                             ,
  divide = floorOf,
)                {
  const values           = []
  for (const { [field]: value } of skills) if (value !== null) values.push(value)
  if (values.length === 0) return null
  sortInPlace(values, (a, b) => b - a)
  let sum = 0
  let highest = 0
  for (let at = 0; at < values.length && at < parameters.ladder.length; at++) {
    sum += values[at] ?? 0
    const rung = divide((parameters.ladder[at] ?? 0) * sum, 1_000 * (at + 1))
    if (rung > highest) highest = rung
  }
  return highest
}

/** Rule 10. */
function isSource({ assurance, permille, share }         )          {
  const { sourceAssurance, sourceMassMin } = parameters
  return assurance >= sourceAssurance && permille * assurance * share >= sourceMassMin * undecayed
}

/** Rule 2: among duplicates the item with the lowest id counts, because it was stored first. */
function duplicateOrder(a          , b          )         {
  if (a.group !== b.group) return a.group < b.group ? -1 : 1
  if (a.digest !== b.digest) return a.digest < b.digest ? -1 : 1
  return a.id < b.id ? -1 : 1
}

function newestFirst({ item: a }         , { item: b }         )         {
  return b.observedDay - a.observedDay || (a.id < b.id ? -1 : 1)
}

function skillOrder(a            , b            )         {
  return (b.score ?? -1) - (a.score ?? -1) || (a.skillId < b.skillId ? -1 : 1)
}

function bounded(sum        , limit        )         {
  return sum > limit ? limit : sum < -limit ? -limit : sum
}

// explain.ts
/**
 * Pure: explains a score to the worker and the operator. The parts of the items sum exactly: the
 * mass parts of a skill, divided by 2^20 and rounded down once, are its mass, and its pulls sum to
 * `rest`.
 */

                          

/** Each effect needs the score of its skill once more, so their time grows with the square. */
const effectsMax = 1_000

/**
 * A brief explanation has no effects of items and no additions that raise `low`. It takes a fifth of
 * the time: 100 ms in place of 458 for 10,000 items.
 * @throws RangeError as `score` does
 */
export function explain(input            , isBrief = false)              {
  const assessed             = []
  const result = assess(input, assessed)
  const items                    = []
  const explained = new Map                          ()
  const uncounted = result.score === null ? null : 0
  for (const { skillId, own, rule, skill, skillScore, reasons } of assessed) {
    if (rule === undefined)
      for (const { id } of own)
        items.push({ ...nothing, id, skillId, reason: 'unknown_skill', effect: uncounted })
    for (const [id, reason] of reasons)
      items.push({ ...nothing, id, skillId, reason, effect: uncounted })
    if (rule === undefined || skill === undefined || skillScore === undefined) continue
    const { asOfDay } = input
    const given = { own, rule, skillScore, skill, reasons, result, asOfDay, isBrief }
    explained.set(skillId, explainSkill(given, items))
  }
  sortInPlace(items, (a, b) => (a.id < b.id ? -1 : 1))
  const skills = result.skills.flatMap(({ skillId }) => explained.get(skillId) ?? [])
  return { result, items, skills }
}

const nothing = { weight: 0, share: 0, mass: 0, pull: 0, halvesInDays: null }

/** Adds the items that count to `items`. */
function explainSkill(given       , items                   )                   {
  const { own, rule, skill, skillScore, isBrief } = given
  const { skillId, score: point } = skillScore
  const masses           = []
  const pulls           = []
  walk(skill, null, masses)
  const rest = point === null ? 0 : walk(skill, point, pulls)
  const halves = halvesInDays(rule.halfLifeMonths)
  for (const [at, { item, permille, share }] of skill.items.entries())
    items.push({
      id: item.id,
      skillId,
      reason: null,
      weight: permille * item.assurance,
      share,
      mass: masses[at] ?? 0,
      pull: pulls[at] ?? 0,
      effect: isBrief || own.length > effectsMax ? null : effectOf(item, given),
      halvesInDays: halves,
    })
  const endsOnDay = point === null || halves === null ? null : endOf(given, masses, halves)
  return { skillId, rest, endsOnDay, raise: isBrief ? null : raiseOf(given) }
}

function effectOf(item          , given       )                {
  const { own, result } = given
  const without = withSkill(
    given,
    own.filter((other) => other !== item),
  )
  const score = ladder(without, 'cautious')
  return result.score === null || score === null ? null : result.score - score
}

/** Returns the skills of the worker if this one had these items. */
function withSkill({ rule, skillScore, result, asOfDay }       , items            )               {
  const { skillId } = skillScore
  const others = result.skills.filter((other) => other !== skillScore)
  return [...others, skillScoreOf(skillId, skillOf(items, rule, asOfDay))]
}

/** Returns the first day on which the mass is below the minimum, or null if there is none. */
function endOf(given       , masses                   , halves        )                {
  const { own, rule, skill, reasons, asOfDay } = given
  const least = parameters.massMin * undecayed
  const end = asOfDay + halves * (halfLivesMax + 1)
  let isThere
  if ([...reasons.values()].some((reason) => reason === 'future' || reason === 'duplicate')) {
    // Such an item may begin to count later.
    isThere = (day) => walk(skillOf(own, rule, day), null) >= least
  } else {
    // If only time passes, the items keep their bounded amounts, and their shares fade.
    const amounts = skill.items.map(({ share }, at) => (masses[at] ?? 0) / share)
    isThere = (day) => {
      let sum = 0
      for (let at = 0; at < amounts.length; at++) {
        const age = day - (skill.items[at]?.item.observedDay ?? 0)
        sum += (amounts[at] ?? 0) * decayOf(age, rule.halfLifeMonths)
      }
      return sum >= least
    }
  }
  const next = firstWithout(asOfDay, end, isThere)
  return next > dayMax ? null : next
}

/** Halves the days from `last`, which has it, to `next`, which has not. */
function firstWithout(last        , next        , isThere                          )         {
  while (next - last > 1) {
    const middle = (last + next) >> 1
    if (isThere(middle)) last = middle
    else next = middle
  }
  return next
}

function raiseOf(given       )                            {
  const { own, rule, skillScore, asOfDay } = given
  const { skillId, score: point } = skillScore
  const value = point ?? 500
  let raise                            = null
  const types = Object.keys(rule.weightPermille)
  sortInPlace(types, (a, b) => (a < b ? -1 : 1))
  for (const type of types) {
    // The name is not that of any item, group or artefact that is stored.
    const added = { id: '\uffff', skillId, type, group: '\uffff', digest: '\uffff', value }
    const full = { ...added, assurance: 1_000, observedDay: asOfDay }
    const skills = withSkill(given, [...own, full])
    const low = skills.at(-1)?.low ?? null
    if (low === null || low <= (raise?.low ?? -1)) continue
    raise = { type, value, low, workerScore: ladder(skills, 'cautious') ?? 0 }
  }
  return raise
}

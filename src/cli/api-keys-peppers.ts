/** `assay api-keys peppers`: which peppers keys rest on, and which of them this machine has. */
import { findPeppers } from '../access/store.ts'
import { peppersHere } from '../app/peppers.ts'
import type { Config } from '../config/config.ts'
import { systemClock } from '../platform/clock.ts'
import { done, type Outcome } from './output.ts'
import { withDatabase } from './with-database.ts'

export function listPeppersCommand(config: Config): Promise<Outcome> {
  return withDatabase(config, async (db) => {
    const ring = [...((await peppersHere(config)) ?? new Map<string, never>()).keys()]
    const used = await findPeppers(db, systemClock())
    const kids = [...new Set([...ring, ...used.map(({ kid }) => kid)])]
    const peppers = kids.map((kid) => ({
      kid,
      activeKeys: used.find((one) => one.kid === kid)?.activeKeys ?? 0,
      here: ring.includes(kid),
      present: kid === ring[0],
    }))
    const lines = peppers.map(({ kid, activeKeys, here, present }) => {
      // No key ever rested on it: it stands behind the old one until every server has it.
      const isNew = here && !used.some((one) => one.kid === kid)
      return `${kid}  ${activeKeys} active keys  ${placeOf({ activeKeys, here, present, isNew })}`
    })
    const none = ['There is no pepper yet: the first API key makes one.']
    return done({ ok: true, peppers }, lines.length > 0 ? lines : none)
  })
}

interface Place {
  activeKeys: number
  here: boolean
  /** The first of the ring. */
  present: boolean
  isNew: boolean
}

function placeOf({ activeKeys, here, present, isNew }: Place): string {
  if (present) return 'makes new keys'
  if (!here) return 'not on this machine'
  if (isNew) return 'on its way in: put it first once every server has it'
  return activeKeys === 0 ? 'on its way out: may be taken away' : 'on its way out'
}

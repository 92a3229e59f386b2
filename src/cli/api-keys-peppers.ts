/** `assay api-keys peppers`: which peppers keys rest on, and which of them this machine has. */
import { findPeppers } from '../access/store.ts'
import { peppersHere } from '../admitting.ts'
import type { Config } from '../config.ts'
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
      const place = present ? 'makes new keys' : here ? 'on its way out' : 'not on this machine'
      const may = !present && here && activeKeys === 0 ? ': may be taken away' : ''
      return `${kid}  ${activeKeys} active keys  ${place}${may}`
    })
    const none = ['There is no pepper yet: the first API key makes one.']
    return done({ ok: true, peppers }, lines.length > 0 ? lines : none)
  })
}

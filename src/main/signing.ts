/** Composes signing: the public facts, the issuer, and the jobs of status lists. */
import type { Config } from '../config/config.ts'
import { hasDueList } from '../credentials/api.ts'
import { type Issuer, tendLists } from '../credentials/issue.ts'
import { originOf } from '../credentials/payload.ts'
import { proofForms } from '../credentials/proof.ts'
import { publishDueLists } from '../credentials/publish-lists.ts'
import type { RegistryCache } from '../credentials/registry-cache.ts'
import type { Signers } from '../credentials/signers.ts'
import type { SigningFacts } from '../discovery/engine.ts'
import type { Clock } from '../platform/clock.ts'
import type { Db } from '../platform/db/db.ts'
import type { Job } from '../platform/job-runner.ts'

export interface SigningOptions {
  config: Pick<
    Config,
    | 'publicUrl'
    | 'formerPublicUrls'
    | 'credentialValidityDays'
    | 'supersedeRevokes'
    | 'signingKeysDir'
  >
  /** Holds the active key. */
  registryCache: RegistryCache
  /** The private keys of this machine. */
  signers: Signers
}

export interface Signing {
  facts(): SigningFacts
  /**
   * Returns the issuer with the active key. Undefined if no key is active, or its file is on another
   * machine.
   */
  issuer(): Promise<Issuer | undefined>
  /** Returns why this process cannot sign, in words for operators. Call it if there is no issuer. */
  whyUnsigned(): string
}

export function openSigning({ config, registryCache, signers }: SigningOptions): Signing {
  const { signingKeysDir } = config
  const origin = originOf(config.publicUrl)
  const formerOrigins = config.formerPublicUrls.map(originOf)
  const { issuer } = origin
  const { credentialValidityDays: validityDays, supersedeRevokes } = config
  return {
    facts() {
      const kid = registryCache.activeKey()?.kid
      const verificationMethod = kid === undefined ? null : `${issuer}#${kid}`
      return { issuer, proofForms, verificationMethod }
    },
    async issuer() {
      const active = registryCache.activeKey()
      const signer = active && (await signers.of(active.kid))
      return signer && { origin, formerOrigins, signer, validityDays, supersedeRevokes }
    },
    whyUnsigned() {
      const kid = registryCache.activeKey()?.kid
      return kid === undefined
        ? 'no signing key is active. Run `assay keys create`'
        : `the file of the active signing key ${kid} is not in ${signingKeysDir}. Copy it there, or run this process without background jobs`
    },
  }
}

/** Returns the jobs of status lists. In a process that cannot sign, they fail while a list is due. */
export function statusListJobs(
  db: Db,
  clock: Clock,
  { issuer, whyUnsigned }: Pick<Signing, 'issuer' | 'whyUnsigned'>,
): Job[] {
  const withIssuer = async (work: (by: Issuer) => Promise<unknown>): Promise<void> => {
    const by = await issuer()
    if (by !== undefined) await work(by)
    else if (await hasDueList(db, clock()))
      throw new Error(`A status list is due, but ${whyUnsigned()}.`)
  }
  return [
    {
      name: 'publish status lists',
      everyMs: 500,
      run: () => withIssuer((by) => publishDueLists(db, by, clock())),
    },
    {
      name: 'open and close status lists',
      everyMs: 10_000,
      run: () => withIssuer((by) => tendLists(db, by, clock())),
    },
  ]
}

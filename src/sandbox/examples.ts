/** Pure: examples for the contract. */
import { examples as candidates } from '../candidates/examples.ts'
import { exampleUrl } from '../platform/http/contract.ts'
import { schemaVersion } from '../platform/http/identifiers.ts'
import { exampleCredential, exampleStatusList } from '../score-credentials/examples.ts'
import { sandboxOriginOf } from './origin.ts'

const origin = sandboxOriginOf(exampleUrl)
const credential = exampleCredential(origin)
const { id: statusUrl, statusListCredential } = Object(credential.credentialStatus)
const { sha256 = '' } = candidates.score.scoreVc ?? {}

export const exampleSandboxScore = {
  schemaVersion: schemaVersion('sandbox_score'),
  score: { ...candidates.score, scoreVc: { sha256, statusUrl, statusListCredential } },
  credential: { form: 'native', document: credential },
  statusUrl,
  statusListUrl: statusListCredential,
}

export const exampleSandboxList = exampleStatusList(origin)

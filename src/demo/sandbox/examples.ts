/** Pure: examples for the contract. */
import { exampleCredential, exampleStatusList } from '../../credentials/examples.ts'
import { exampleUrl } from '../../edge/http/contract.ts'
import { schemaVersion } from '../../edge/http/identifiers.ts'
import { examples as candidates } from '../../workers/candidates/examples.ts'
import { sandboxOriginOf } from './schema.ts'

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

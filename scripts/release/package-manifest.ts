/** Pure: package.json as it is inside the package. */
import external from '../runtime/external.json' with { type: 'json' }

export interface SourceManifest {
  version: string
  release: Record<string, string>
  dependencies: Record<string, string>
  optionalDependencies: Record<string, string>
  [member: string]: unknown
}

interface LockedPackage {
  /** A link to a folder of the project. */
  link?: boolean
  version?: string
  dependencies?: Record<string, string>
  optionalDependencies?: Record<string, string>
}

/** `packages` of a lock file. */
type Locked = Record<string, LockedPackage>

interface Facts {
  locked: Locked
  /** Of `scripts/runtime`, the package that brings Node. */
  runtime: Locked
  /** Returns the present commit in a format of git, or null. */
  describe(format: string): string | null
}

/** Members that belong to a clone. */
const ofClone = new Set(['devDependencies', 'overrides', 'private', 'scripts', 'workspaces'])

/** A tag may be set after the package was made, and the same sources give the same bytes. */
const untold = { tag: '' }

/**
 * Keeps the packages beside the bundle, and what these need, all at the locked version: so each
 * installation gets the packages that were tested. Node comes for the platform of the machine; the
 * launcher runs on the Node that is there.
 */
export function packageManifest(source: SourceManifest, { locked, runtime, describe }: Facts) {
  const kept = Object.entries(source).filter(([name]) => !ofClone.has(name))
  return {
    ...Object.fromEntries(kept),
    engines: { node: '>=18' },
    release: Object.fromEntries(
      Object.entries({ ...source.release, ...untold }).map(([name, text]) => [
        name,
        filled(text, describe),
      ]),
    ),
    dependencies: lockedVersions(locked, besideBundle(source.dependencies)),
    optionalDependencies: {
      ...lockedVersions(locked, besideBundle(source.optionalDependencies)),
      ...runtime['']?.optionalDependencies,
    },
  }
}

function besideBundle(dependencies: Record<string, string>): string[] {
  return Object.keys(dependencies).filter((name) =>
    external.some(
      (one) => one === name || (one.endsWith('*') && name.startsWith(one.slice(0, -1))),
    ),
  )
}

/** Returns the packages `names` and all that they need. */
function lockedVersions(locked: Locked, names: readonly string[]) {
  const versions: Record<string, string> = {}
  const waiting = [...names]
  for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
    const found = locked[`node_modules/${name}`]
    if (found?.version === undefined) throw new Error(`package-lock.json lacks ${name}.`)
    if (name in versions) continue
    versions[name] = found.version
    waiting.push(...Object.keys(found.dependencies ?? {}))
  }
  return versions
}

function filled(text: string, describe: Facts['describe']): string {
  const format = /^\$Format:(.*)\$$/.exec(text)?.[1]
  return (format === undefined ? null : describe(format)) ?? text
}

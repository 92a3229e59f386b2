/** Pure: the bill of materials of one package, in CycloneDX. */

interface Component {
  name: string
  version: string
  type: string
  'bom-ref': string
  purl: string
}

interface Sbom {
  components: Component[]
  dependencies: { ref: string; dependsOn: string[] }[]
  metadata: { component: Component }
}

interface SbomOptions {
  /** The documents that npm makes of whole lock files. The first one is that of the package. */
  documents: readonly Sbom[]
  manifest: {
    name: string
    version: string
    dependencies?: Record<string, string>
    optionalDependencies?: Record<string, string>
  }
  /** `dist/LICENSES`: names each bundled package at the head of its license. */
  licenses: string
}

/** A random number, the time, and marks of packages for development, which are bundled. */
const leftOut = new Set(['serialNumber', 'timestamp', 'properties'])

/** Keeps the packages inside the bundle and beside it. The same sources give the same bytes. */
export function sbomOf({ documents, manifest, licenses }: SbomOptions): string {
  const [first] = documents
  const { name, version } = manifest
  const root = `${name}@${version}`
  const purl = `pkg:npm/${root.replace(/^@/, '%40')}`
  const beside = { ...manifest.dependencies, ...manifest.optionalDependencies }
  const heads = new Set(licenses.split('\n').map((line) => line.split(' (')[0]))
  const components = documents
    .flatMap((one) => one.components)
    .filter((one) => beside[one.name] === one.version || heads.has(`${one.name} ${one.version}`))
  const refs = new Set(components.map((component) => component['bom-ref']))
  const dependencies = documents
    .flatMap((one) => one.dependencies)
    .filter(({ ref }) => refs.has(ref))
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((one) => refs.has(one)) }))
  const sbom = {
    ...first,
    // npm names it after the folder.
    metadata: {
      ...first?.metadata,
      component: { 'bom-ref': root, type: 'application', name, version, purl },
    },
    components,
    dependencies: [{ ref: root, dependsOn: [...refs] }, ...dependencies],
  }
  const kept = (member: string, value: unknown) => (leftOut.has(member) ? undefined : value)
  return `${JSON.stringify(sbom, kept, 2)}\n`
}

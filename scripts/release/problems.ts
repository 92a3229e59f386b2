/** Pure: what forbids a release, each with the remedy. */

export interface ReleaseFacts {
  version: string
  /** Version of each package.json, by file. */
  versions: Record<string, string>
  /** Tags of earlier commits that begin with `v`. */
  tags: readonly string[]
  /** Files that differ from the commit. */
  changes: readonly string[]
  changelog: string
  /** Documents of the contract that `openapi/released/` lacks or has otherwise. */
  unreleased: readonly string[]
  /** Why the key cannot sign, or null. */
  keyFault: string | null
}

export function releaseProblems(facts: ReleaseFacts): string[] {
  const { version } = facts
  const number = parseVersion(version)
  if (number === null)
    return [`${JSON.stringify(version)} is not a version: send three numbers, such as 0.2.0.`]
  const last = facts.tags
    .map((tag) => parseVersion(tag.slice(1)))
    .filter((one) => one !== null)
    .sort(compare)
    .at(-1)
  const others = Object.entries(facts.versions).filter(([, found]) => found !== version)
  return [
    ...(facts.changes.length === 0
      ? []
      : [`These files differ from the commit: commit them first: ${facts.changes.join(', ')}.`]),
    ...(last === undefined || compare(number, last) > 0
      ? []
      : [`${version} is not greater than the last release, ${last.join('.')}.`]),
    ...others.map(([file, found]) => `${file} has the version ${found}: write ${version} there.`),
    ...changelogProblems(facts.changelog, version),
    ...facts.unreleased.map(
      (file) => `${file} is not the released one: cp ${file} openapi/released/, and commit it.`,
    ),
    ...(facts.keyFault === null ? [] : [facts.keyFault]),
  ]
}

function changelogProblems(changelog: string, version: string): string[] {
  const section = changelogSection(changelog, version)
  if (section === null) return [`CHANGELOG.md has no section "## ${version} (DATE)": write it.`]
  if (/^## .*\(unreleased\)/.test(section))
    return [`CHANGELOG.md calls ${version} unreleased: write the date there.`]
  return section.includes('\n') ? [] : [`The section ${version} of CHANGELOG.md is empty.`]
}

/** Returns the section of a version with its heading, or null. */
export function changelogSection(changelog: string, version: string): string | null {
  const sections = changelog.split(/^(?=## )/m)
  return sections.find((one) => one.split(/\s/)[1] === version)?.trim() ?? null
}

type Version = [major: number, minor: number, patch: number]

function parseVersion(text: string): Version | null {
  const found = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)$/.exec(text)
  return found === null ? null : [Number(found[1]), Number(found[2]), Number(found[3])]
}

function compare(a: Version, b: Version): number {
  return a[0] - b[0] || a[1] - b[1] || a[2] - b[2]
}

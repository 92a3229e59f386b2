#!/usr/bin/env node
/** The command line. */
import { createRequire, enableCompileCache } from 'node:module'
import { join } from 'node:path'
import { Command, CommanderError, Help } from 'commander'
import { reportFailure } from './command.ts'
import { commands, declare } from './commands.ts'
import { note, withoutControls, withoutSecrets } from './output.ts'

// Stripping types takes a compiler of 25 MB into every process, so the result is kept. Without
// write access to the folder, nothing is kept.
enableCompileCache(join(import.meta.dirname, '../../.runtime/compile-cache'))

const { version } = createRequire(import.meta.url)('../../package.json')

const program = new Command('assay')
  .description('Publish what a worker can do, provably. Settings come from the environment.')
  .version(version, '--version', 'the version of this release')
  .showHelpAfterError(
    '`assay --help` lists the commands, `assay COMMAND --help` shows its options.',
  )
  .exitOverride()
  .configureOutput({
    outputError: (text, write) =>
      write(withoutControls(withoutSecrets(text)).replace(/^error: /, 'assay: ')),
  })
  .configureHelp({
    showGlobalOptions: true,
    sortSubcommands: false,
    optionDescription(option) {
      const described = new Help().optionDescription(option)
      return option.mandatory ? `${described} (required)` : described
    },
  })

// A reader such as `head` may close standard output early, which is no failure. A full disk is one.
process.stdout.on('error', (error) => {
  if (!('code' in error && error.code === 'EPIPE')) note(`assay: standard output: ${error.message}`)
  process.exitCode = 1
})

try {
  // `assay COMMAND …`, or `assay help COMMAND`.
  const named = new Set(process.argv.slice(2, 4))
  for (const [name, [description, load]] of Object.entries(commands)) {
    const declared = program.command(name).description(description)
    if (named.has(name)) await declare(declared, load)
  }
  refuseRepeatedOptions(program)
  if (process.argv.some((argument) => argument.includes('\ufffd')))
    program.error(
      'error: an argument holds U+FFFD, the sign of bytes that are not UTF-8. Use a terminal that writes UTF-8.',
    )
  await program.parseAsync()
} catch (error) {
  const isHelp = error instanceof CommanderError && error.exitCode === 0
  if (!isHelp) reportFailure(error, { json: process.argv.includes('--json') })
}

/** Of an option that is given twice, the first value would be lost without a word. */
function refuseRepeatedOptions(command: Command): void {
  for (const option of command.options) {
    if (option.isBoolean()) continue
    let times = 0
    command.on(`option:${option.name()}`, () => {
      // An option that may be repeated collects its values.
      const isList = Array.isArray(command.getOptionValue(option.attributeName()))
      if (++times > 1 && !isList)
        command.error(`error: option '${option.flags}' is given twice. Give it once.`)
    })
  }
  for (const inner of command.commands) refuseRepeatedOptions(inner)
}

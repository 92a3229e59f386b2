/** Every command shows an example, and the example is a command line that it accepts. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Command } from 'commander'
import { commands, declare } from './commands.ts'

for (const [name, [, load]] of Object.entries(commands)) {
  test(`${name}: the example of each command is accepted`, async () => {
    const declared = new Command('assay').exitOverride().command(name)
    await declare(declared, load)
    const verbs = declared.commands.length === 0 ? [declared] : declared.commands
    for (const command of verbs) {
      const args = wordsOf(exampleOf(command)).slice(verbs[0] === declared ? 2 : 3)
      assert.ok(!args.some((word) => word.startsWith('[')), 'a list is words')
      let isRun = false
      command.action(() => {
        isRun = true
      })
      await command.parseAsync(args, { from: 'user' })
      assert.ok(isRun, `${name} ${command.name()}: ${args.join(' ')}`)
    }
  })
}

function exampleOf(command: Command): string {
  let help = ''
  command.configureOutput({
    writeOut: (text) => {
      help += text
    },
  })
  command.outputHelp()
  return /\nExample:\n {2}(assay .*)\n/.exec(help)?.[1] ?? assert.fail(`no example: ${help}`)
}

/** Splits a command line at spaces, except within single quotes. */
function wordsOf(line: string): string[] {
  return [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, word]) => quoted ?? word ?? '')
}

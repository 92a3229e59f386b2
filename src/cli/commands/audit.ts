import type { Command } from 'commander'
import { act, command, limitOption, settings } from './declare.ts'

export function declareCommand(audit: Command): void {
  command(
    audit,
    'verify',
    'Check the audit log: ends with 0 whole, 1 broken and where, 2 could not check',
  )
    .option('--expect <hash>', 'the head that an earlier run printed: finds an end cut off')
    .action((flags) =>
      act(
        flags,
        async () => (await import('../audit-verify.ts')).verifyAuditCommand(settings(), flags),
        2,
      ),
    )

  command(audit, 'list', 'Show the audit log, the newest first')
    .option('--since <time>', 'a day or a time in UTC')
    .option('--action <name>', 'only these, e.g. keys.rotated')
    .option(...limitOption)
    .action((flags) =>
      act(flags, async () =>
        (await import('../audit-list.ts')).listAuditCommand(settings(), flags),
      ),
    )
}

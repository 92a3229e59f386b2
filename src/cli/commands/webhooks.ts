import type { Command } from 'commander'
import { accountOption, act, command, settings } from './declare.ts'

export function declareCommand(webhooks: Command): void {
  command(webhooks, 'endpoints', 'Show webhook endpoints')
    .option(...accountOption)
    .option('--all', 'disabled ones too')
    .option('--failing', 'those that fail, with what they fail with, longest first')
    .option('--limit <n>', 'at most so many, the newest', '200')
    .action((flags) =>
      act(flags, async () =>
        (await import('../webhooks-endpoints.ts')).listEndpointsCommand(settings(), flags),
      ),
    )

  command(webhooks, 'create', 'Create a webhook endpoint for an account; shows its secret once')
    .argument('<url>', 'https, a public host')
    .requiredOption(...accountOption)
    .requiredOption('--event <type...>', 'score.updated, score.revised, evidence.revoked, …')
    .option('--description <text>', 'at most 120 characters')
    .action((url, flags) =>
      act(flags, async () =>
        (await import('../webhooks-create.ts')).createEndpointCommand(settings(), url, flags),
      ),
    )

  command(webhooks, 'disable', 'Send nothing more to an endpoint, and cancel what waits for it')
    .argument('<id>')
    .action((id, flags) =>
      act(flags, async () =>
        (await import('../webhooks-disable.ts')).disableEndpointCommand(settings(), id),
      ),
    )

  command(webhooks, 'deliveries', 'Show the last attempts at an endpoint')
    .argument('<id>')
    .option('--limit <n>', 'at most so many, the newest', '25')
    .action((id, flags) =>
      act(flags, async () =>
        (await import('../webhooks-deliveries.ts')).deliveriesCommand(settings(), id, flags),
      ),
    )

  command(webhooks, 'resend', 'Send one event to an endpoint once more')
    .argument('<id>')
    .argument('<event>', 'its id, evt_…')
    .action((id, event, flags) =>
      act(flags, async () =>
        (await import('../webhooks-resend.ts')).resendCommand(settings(), id, event),
      ),
    )

  command(webhooks, 'replay', 'Send an endpoint the events it missed since a time')
    .argument('<id>')
    .requiredOption('--since <time>', 'UTC, at most 14 days ago, such as 2026-05-14T09:00:00Z')
    .action((id, flags) =>
      act(flags, async () =>
        (await import('../webhooks-resend.ts')).replayCommand(settings(), id, flags),
      ),
    )

  command(webhooks, 'enable', 'Send to a disabled endpoint again, from the next event on')
    .argument('<id>')
    .action((id, flags) =>
      act(flags, async () => (await import('../webhooks-enable.ts')).enableCommand(settings(), id)),
    )

  command(webhooks, 'pause', 'Hold deliveries to an endpoint back')
    .argument('<id>')
    .action((id, flags) =>
      act(flags, async () => (await import('../webhooks-enable.ts')).pauseCommand(settings(), id)),
    )

  command(webhooks, 'resume', 'Let deliveries to a paused endpoint go')
    .argument('<id>')
    .action((id, flags) =>
      act(flags, async () => (await import('../webhooks-enable.ts')).resumeCommand(settings(), id)),
    )

  command(webhooks, 'limit', 'Send to an endpoint no faster than it can take')
    .argument('<id>')
    .option('--per-second <n>', 'deliveries a second, 1 to 1000; off for no limit')
    .option('--at-once <n>', 'under way at once, 1 to 16')
    .action((id, flags) =>
      act(flags, async () =>
        (await import('../webhooks-limit.ts')).limitCommand(settings(), id, flags),
      ),
    )

  command(webhooks, 'rotate-secret', 'Announce a new secret of an endpoint; shows it once')
    .argument('<id>')
    .option('--hours <n>', 'hours until it signs in place of the old one, 0 to 168 (default: 24)')
    .option('--now', 'it signs at once, and the old one beside it for a day')
    .option('--drop-old', 'with --now: the old one signs nothing any more, for a leaked secret')
    .action((id, flags) =>
      act(flags, async () =>
        (await import('../webhooks-rotate.ts')).rotateSecretCommand(settings(), id, flags),
      ),
    )

  command(webhooks, 'activate-secret', 'Let the announced secret sign from now on')
    .argument('<id>')
    .action((id, flags) =>
      act(flags, async () =>
        (await import('../webhooks-enable.ts')).activateSecretCommand(settings(), id),
      ),
    )

  command(
    webhooks,
    'reencrypt',
    'Encrypt every secret under the first key of SECRETS_KEYRING',
  ).action((flags) =>
    act(flags, async () => (await import('../webhooks-reencrypt.ts')).reencryptCommand(settings())),
  )
}

import type { Command } from 'commander'
import { act, command, settings } from './declare.ts'

export function declareCommand(demo: Command): void {
  command(demo, 'tick', 'Revoke an item of evidence of the demo: its events go out at once').action(
    (flags) => act(flags, async () => (await import('../demo-tick.ts')).tickCommand(settings())),
  )
}

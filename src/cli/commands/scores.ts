import type { Command } from 'commander'
import { act, command, settings } from './declare.ts'

export function declareCommand(scores: Command): void {
  command(scores, 'show', 'Show every score that a person has and had')
    .argument('<username>')
    .action((username, flags) =>
      act(flags, async () =>
        (await import('../scores-show.ts')).showScoresCommand(settings(), username),
      ),
    )

  command(scores, 'explain', 'Say why a score is what it is, item by item')
    .argument('<score>', 'a username, or the id of a score')
    .option('--now', 'what the evidence of the person comes to today')
    .action((score, flags) =>
      act(flags, async () =>
        (await import('../scores-explain.ts')).explainScoreCommand(settings(), score, flags),
      ),
    )

  command(
    scores,
    'replay',
    'Compute scores again as they were made: ends with 0 all agree, 1 any differs, 2 an engine is not available',
  )
    .argument('[score]', 'the id of a score')
    .option('--all', 'every score that was ever issued')
    .action((score, flags) =>
      act(
        flags,
        async () =>
          (await import('../scores-replay.ts')).replayScoresCommand(settings(), score, flags),
        2,
      ),
    )
}

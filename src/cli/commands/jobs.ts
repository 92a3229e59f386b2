/** `assay jobs`: the background jobs alone. */
import type { Command } from 'commander'
import { serve } from '../../main/serve.ts'
import { act, finish } from '../command.ts'
import { settings } from '../context.ts'
import { logged } from './serve.ts'

export function declareCommand(declared: Command): void {
  finish(declared, 'assay jobs').action(
    act(() => logged(() => serve(settings(), { demo: false, jobs: 'alone' }))),
  )
}

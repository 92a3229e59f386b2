/** `assay status`: the whole service on one screen. */
import type { Command } from 'commander'
import { serviceStatus } from '../../health/status-operation.ts'
import { act, finish } from '../command.ts'
import { runOperation } from '../operation-command.ts'

export function declareCommand(declared: Command): void {
  finish(declared, 'assay status').action(
    act(({ json = false }: { json?: boolean }) => runOperation(serviceStatus, {}, { json }), {
      failureCode: 2,
    }),
  )
}
